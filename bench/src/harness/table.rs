//! The table that people read.

use super::summary::Row;

const HEAD: [&str; 11] = [
    "work",
    "system",
    "threads",
    "CPU s",
    "ns/event",
    "wall s",
    "M events/s",
    "peak MB",
    "ratio",
    "target",
    "vs",
];

/// How many columns hold text and lie to the left; so does the last one.
const TEXT_COLUMNS: usize = 2;

/// Lays rows out in columns, with a line for each row that is void.
pub fn render(rows: &[Row]) -> String {
    let cells: Vec<[String; 11]> =
        std::iter::once(HEAD.map(String::from)).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut table = String::new();
    for row in &cells {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                if column < TEXT_COLUMNS || column == HEAD.len() - 1 {
                    format!("{cell:width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        table.push_str(line.join("  ").trim_end());
        table.push('\n');
    }
    for row in rows.iter().filter(|row| row.first) {
        if let (Some(p50), Some(p99)) = (row.p50_ms, row.p99_ms) {
            let Row { work, system, threads, .. } = row;
            table.push_str(&format!(
                "{work} {system} on {threads} threads: p50 {p50:.2} ms, p99 {p99:.2} ms\n"
            ));
        }
        if let Some(why) = &row.void {
            table.push_str(&format!("void: {} {} on {} threads: {why}\n", row.work, row.system, row.threads));
        }
    }
    table
}

fn cells(row: &Row) -> [String; 11] {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or(String::from("-"), |value| format!("{value:.digits$}"))
    };
    let ratio = match row.ratio {
        _ if row.void.is_some() => String::from("void"),
        Some(ratio) if row.target.is_some_and(|target| ratio > target) => format!("{ratio:.2} missed"),
        ratio => number(ratio, 2),
    };
    let held = [ratio, number(row.target, 2), row.vs.clone().unwrap_or_default()];
    let measured = if row.first {
        [
            row.work.to_owned(),
            row.system.to_owned(),
            row.threads.to_string(),
            number(row.cpu_s, 3),
            number(row.ns_per_event, 1),
            number(row.wall_s, 3),
            number(row.events_per_s.map(|events| events / 1e6), 2),
            number(row.peak_mb, 1),
        ]
    } else {
        Default::default()
    };
    let mut cells = measured.into_iter().chain(held);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_void_rows_say_why() {
        let good = Row {
            work: "W2",
            system: "fused",
            threads: 1,
            cpu_s: Some(0.125),
            wall_s: Some(0.2),
            events_per_s: Some(1e8),
            peak_mb: None,
            checksum: None,
            vs: Some(String::from("hand")),
            ratio: Some(1.25),
            target: Some(1.2),
            p50_ms: None,
            p99_ms: None,
            ns_per_event: Some(6.25),
            first: true,
            void: None,
        };
        let again = Row { first: false, vs: Some(String::from("1 thread")), ..good.clone() };
        let void = Row { system: "x", void: Some(String::from("wrong")), ..good.clone() };
        assert_eq!(
            render(&[good, again, void]),
            "work  system  threads  CPU s  ns/event  wall s  M events/s  peak MB        ratio  target  vs\n\
             W2    fused         1  0.125       6.2   0.200      100.00        -  1.25 missed    1.20  hand\n\
             \x20                                                                    1.25 missed    1.20  1 thread\n\
             W2    x             1  0.125       6.2   0.200      100.00        -         void    1.20  hand\n\
             void: W2 x on 1 threads: wrong\n"
        );
    }
}
