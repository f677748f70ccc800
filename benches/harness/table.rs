//! Formats a stored run, and the lengths that rows compute on, as Markdown tables, for docs/measurements.md.

use serde_json::Value;
use vsla::conv::{CostTable, HeterogeneityProfile};

use super::lengths::SETS;
use super::text::number;

/// The rows whose names contain `filter`, in one table for each device whose kind `accepts` accepts.
pub fn markdown(run: &Value, filter: &str, accepts: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for report in list(&run["devices"]) {
        if !accepts(report["kind"].as_str().unwrap_or_default()) {
            continue;
        }
        let driver = report["driver"].as_str().unwrap_or_default();
        let name = format!("{} {driver}", report["device"].as_str().unwrap_or("?"));
        let rows = list(&report["rows"]).iter();
        let rows = rows.map(|row| (row["name"].as_str().unwrap_or_default(), row));
        let rows: Vec<_> = rows.filter(|(name, _)| name.contains(filter)).collect();
        let cells: Vec<_> = rows.iter().map(|(name, row)| cells(name, row)).collect();
        // Results of earlier versions have neither intervals nor memory.
        let filled = |i: &usize| ALWAYS[*i] || cells.iter().any(|cells| !cells[*i].is_empty());
        let shown: Vec<usize> = (0..HEADS.len()).filter(filled).collect();
        let row = |of: &dyn Fn(usize) -> String| {
            let cells = shown.iter().map(|&i| of(i));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        text += &format!("{}\n\n", name.trim_end());
        text += &row(&|i| HEADS[i].to_owned());
        text += &row(&|i| {
            if i == 0 || i + 1 == HEADS.len() {
                "---"
            } else {
                "---:"
            }
            .to_owned()
        });
        for cells in &cells {
            text += &row(&|i| cells[i].clone());
        }
        text += "\n";
        for (name, row) in &rows {
            let data = row["data"].as_str().unwrap_or_default();
            text += &format!("- `{name}`: {data}\n");
        }
    }
    text
}

/// A row that the peer has, too.
pub struct Common<'a> {
    pub name: &'a str,
    pub row: &'a Value,
    /// The device time in microseconds, or the wall time of a row that measures transfers, too.
    pub ours: f64,
    pub theirs: &'a Value,
}

/// The rows that were measured on the peer's device and that `peer` also has.
pub fn common<'a>(run: &'a Value, peer: &'a Value) -> Vec<Common<'a>> {
    let reports = list(&run["devices"]).iter();
    let rows = reports
        .filter(|report| report["device"] == peer["device"])
        .flat_map(|report| list(&report["rows"]));
    let common = rows.filter_map(|row| {
        let name = row["name"].as_str()?;
        let theirs = &peer["rows"][name];
        let ours = device(row).or(row["wall_us"].as_f64())?;
        theirs.is_object().then_some(Common {
            name,
            row,
            ours,
            theirs,
        })
    });
    common.collect()
}

/// The version of PyTorch and its device.
pub fn peer_name(peer: &Value) -> String {
    let of = |key: &str| peer[key].as_str().unwrap_or("?");
    format!("PyTorch {}, {}", of("torch"), of("device"))
}

/// The rows that `peer` also has, next to its times: a table for each operation, with a column for each way in which
/// the peer implements it.
pub fn beside(run: &Value, peer: &Value) -> String {
    let mut text = format!("{}; µs, and TFLOP/s of products\n", peer_name(peer));
    let mut shown = "";
    let mut ways: Vec<&str> = Vec::new();
    for Common {
        name,
        row,
        ours,
        theirs,
    } in common(run, peer)
    {
        let operation = name.split('/').next().unwrap_or_default();
        if operation != shown {
            shown = operation;
            ways = ways_of(peer, operation);
            text += &format!(
                "\n| row | vsla | {} | times as fast |\n| --- | ---: |{} ---: |\n",
                ways.join(" | "),
                " ---: |".repeat(ways.len()),
            );
        }
        let work = row["multiply_adds"].as_f64().unwrap_or(0.0);
        let cell = |us: f64| match work > 0.0 {
            true => format!("{} ({:.0})", number(us), 2e-6 * work / us),
            false => number(us),
        };
        let us = |way: &&str| theirs[*way]["us"].as_f64();
        let best = ways.iter().filter_map(us).reduce(f64::min);
        let cells = ways.iter().map(|way| match (us(way), &theirs[*way]) {
            (Some(us), _) => cell(us),
            (None, Value::Null) => String::new(),
            (None, _) => "fails".to_owned(),
        });
        text += &format!(
            "| `{name}` | {} | {} | {:.1} |\n",
            cell(ours),
            cells.collect::<Vec<_>>().join(" | "),
            best.unwrap_or(f64::NAN) / ours
        );
    }
    text
}

/// All ways in which the peer implements an operation.
fn ways_of<'a>(peer: &'a Value, operation: &str) -> Vec<&'a str> {
    let mut ways = Vec::new();
    let rows = peer["rows"].as_object().into_iter().flatten();
    for (_, row) in rows.filter(|(name, _)| name.split('/').next() == Some(operation)) {
        for way in row.as_object().into_iter().flat_map(|row| row.keys()) {
            if !ways.contains(&way.as_str()) {
                ways.push(way);
            }
        }
    }
    ways
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The time that rates are computed from, if the device has timestamps.
fn device(row: &Value) -> Option<f64> {
    let in_row = row["back_to_back_us"].as_f64().unwrap_or(f64::INFINITY);
    row["device_us"].as_f64().map(|device| device.min(in_row))
}

const HEADS: [&str; 10] = [
    "row",
    "device µs",
    "95 %",
    "wall µs",
    "95 %",
    "rate",
    "of peak",
    "peak MiB",
    "padded MiB",
    "target",
];
/// The columns that are there even if no row has them.
const ALWAYS: [bool; 10] = [
    true, true, false, true, false, true, true, false, false, true,
];

/// How far the ends of the interval that a file has are from the median, in percent of it.
fn around(row: &Value, runs: &str, median: Option<f64>) -> String {
    let end = |end: &str| Some(100.0 * (row[runs][end].as_f64()? / median? - 1.0));
    match (end("low_us"), end("high_us")) {
        (Some(low), Some(high)) => format!("{low:+.1} {high:+.1}"),
        _ => String::new(),
    }
}

/// The name of the runs that `device` is the median of.
fn device_runs(row: &Value) -> &'static str {
    match device(row) < row["device_us"].as_f64() {
        true => "back_to_back_runs",
        false => "device_runs",
    }
}

fn cells(name: &str, row: &Value) -> [String; 10] {
    let shown = |time: Option<f64>| time.map(number).unwrap_or_default();
    let (device, wall) = (device(row), row["wall_us"].as_f64());
    let work = row["multiply_adds"].as_f64().unwrap_or(0.0);
    let rate = match (work > 0.0, device.or(wall), row["gb_per_s"].as_f64()) {
        (true, Some(best), _) => format!("{:.1} TFLOP/s", 2e-6 * work / best),
        (_, _, Some(rate)) => format!("{rate:.0} GB/s"),
        _ => String::new(),
    };
    let percent = |key: &str, of: &str| row[key].as_f64().map(|x| format!("{x:.0} % {of}"));
    let of_peak = percent("percent_of_multiply_add_peak", "fma")
        .or_else(|| percent("percent_of_copy", "copy"))
        .unwrap_or_default();
    let targets: Vec<String> = list(&row["targets"]).iter().map(target).collect();
    let wrong = match row["right"].as_bool() {
        Some(true) => "",
        _ => " WRONG",
    };
    let mib = |key: &str| {
        let bytes = row[key].as_f64();
        bytes.map_or_else(String::new, |bytes| {
            format!("{:.1}", bytes / f64::from(1 << 20))
        })
    };
    [
        format!("`{name}`"),
        shown(device),
        around(row, device_runs(row), device),
        shown(wall),
        around(row, "wall_runs", wall),
        rate,
        of_peak,
        mib("peak_bytes"),
        mib("padded_bytes"),
        format!("{}{wrong}", targets.join("; ")),
    ]
}

fn target(target: &Value) -> String {
    let bound = match (target["at_least"].as_f64(), target["at_most"].as_f64()) {
        (Some(bound), _) => format!("≥ {bound}"),
        (_, Some(bound)) => format!("≤ {bound}"),
        _ => String::new(),
    };
    let verdict = match target["met"].as_bool() {
        Some(true) => "met".to_owned(),
        _ => format!(
            "missed: {}",
            number(target["got"].as_f64().unwrap_or(f64::NAN))
        ),
    };
    format!(
        "{} {bound}, {verdict}",
        target["what"].as_str().unwrap_or_default()
    )
}

/// The lengths that rows compute on: how different they are, and where they come from.
///
/// # Errors
/// If a layout cannot be made.
pub fn lengths() -> vsla::Result<String> {
    let mut text = "| lengths | elements | of them empty | shortest | median | mean | longest | deviation / mean | padding | rows |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
        .to_owned();
    let mut about = String::from("\n");
    for set in &SETS {
        let layout = set.layout()?;
        // Only the times that the profile predicts depend on the costs, and they are not shown.
        let profile = HeterogeneityProfile::new(&layout, &CostTable::cpu())?;
        let rows = set.rows.iter().map(|row| format!("`{row}`"));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} % | {} |\n",
            set.name,
            profile.elements,
            profile.empty,
            profile.min,
            number(profile.median),
            number(profile.mean),
            profile.max,
            number(profile.coefficient_of_variation),
            number(100.0 * layout.padding_waste()),
            rows.collect::<Vec<_>>().join(", "),
        );
        let source = set.source.map(|source| format!(" {source}."));
        about += &format!(
            "- {}: {}.{}\n",
            set.name,
            set.about,
            source.unwrap_or_default()
        );
    }
    Ok(text + &about)
}
