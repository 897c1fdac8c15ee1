//! Plans: lists of nodes, of which each names those before it.

use super::cells::{Column, Type};
use crate::golden::Datum;

/// The nodes of a plan.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a>(pub(super) &'a [Datum]);

impl<'a> Plan<'a> {
    pub(super) fn of(document: &'a Datum) -> Result<Plan<'a>, String> {
        Ok(Plan(document.need("plan")?.to_list()?))
    }

    pub(super) fn last(&self) -> Result<&'a Datum, String> {
        self.0.last().ok_or_else(|| "the plan is empty".to_owned())
    }

    pub(super) fn node(&self, id: &str) -> Result<&'a Datum, String> {
        let found = self.0.iter().find(|node| node.get("id").and_then(Datum::as_text) == Some(id));
        found.ok_or_else(|| format!("there is no node `{id}`"))
    }

    /// The nodes that a node reads.
    pub(super) fn inputs(&self, node: &Datum) -> Result<Vec<&'a Datum>, String> {
        let mut inputs = Vec::new();
        for name in ["in", "left", "right"] {
            if let Some(id) = node.get(name) {
                inputs.push(self.node(id.to_text()?)?);
            }
        }
        if let Some(ids) = node.get("inputs") {
            for id in ids.to_list()? {
                inputs.push(self.node(id.to_text()?)?);
            }
        }
        Ok(inputs)
    }

    /// How often the rows of each source are read: once for each way from it to the sink.
    pub(super) fn ways(&self, id: &str) -> Result<u64, String> {
        self.ways_from(self.last()?, id)
    }

    fn ways_from(&self, node: &Datum, id: &str) -> Result<u64, String> {
        if node.get("id").and_then(Datum::as_text) == Some(id) {
            return Ok(1);
        }
        let mut ways = 0;
        for input in self.inputs(node)? {
            ways += self.ways_from(input, id)?;
        }
        Ok(ways)
    }
}

/// What a node is.
pub(super) fn op(node: &Datum) -> &str {
    node.get("op").and_then(Datum::as_text).unwrap_or_default()
}

pub(super) fn is_static(node: &Datum) -> bool {
    node.get("batch_source") == Some(&Datum::Bool(true))
}

/// The columns of a source.
pub(super) fn columns(source: &Datum) -> Result<Vec<Column>, String> {
    let column = |pair: &Datum| {
        let [name, ty] = pair.to_list()? else { return Err(format!("{pair} is no column")) };
        Ok(Column { name: name.to_text()?.to_owned(), ty: Type::of(ty.to_text()?)?, event_time: false })
    };
    source.need("columns")?.to_list()?.iter().map(column).collect()
}

/// Why a case may come out otherwise, when it does: what Spark's optimizer does to its plan.
pub(super) fn quirk(document: &Datum) -> Option<&'static str> {
    let plan = Plan::of(document).ok()?;
    // Which column each `with_watermark` before a node is on, as long as only filters and selections are between.
    let watermarks = |node: &Datum| {
        let mut columns = Vec::new();
        let mut nodes = plan.inputs(node).unwrap_or_default();
        while let Some(node) = nodes.pop() {
            match op(node) {
                "with_watermark" => columns.extend(node.get("column").and_then(Datum::as_text)),
                "filter" | "select" | "union" => nodes.extend(plan.inputs(node).unwrap_or_default()),
                _ => {}
            }
        }
        columns
    };
    let pushed = plan.0.iter().filter(|node| op(node) == "filter").any(|filter| {
        let column = filter.get("column").and_then(Datum::as_text);
        watermarks(filter).into_iter().any(|watermark| Some(watermark) != column)
    });
    pushed.then_some(
        "Spark's optimizer moves a filter that does not look at the event time below `withWatermark`, so that rows which \
         are filtered out do not move the watermark; here a query is run as it is written",
    )
}
