//! A stored run as a Markdown table, for the README.

use serde_json::Value;

/// The rows whose names contain `filter`, a table for each device that `wanted` takes by its kind.
pub fn markdown(run: &Value, filter: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for report in list(&run["devices"]) {
        if !wanted(report["kind"].as_str().unwrap_or_default()) {
            continue;
        }
        let driver = report["driver"].as_str().unwrap_or_default();
        let name = format!("{} {driver}", report["device"].as_str().unwrap_or("?"));
        text += &format!(
            "{}\n\n| row | device µs | wall µs | rate | of peak | aim |\n\
             | --- | ---: | ---: | ---: | ---: | --- |\n",
            name.trim_end()
        );
        let rows = list(&report["rows"]).iter();
        let rows = rows.map(|row| (row["name"].as_str().unwrap_or_default(), row));
        let rows: Vec<_> = rows.filter(|(name, _)| name.contains(filter)).collect();
        for (name, row) in &rows {
            text += &line(name, row);
        }
        text += "\n";
        for (name, row) in &rows {
            let data = row["data"].as_str().unwrap_or_default();
            text += &format!("- `{name}`: {data}\n");
        }
    }
    text
}

/// The rows that `peer` has too, beside its times.
pub fn beside(run: &Value, peer: &Value) -> String {
    let mut text = format!(
        "PyTorch {}, {}\n\n| row | vsla µs | padded | bucketed | times as fast |\n| --- | ---: | ---: | ---: | ---: |\n",
        peer["torch"].as_str().unwrap_or("?"),
        peer["device"].as_str().unwrap_or("?"),
    );
    for report in list(&run["devices"]) {
        let name = report["device"].as_str();
        let rows = list(&report["rows"])
            .iter()
            .filter(|_| name == peer["device"].as_str());
        for row in rows {
            let name = row["name"].as_str().unwrap_or_default();
            let theirs = &peer["rows"][name];
            let (Some(ours), true) = (device(row), theirs.is_object()) else {
                continue;
            };
            let us = |way: &str| theirs[way]["us"].as_f64();
            let best = ["padded", "bucketed"].into_iter().filter_map(us);
            let best = best.reduce(f64::min).unwrap_or(f64::NAN);
            let shown = |way: &str| us(way).map(super::report::number).unwrap_or_default();
            text += &format!(
                "| `{name}` | {} | {} | {} | {:.1} |\n",
                super::report::number(ours),
                shown("padded"),
                shown("bucketed"),
                best / ours
            );
        }
    }
    text
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The time that rates are computed from, where a device takes timestamps.
fn device(row: &Value) -> Option<f64> {
    let in_row = row["back_to_back_us"].as_f64().unwrap_or(f64::INFINITY);
    row["device_us"].as_f64().map(|device| device.min(in_row))
}

fn line(name: &str, row: &Value) -> String {
    let shown = |time: Option<f64>| time.map(super::report::number).unwrap_or_default();
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
    let aims: Vec<String> = list(&row["aims"]).iter().map(aim).collect();
    let wrong = match row["right"].as_bool() {
        Some(true) => "",
        _ => " WRONG",
    };
    format!(
        "| `{name}` | {} | {} | {rate} | {of_peak} | {}{wrong} |\n",
        shown(device),
        shown(wall),
        aims.join("; "),
    )
}

fn aim(aim: &Value) -> String {
    let bound = match (aim["at_least"].as_f64(), aim["at_most"].as_f64()) {
        (Some(bound), _) => format!("≥ {bound}"),
        (_, Some(bound)) => format!("≤ {bound}"),
        _ => String::new(),
    };
    let verdict = match aim["met"].as_bool() {
        Some(true) => "met".to_owned(),
        _ => format!(
            "missed: {}",
            super::report::number(aim["got"].as_f64().unwrap_or(f64::NAN))
        ),
    };
    format!(
        "{} {bound}, {verdict}",
        aim["what"].as_str().unwrap_or_default()
    )
}
