//! A stored run as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write;

use serde_json::Value;
use vsla::conv::{CostTable, HeterogeneityProfile};

use super::lengths::{SETS, Set};
use super::plot::{self, Mark, Time, bytes};
use super::table::{around, device, device_runs, list, peer_name, target};
use super::text::{escaped, number};

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #24292f; --faint: #57606a; --page: #ffffff; --line: #8c959f; --grid: #d0d7de;
--ours: #0a5aaa; --theirs: #d2660a; --work: #1a7f5a; --wrong: #b3261e; --band: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9ea7b3; --page: #0d1117; --line: #7d8590;
--grid: #343b44; --ours: #4c9df3; --theirs: #f0913a; --work: #3fb68b; --wrong: #ff8a80; --band: #161b22 } }
body { font: 15px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; color: var(--ink); background: var(--page);
max-width: 1000px; margin: 0 auto; padding: 24px 16px 64px }
h1 { font-size: 28px; margin: 0 0 4px } h2 { font-size: 21px; margin: 40px 0 8px; padding-top: 8px; border-top: 1px solid
var(--grid) } h3 { font-size: 16px; margin: 28px 0 4px }
p { max-width: 46em } a { color: var(--ours) } code { font-size: 13px } .faint { color: var(--faint) }
nav a { display: inline-block; margin-right: 12px }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 16px 0 }
.numbers div { background: var(--band); border-radius: 6px; padding: 10px 12px } .numbers b { display: block;
font-size: 22px }
svg { width: 100%; height: auto; display: block; overflow: visible } svg.histogram { width: auto; max-width: 100% }
svg text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: var(--ink) } svg a text { fill:
var(--ours) } svg .faint { fill: var(--faint) } svg .small { font-size: 11px } svg .middle { text-anchor: middle }
svg .end { text-anchor: end } svg .slower { fill: var(--theirs) }
.line { stroke: var(--line) } .grid { stroke: var(--grid) } .gap { fill: var(--line); fill-opacity: .3 }
.ours { fill: var(--ours) } .whisker { stroke: var(--ours); stroke-width: 1.5 } .wall { stroke: var(--ours);
stroke-width: 2 } .peak { stroke: var(--theirs); stroke-width: 2 } .share { fill: var(--ours) } .work { fill:
var(--work) } .theirs { fill: var(--theirs); stroke: var(--theirs); stroke-width: 1.5 } .theirs.other { fill: none }
.wide { overflow-x: auto; margin: 0 -16px; padding: 0 16px }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th { font-weight: 600 } th, td { padding: 3px 10px 3px 0; vertical-align: top; border-bottom: 1px solid var(--grid);
white-space: nowrap; text-align: right } th:first-child, td:first-child, th:last-child, td:last-child { text-align:
left } td:last-child { white-space: normal; min-width: 26em } td small { color: var(--faint) } tr:target { background: var(--band) } .wrong { color:
var(--wrong); font-weight: 600 }
.set { display: flex; flex-wrap: wrap; gap: 8px 32px; align-items: end } .set dl { display: grid;
grid-template-columns: auto auto; gap: 0 12px; margin: 0; font-size: 13px } dt { color: var(--faint) } dd { margin: 0;
text-align: right; font-variant-numeric: tabular-nums }
";

/// The page of a run, with the times of a peer beside those of the device that it was measured on.
///
/// # Errors
/// If the heterogeneity of lengths cannot be computed.
pub fn html(run: &Value, peer: Option<&Value>) -> vsla::Result<String> {
    let devices = list(&run["devices"]);
    let names: Vec<_> = devices
        .iter()
        .map(|report| text(report, "device"))
        .collect();
    let title = format!("The benchmark of vsla on {}", names.join(" and "));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{0}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escaped(&title)
    );
    introduction(&mut page, run, peer);
    for (i, report) in devices.iter().enumerate() {
        // Another device has the same rows, and names on a page are unique.
        let prefix = if i == 0 {
            String::new()
        } else {
            format!("{i}-")
        };
        of_device(&mut page, report, peer, &prefix);
    }
    page += "<h2 id=\"lengths\">Lengths</h2>\n<p>The lengths that rows compute on, and how different they are: of \
             published data first. The coefficient of variation is the standard deviation of the lengths over their \
             mean. Padding is what a batch would hold of it if every element were as long as the longest one, or \
             filled the box that fits all.</p>\n";
    for set in &SETS {
        of_set(&mut page, set)?;
    }
    page += "</body>\n</html>\n";
    Ok(page)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn introduction(page: &mut String, run: &Value, peer: Option<&Value>) {
    let devices = list(&run["devices"]);
    page.push_str("<p class=\"faint\">");
    for report in devices {
        let driver = [text(report, "driver"), text(report, "backend")];
        let driver: Vec<_> = driver.into_iter().filter(|part| !part.is_empty()).collect();
        let quick = match report["quick"].as_bool() {
            Some(true) => "; small sizes, so that times mean nothing",
            _ => "",
        };
        let driver = match driver.is_empty() {
            true => String::new(),
            false => format!(" ({})", driver.join(", ")),
        };
        let name = format!("{}{driver}", text(report, "device"));
        _ = write!(page, "{}{quick}. ", escaped(&name));
    }
    let threads = run["cpu_threads"].as_u64().unwrap_or_default();
    _ = write!(page, "{threads} CPU threads.");
    if let Some(peer) = peer {
        _ = write!(page, " Beside it, {}.", escaped(&peer_name(peer)));
    }
    page.push_str("</p>\n<nav><a href=\"#lengths\">Lengths</a>");
    for (i, report) in devices.iter().enumerate() {
        let name = escaped(text(report, "device"));
        _ = write!(
            page,
            " <a href=\"#plots-{i}\">Plots of {name}</a> <a href=\"#rows-{i}\">Rows of {name}</a>"
        );
    }
    page.push_str(
        "</nav>\n<p>A row times one call. Its <b>device time</b> is the median of the timestamps around its kernels, \
         or the time per call of many that are waited for together, where that is less; its <b>wall time</b> ends when \
         the host knows that the device is done. Whiskers and the columns <i>95 %</i> are the confidence interval of \
         the median, from the order of the measured times. Shares are of what the same device reaches in this run: of \
         a copy that moves as many bytes, and of its peak of 32-bit multiply-adds. <b>Memory</b> is what operands and \
         results hold, beside what they would hold if every element were padded to the longest; the peak also counts \
         scratch memory, layouts and whatever else the row keeps on the device. Every result is checked in the same \
         run against the host; the last column says how.</p>\n",
    );
}

fn of_device(page: &mut String, report: &Value, peer: Option<&Value>, prefix: &str) {
    let rows = list(&report["rows"]);
    let peer = peer.filter(|peer| peer["device"] == report["device"]);
    let id = prefix.trim_end_matches('-');
    let id = if id.is_empty() { "0" } else { id };
    let name = escaped(text(report, "device"));
    _ = writeln!(page, "<h2 id=\"plots-{id}\">{name}</h2>");
    summary(page, rows, peer);
    page.push_str(&plot::legend());
    for family in families(rows) {
        let of = |row: &&Value| family_of(row) == family;
        let marks: Vec<_> = rows
            .iter()
            .filter(of)
            .filter_map(|row| mark(row, peer))
            .collect();
        if !marks.is_empty() {
            _ = writeln!(page, "<h3>{}</h3>", escaped(family));
            page.push_str(
                &plot::family(family, &marks).replace("href=\"#", &format!("href=\"#{prefix}")),
            );
        }
    }
    _ = writeln!(page, "<h2 id=\"rows-{id}\">All rows of {name}</h2>");
    table(page, rows, peer, prefix);
}

/// The families in the order of their first rows.
fn families(rows: &[Value]) -> Vec<&str> {
    let mut families = Vec::new();
    for row in rows {
        if !families.contains(&family_of(row)) {
            families.push(family_of(row));
        }
    }
    families
}

fn family_of(row: &Value) -> &str {
    text(row, "name").split('/').next().unwrap_or_default()
}

fn summary(page: &mut String, rows: &[Value], peer: Option<&Value>) {
    let count = |of: &dyn Fn(&Value) -> bool| rows.iter().filter(|row| of(row)).count();
    let right = count(&|row| row["right"] == true);
    let steady = count(&|row| row["steady"] == true);
    let targets: Vec<_> = rows.iter().flat_map(|row| list(&row["targets"])).collect();
    let met = targets
        .iter()
        .filter(|target| target["met"] == true)
        .count();
    let value = |name: &str, key: &str| {
        let row = rows.iter().find(|row| text(row, "name") == name)?;
        row[key].as_f64()
    };
    let mut shown = vec![
        (
            format!("{right} of {}", rows.len()),
            "rows with right results",
        ),
        (format!("{met} of {}", targets.len()), "targets met"),
        (format!("{steady} of {}", rows.len()), "rows at full clocks"),
    ];
    let mut copies = rows
        .iter()
        .filter(|row| text(row, "name").starts_with("peaks/copy"));
    let copy = copies.rfind(|row| row["bytes"].as_f64() >= Some(2.6e8));
    if let Some(rate) = copy.and_then(|row| row["gb_per_s"].as_f64()) {
        shown.push((format!("{} GB/s", number(rate)), "peak: a copy"));
    }
    let work = value("peaks/multiply-add", "multiply_adds");
    let row = rows
        .iter()
        .find(|row| text(row, "name") == "peaks/multiply-add");
    if let (Some(work), Some(us)) = (work, row.and_then(best)) {
        let rate = 2e-6 * work / us.us;
        shown.push((
            format!("{} TFLOP/s", number(rate)),
            "peak: 32-bit multiply-adds",
        ));
    }
    if peer.is_some() {
        let ratios = rows.iter().filter_map(|row| {
            let mark = mark(row, peer)?;
            Some(mark.theirs.first()?.us / mark.ours.us)
        });
        let ratios: Vec<f64> = ratios.collect();
        let faster = ratios.iter().filter(|ratio| **ratio >= 1.0).count();
        shown.push((
            format!("{faster} of {}", ratios.len()),
            "at least as fast as PyTorch's fastest way",
        ));
    }
    page.push_str("<div class=\"numbers\">\n");
    for (number, what) in shown {
        _ = writeln!(page, "<div><b>{number}</b>{what}</div>");
    }
    page.push_str("</div>\n");
}

/// A time with the interval that was recorded with it.
fn interval(us: f64, runs: &Value) -> Time {
    let ends = ["low_us", "high_us"].map(|end| runs[end].as_f64());
    Time {
        us,
        interval: match ends {
            [Some(low), Some(high)] => Some([low, high]),
            _ => None,
        },
    }
}

fn wall(row: &Value) -> Option<Time> {
    Some(interval(row["wall_us"].as_f64()?, &row["wall_runs"]))
}

/// The device time, or the wall time if the device has no timestamps.
fn best(row: &Value) -> Option<Time> {
    let on_device = device(row).map(|us| interval(us, &row[device_runs(row)]));
    on_device.or_else(|| wall(row))
}

fn mark<'a>(row: &'a Value, peer: Option<&Value>) -> Option<Mark<'a>> {
    let name = text(row, "name");
    let ways = peer.and_then(|peer| peer["rows"][name].as_object());
    let mut theirs: Vec<Time> = ways
        .into_iter()
        .flat_map(|ways| ways.values())
        .filter_map(|way| Some(interval(way["us"].as_f64()?, way)))
        .collect();
    theirs.sort_by(|a, b| a.us.total_cmp(&b.us));
    let percent = |key: &str, work| row[key].as_f64().map(|percent| (percent, work));
    let packed = ["packed_bytes", "padded_bytes"].map(|key| row[key].as_f64());
    Some(Mark {
        name,
        ours: best(row)?,
        wall: device(row).and(row["wall_us"].as_f64()),
        theirs: if device(row).is_some() {
            theirs
        } else {
            Vec::new()
        },
        share: percent("percent_of_multiply_add_peak", true)
            .or_else(|| percent("percent_of_copy", false)),
        peak: row["peak_bytes"].as_f64(),
        packed: match packed {
            [Some(packed), Some(padded)] => Some([packed, padded]),
            _ => None,
        },
    })
}

const HEADS: [&str; 12] = [
    "row",
    "device µs",
    "95 %",
    "wall µs",
    "95 %",
    "first µs",
    "rate",
    "of peak",
    "PyTorch µs",
    "peak",
    "values, padded",
    "targets, check",
];

fn table(page: &mut String, rows: &[Value], peer: Option<&Value>, prefix: &str) {
    // Columns that no row fills are left out. Each row has a name and a check, in the first and the last one.
    let all: Vec<[String; 12]> = rows.iter().map(|row| cells(row, peer)).collect();
    let shown: Vec<usize> = (0..HEADS.len())
        .filter(|&i| all.iter().any(|cells| !cells[i].is_empty()))
        .collect();
    page.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for &i in &shown {
        _ = write!(page, "<th>{}</th>", HEADS[i]);
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (row, cells) in rows.iter().zip(&all) {
        _ = write!(page, "<tr id=\"{prefix}{}\">", escaped(text(row, "name")));
        for &i in &shown {
            _ = write!(page, "<td>{}</td>", cells[i]);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// The row's cells, as HTML.
fn cells(row: &Value, peer: Option<&Value>) -> [String; 12] {
    let shown = |time: Option<f64>| time.map(number).unwrap_or_default();
    let work = row["multiply_adds"].as_f64().unwrap_or(0.0);
    let rate = match (work > 0.0, best(row), row["gb_per_s"].as_f64()) {
        (true, Some(best), _) => format!("{} TFLOP/s", number(2e-6 * work / best.us)),
        (_, _, Some(rate)) => format!("{} GB/s", number(rate)),
        _ => String::new(),
    };
    let mark = mark(row, peer);
    let mark = mark.as_ref();
    let share = mark.and_then(|mark| mark.share);
    let targets: Vec<_> = list(&row["targets"])
        .iter()
        .map(|one| escaped(&target(one)))
        .collect();
    let right = row["right"] == true;
    let check = match (right, text(row, "check")) {
        (true, check) => format!("right: {}", escaped(check)),
        (false, check) => format!("<span class=\"wrong\">WRONG: {}</span>", escaped(check)),
    };
    let steady = match row["steady"].as_bool() {
        Some(false) => "; <span class=\"wrong\">slow clocks</span>",
        _ => "",
    };
    let notes = row["notes"].as_object().into_iter().flatten();
    let notes =
        notes.filter_map(|(what, value)| Some(format!("{what} {}", number(value.as_f64()?))));
    let about: Vec<_> = [text(row, "data").to_owned()]
        .into_iter()
        .chain(notes)
        .map(|about| escaped(&about))
        .collect();
    let targets = match targets.is_empty() {
        true => String::new(),
        false => format!("{}; ", targets.join("; ")),
    };
    [
        format!("<code>{}</code>", escaped(text(row, "name"))),
        shown(device(row)),
        around(row, device_runs(row), device(row)),
        shown(row["wall_us"].as_f64()),
        around(row, "wall_runs", row["wall_us"].as_f64()),
        shown(row["first_call_us"].as_f64()),
        rate,
        share.map_or_else(String::new, |(percent, work)| {
            format!(
                "{} % {}",
                number(percent),
                ["copy", "fma"][usize::from(work)]
            )
        }),
        shown(mark.and_then(|mark| Some(mark.theirs.first()?.us))),
        mark.and_then(|mark| mark.peak)
            .map(bytes)
            .unwrap_or_default(),
        mark.and_then(|mark| mark.packed)
            .map(|[packed, padded]| format!("{}, {}", bytes(packed), bytes(padded)))
            .unwrap_or_default(),
        format!(
            "{targets}{check}{steady}<br/><small>{}</small>",
            about.join("; ")
        ),
    ]
}

fn of_set(page: &mut String, set: &Set) -> vsla::Result<()> {
    let layout = set.layout()?;
    // Only the times that the profile predicts depend on the costs, and they are not shown.
    let profile = HeterogeneityProfile::new(&layout, &CostTable::cpu())?;
    _ = write!(
        page,
        "<h3>{}</h3>\n<p>{}.",
        escaped(set.name),
        escaped(set.about)
    );
    if let Some(source) = set.source {
        _ = write!(page, " <span class=\"faint\">{}.</span>", escaped(source));
    }
    let rows: Vec<_> = set
        .rows
        .iter()
        .map(|row| format!("<code>{}</code>", escaped(row)))
        .collect();
    _ = write!(
        page,
        " Rows: {}.</p>\n<div class=\"set\">\n",
        rows.join(", ")
    );
    page.push_str(&plot::histogram(set.name, layout.lengths()));
    let median = number(profile.median);
    let facts = [
        ("elements", profile.elements.to_string()),
        ("of which empty", profile.empty.to_string()),
        ("lengths", format!("{} to {}", profile.min, profile.max)),
        (
            "median, mean",
            format!("{median}, {}", number(profile.mean)),
        ),
        (
            "coefficient of variation",
            number(profile.coefficient_of_variation),
        ),
        ("longest / median", number(profile.max_to_median())),
        ("distinct powers of two", profile.powers_of_two.to_string()),
        ("values", profile.total.to_string()),
        ("values if padded", layout.padded_total().to_string()),
        (
            "padding",
            format!("{} %", number(100.0 * layout.padding_waste())),
        ),
    ];
    page.push_str("<dl>");
    for (what, value) in facts {
        _ = write!(page, "<dt>{what}</dt><dd>{value}</dd>");
    }
    page.push_str("</dl>\n</div>\n");
    Ok(())
}
