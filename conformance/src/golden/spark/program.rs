//! Programs: a query that is started, fed, waited for and stopped.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use purlin_sdk::{DoFnError, Pipeline, PipelineError};
use purlin_transforms::streaming::{
    IntervalError, OutputMode, QueryStatus, QueryTrigger, StreamingQuery, WatermarkPolicy, WriteStream,
};
use tempfile::TempDir;

use super::{
    build::{build, rows_of},
    cells::{Row, micros, shown},
    files::Files,
    plan::{Plan, columns, is_static, op},
    recorded::{Batch, Look, Recorded, Recorder, Run},
};
use crate::golden::{Datum, Setup};

/// How long an action may take before it counts as hanging. No correct one comes near it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a case and compares.
pub(super) fn run(document: &Datum, setup: &Setup) -> Result<(), String> {
    let mode = document.need("mode")?.to_text()?;
    let recorder = Recorder::default();
    let outcome = execute(document, mode, setup, &recorder);
    let expected = document.get("error").filter(|error| **error != Datum::Null);
    match (outcome, expected) {
        (Err(_), Some(_)) => compare(document, &recorder.lock()),
        (Ok(()), Some(error)) => Err(format!("it should fail like {error}, and did not")),
        (Err(e), None) => Err(format!("it failed: {e}")),
        (Ok(()), None) => compare(document, &recorder.lock()),
    }
}

/// What batches do besides being taken.
#[derive(Clone, Debug, Default)]
struct Hook {
    fail_once: bool,
    add: Vec<(String, Vec<Row>)>,
}

/// Executes the program of a case.
pub(super) fn execute(
    document: &Datum,
    mode: &str,
    setup: &Setup,
    recorder: &Recorder,
) -> Result<(), String> {
    let plan = Plan::of(document)?;
    let program = document.need("program")?.to_list()?;
    let starts = program.iter().filter(|action| action.get("do").and_then(Datum::as_text) == Some("start"));
    let checkpoint = match starts.count() {
        0 | 1 => None,
        _ => Some(TempDir::new().map_err(|e| e.to_string())?),
    };
    let mut hooks = HashMap::new();
    if let Some(Datum::Map(entries)) = document.get("hooks") {
        for (id, hook) in entries {
            let id: u64 = id.to_text()?.parse().map_err(|e| format!("{id}: {e}"))?;
            let fail_once = hook.get("fail_once") == Some(&Datum::Bool(true));
            let add = hook.get("add").map_or(Ok(Vec::new()), |add| chunks(plan, add))?;
            hooks.insert(id, Hook { fail_once, add });
        }
    }
    let mut case = Case {
        setup,
        mode: mode.parse().map_err(|e| format!("{e}"))?,
        plan,
        files: Files::default(),
        hooks: Arc::new(Mutex::new(hooks)),
        recorder: recorder.clone(),
        checkpoint,
        query: None,
        max_files: limit(document.get("max_files_per_trigger"))?,
        conf: document.get("conf"),
    };
    let outcome = program.iter().try_for_each(|action| case.act(action));
    case.end_run();
    outcome
}

fn limit(value: Option<&Datum>) -> Result<Option<usize>, String> {
    match value {
        None | Some(Datum::Null) => Ok(None),
        Some(n) => Ok(Some(usize::try_from(n.to_int()?).map_err(|e| e.to_string())?)),
    }
}

/// The files that are put in place: one for each source that is named.
fn chunks(plan: Plan<'_>, add: &Datum) -> Result<Vec<(String, Vec<Row>)>, String> {
    let mut chunks = Vec::new();
    for (source, rows) in add.to_entries()? {
        let id = source.to_text()?;
        chunks.push((id.to_owned(), rows_of(&columns(plan.node(id)?)?, rows)?));
    }
    Ok(chunks)
}

/// A case at work.
struct Case<'a> {
    setup: &'a Setup,
    mode: OutputMode,
    plan: Plan<'a>,
    files: Files,
    hooks: Arc<Mutex<HashMap<u64, Hook>>>,
    recorder: Recorder,
    checkpoint: Option<TempDir>,
    query: Option<StreamingQuery>,
    max_files: Option<usize>,
    conf: Option<&'a Datum>,
}

impl<'a> Case<'a> {
    fn act(&mut self, action: &'a Datum) -> Result<(), String> {
        match action.need("do")?.to_text()? {
            "start" => self.start(action),
            "add" => {
                self.files.add(chunks(self.plan, action.need("input")?)?);
                Ok(())
            }
            "drain" => self.wait(|query| query.process_all_available())?,
            "await" => self.wait(|query| query.await_termination())?,
            "drain_error" => fails(self.wait(|query| query.process_all_available())?),
            "await_error" => fails(self.wait(|query| query.await_termination())?),
            "stop" => {
                self.wait(|query| {
                    query.stop();
                    Ok(())
                })??;
                self.end_run();
                Ok(())
            }
            "status" => self.look(),
            "sleep" => {
                let ms = action.get("ms").map_or(Ok(0), Datum::to_int)?;
                let time = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
                // For triggers to come: it is over when the query is, which the actions that follow look at.
                if let Some(query) = &self.query {
                    let _ = query.await_termination_for(time);
                }
                Ok(())
            }
            other => Err(format!("`{other}` is no action that is known")),
        }
    }

    /// What became of it in time.
    fn wait(
        &self,
        wait: impl FnOnce(&StreamingQuery) -> Result<(), PipelineError> + Send + 'static,
    ) -> Result<Result<(), String>, String> {
        let query = self.query.clone().ok_or("there is no query to wait for")?;
        let (done, waited) = mpsc::channel();
        thread::spawn(move || {
            // Nobody listens any more when it took too long.
            let _ = done.send(wait(&query).map_err(|e| e.to_string()));
        });
        waited.recv_timeout(PATIENCE).map_err(|_| "the query hangs".to_owned())
    }

    fn look(&self) -> Result<(), String> {
        let query = self.query.as_ref().ok_or("there is no query to look at")?;
        let mut recorded = self.recorder.lock();
        let look = Look {
            run: recorded.runs.len().saturating_sub(1),
            is_active: query.is_active(),
            failed: query.exception().is_some(),
            last_batch: query.last_progress().map(|progress| progress.batch_id),
            progress: query.recent_progress().len(),
            status: query.status(),
        };
        recorded.looks.push(look);
        Ok(())
    }

    fn end_run(&mut self) {
        if let Some(query) = self.query.take() {
            query.stop();
            if let Some(run) = self.recorder.lock().runs.last_mut() {
                run.progress = query.recent_progress();
            }
        }
    }

    fn start(&mut self, action: &'a Datum) -> Result<(), String> {
        self.end_run();
        if let Some(mode) = action.get("mode") {
            self.mode = mode.to_text()?.parse().map_err(|e| format!("{e}"))?;
        }
        if let Some(plan) = action.get("plan") {
            self.plan = Plan(plan.to_list()?);
        }
        if action.get("max_files").is_some() {
            self.max_files = limit(action.get("max_files"))?;
        }
        if let Some(conf) = action.get("conf") {
            self.conf = Some(conf);
        }
        let conf = |name: &str| self.conf.and_then(|conf| conf.get(name)).and_then(Datum::as_text);
        let policy = match conf("spark.sql.streaming.multipleWatermarkPolicy") {
            None | Some("min") => WatermarkPolicy::Min,
            Some("max") => WatermarkPolicy::Max,
            Some(other) => return Err(format!("`{other}` is no watermark policy")),
        };
        let no_data = conf("spark.sql.streaming.noDataMicroBatches.enabled") != Some("false");
        let pipeline = Pipeline::new();
        let built = build(&pipeline, self.plan, &self.files, self.max_files)?;
        let run = self.recorder.lock().runs.len();
        let sink = sink(self.recorder.clone(), run, self.hooks.clone(), self.files.clone());
        let mut writer = built
            .rows
            .write_stream()
            .output_mode(self.mode)
            .trigger(trigger(action.get("trigger"))?)
            .watermark_policy(policy)
            .no_data_epochs(no_data)
            .recent_progress(10_000)
            .for_each_batch(sink);
        if let Some(checkpoint) = &self.checkpoint {
            writer = writer.checkpoint_location(checkpoint.path());
        }
        self.recorder.lock().runs.push(Run { columns: built.columns, progress: Vec::new() });
        self.query = Some(writer.start(&*self.setup.runner).map_err(|e| e.to_string())?);
        Ok(())
    }
}

/// Notes what it is given, and does what the hooks say.
fn sink(
    recorder: Recorder,
    run: usize,
    hooks: Arc<Mutex<HashMap<u64, Hook>>>,
    files: Files,
) -> impl FnMut(Vec<Row>, u64) -> Result<(), DoFnError> + Send + 'static {
    move |rows, id| {
        let batch = Batch { run, id, rows };
        let mut hooks = hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = hooks.get_mut(&id) {
            files.add(std::mem::take(&mut hook.add));
            if std::mem::take(&mut hook.fail_once) {
                recorder.lock().failed.push(batch);
                return Err(DoFnError::msg("injected failure"));
            }
        }
        recorder.lock().batches.push(batch);
        Ok(())
    }
}

fn fails(outcome: Result<(), String>) -> Result<(), String> {
    match outcome {
        Err(_) => Ok(()),
        Ok(()) => Err("it should have failed, and did not".to_owned()),
    }
}

/// The trigger, as the arguments of a call.
pub(super) fn trigger(arguments: Option<&Datum>) -> Result<QueryTrigger, String> {
    let Some(arguments) = arguments.filter(|arguments| **arguments != Datum::Null) else {
        return Ok(QueryTrigger::default());
    };
    let [(name, value)] = arguments.to_entries()? else {
        return Err(format!("{arguments}: there is exactly one trigger"));
    };
    let interval = |make: fn(&str) -> Result<QueryTrigger, IntervalError>| {
        make(value.to_text()?).map_err(|e| e.to_string())
    };
    let truth = |trigger: QueryTrigger| match value {
        Datum::Bool(true) => Ok(trigger),
        other => Err(format!("{name} is {other}, and can only be true")),
    };
    match name.to_text()? {
        "processingTime" => interval(QueryTrigger::processing_time),
        "continuous" => interval(QueryTrigger::continuous),
        "realTime" => interval(QueryTrigger::real_time),
        "once" => truth(QueryTrigger::once()),
        "availableNow" => truth(QueryTrigger::available_now()),
        other => Err(format!("`{other}` is no trigger")),
    }
}

fn compare(document: &Datum, recorded: &Recorded) -> Result<(), String> {
    let plan = Plan::of(document)?;
    let expected = document.need("batches")?.to_list()?;
    let told = || {
        let batches = recorded.batches.iter();
        batches.map(|b| format!("{}.{} {}", b.run, b.id, shown(&b.rows))).collect::<Vec<_>>().join(" | ")
    };
    for (i, batch) in expected.iter().enumerate() {
        let Some(is) = recorded.batches.get(i) else {
            return Err(format!("there is no batch for {}: {}", batch.need("batch_id")?, told()));
        };
        same_batch(batch, is, recorded).map_err(|e| format!("batch {}: {e}; all: {}", is.id, told()))?;
        same_progress(plan, batch, is, recorded)
            .map_err(|e| format!("batch {}: {e}; all: {}", is.id, told()))?;
    }
    if recorded.batches.len() > expected.len() {
        return Err(format!(
            "there are {} batches, and should be {}: {}",
            recorded.batches.len(),
            expected.len(),
            told()
        ));
    }
    let failed = document.get("failed_attempts").map_or(Ok(&[][..]), Datum::to_list)?;
    if failed.len() != recorded.failed.len() {
        return Err(format!("{} batches failed, and should {}", recorded.failed.len(), failed.len()));
    }
    failed.iter().zip(&recorded.failed).try_for_each(|(expected, is)| {
        same_batch(expected, is, recorded).map_err(|e| format!("the failed batch {}: {e}", is.id))
    })?;
    let looks = document.get("status").map_or(Ok(&[][..]), Datum::to_list)?;
    if looks.len() != recorded.looks.len() {
        return Err(format!(
            "{} looks at the query are known, and {} were taken",
            looks.len(),
            recorded.looks.len()
        ));
    }
    looks.iter().zip(&recorded.looks).try_for_each(|(expected, is)| {
        same_look(expected, is).map_err(|e| format!("looking at run {}: {e}", is.run))
    })
}

/// Of a query that runs the rest depends on when it is looked at.
fn same_look(expected: &Datum, is: &Look) -> Result<(), String> {
    let same = |what: &str, is: Datum| match expected.need(what)? {
        should if *should == is => Ok(()),
        should => Err(format!("`{what}` is {is}, and should be {should}")),
    };
    let number = |n: u64| i64::try_from(n).map_or(Datum::Null, Datum::Int);
    same("run", number(is.run as u64))?;
    same("is_active", Datum::Bool(is.is_active))?;
    let failed = *expected.need("exception")? != Datum::Null;
    if failed != is.failed {
        return Err(format!("that it failed is {}, and should be {failed}", is.failed));
    }
    if is.is_active {
        return Ok(());
    }
    same("last_progress_batch_id", is.last_batch.map_or(Datum::Null, number))?;
    same("recent_progress", number(is.progress as u64))?;
    let status = expected.need("status")?;
    let QueryStatus { message, is_data_available, is_trigger_active } = &is.status;
    let told = (message.as_str(), *is_data_available, *is_trigger_active);
    let truth = |what: &str| Ok::<_, String>(*status.need(what)? == Datum::Bool(true));
    let should = (status.need("message")?.to_text()?, truth("isDataAvailable")?, truth("isTriggerActive")?);
    if told != should {
        return Err(format!("its status is {told:?}, and should be {should:?}"));
    }
    Ok(())
}

fn same_batch(expected: &Datum, is: &Batch, recorded: &Recorded) -> Result<(), String> {
    let (run, id) = (expected.need("run")?.to_int()?, expected.need("batch_id")?.to_int()?);
    if (run, id) != (is.run as i64, is.id as i64) {
        return Err(format!("it should be batch {id} of run {run}"));
    }
    same_rows(expected.need("output")?, is, recorded)
}

/// Compares rows without an order.
pub(super) fn same_rows(expected: &Datum, is: &Batch, recorded: &Recorded) -> Result<(), String> {
    let columns = &recorded.runs[is.run].columns;
    let row = |row: &Datum| {
        let cell = |column: &super::cells::Column| column.ty.read(row.need(&column.name)?);
        columns.iter().map(cell).collect::<Result<Row, String>>()
    };
    let mut rows = expected.to_list()?.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let mut got = is.rows.clone();
    rows.sort();
    got.sort();
    if rows != got {
        return Err(format!("expected {}, got {}", shown(&rows), shown(&got)));
    }
    Ok(())
}

fn same_progress(plan: Plan<'_>, expected: &Datum, is: &Batch, recorded: &Recorded) -> Result<(), String> {
    let reports = &recorded.runs[is.run].progress;
    let report = reports.iter().find(|report| report.batch_id == is.id);
    let report = report.ok_or("there is no progress report of it")?;
    // As Spark counts: a source once for each way to the sink, and of a table sometimes all rows, sometimes none.
    let (mut rows, mut of_tables) = (0, 0);
    let mut streams = report.sources.iter();
    for source in plan.0.iter().filter(|node| op(node) == "source") {
        let ways = plan.ways(source.need("id")?.to_text()?)?;
        if is_static(source) {
            of_tables += ways * source.need("rows")?.to_list()?.len() as u64;
        } else {
            rows += ways * streams.next().map_or(0, |source| source.num_input_rows);
        }
    }
    let wanted = u64::try_from(expected.need("num_input_rows")?.to_int()?).map_err(|e| e.to_string())?;
    if wanted != rows && wanted != rows + of_tables {
        return Err(format!("{rows} rows came in, and should be {wanted}"));
    }
    let time = |text: &Option<String>| text.as_deref().map(micros).transpose();
    let want = |value: Option<&Datum>| match value {
        None | Some(Datum::Null) => Ok(None),
        Some(text) => micros(text.to_text()?).map(|m| Some(m.div_euclid(1000) * 1000)),
    };
    let (watermark, min, max, avg) = match &report.event_time {
        Some(event) => {
            (Some(micros(&event.watermark)?), time(&event.min)?, time(&event.max)?, time(&event.avg)?)
        }
        None => (None, None, None, None),
    };
    let statistics = expected.get("event_time").filter(|event| **event != Datum::Null);
    let of = |name: &str| want(statistics.and_then(|event| event.get(name)));
    for (what, is, should) in [
        ("watermark", watermark, want(expected.get("watermark_before"))?),
        ("least event time", min, of("min")?),
        ("greatest event time", max, of("max")?),
        ("mean event time", avg, of("avg")?),
    ] {
        if is != should {
            let shown = |micros: Option<i64>| {
                micros.map_or("none".to_owned(), |m| super::cells::Cell::Time(m).to_string())
            };
            return Err(format!("the {what} is {}, and should be {}", shown(is), shown(should)));
        }
    }
    Ok(())
}
