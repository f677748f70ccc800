//! Inputs that the reader accepts, and the line that it reports for those that it refuses.

use super::*;

const HEAD: &str = "@problemName Walks\n@timeStamps false\n@missing false\n@univariate true\n\
                    @equalLength false\n@classLabel true slow fast\n@data\n";

fn ok(text: impl AsRef<[u8]>) -> Dataset {
    parse("walks.ts", text.as_ref()).unwrap()
}

/// Asserts that `text` gives an error with this line and problem.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, line: usize, problem: &str) {
    let error = parse("walks.ts", text.as_ref()).expect_err("this must not be read");
    assert_eq!(error.line, Some(line), "{error}");
    assert!(
        error.problem.contains(problem),
        "{error}\nshould say: {problem}"
    );
    let shown = error.to_string();
    assert!(shown.starts_with(&format!("walks.ts: line {line}: ")));
    assert!(
        shown.len() < 160 && !shown.contains(['\n', '\r']),
        "{shown}"
    );
}

/// As [`refused`], with `row` as the second line of data: line 9.
#[track_caller]
fn refused_row(row: &str, problem: &str) {
    refused(format!("{HEAD}1,2:slow\n{row}\n3:fast\n"), 9, problem);
    refused(format!("{HEAD}1,2:slow\r\n{row}"), 9, problem);
}

/// As [`refused`], with `row` instead of the header line of that name.
#[track_caller]
fn refused_header(name: &str, row: &str, line: usize, problem: &str) {
    let text: String = HEAD
        .lines()
        .map(|old| if old.contains(name) { row } else { old })
        .map(|line| format!("{line}\n"))
        .collect();
    refused(text + "1:slow\n", line, problem);
}

#[test]
fn reads_series_of_unequal_lengths() {
    let data = ok(format!("{HEAD}1,-2.5,3e2:fast\n.5:slow\n"));
    assert_eq!(data.name, "Walks");
    assert_eq!(data.labels, ["slow", "fast"]);
    assert_eq!(data.series, [vec![1.0, -2.5, 300.0], vec![0.5]]);
    assert_eq!(data.classes, [1, 0]);
}

#[test]
fn carriage_returns_byte_order_mark_and_missing_last_break_change_nothing() {
    let plain = format!("{HEAD}1,2:slow\n3:fast\n");
    let expected = ok(&plain);
    assert_eq!(ok(plain.replace('\n', "\r\n")), expected);
    assert_eq!(ok(format!("\u{feff}{plain}")), expected);
    assert_eq!(ok(format!("\u{feff}{}", plain.trim_end())), expected);
    assert_eq!(ok(plain.replace(',', " , ").replace(':', "\t: ")), expected);
}

#[test]
fn comments_and_blank_lines_may_stand_anywhere() {
    let text = format!("# ü\n\n% old style\n{HEAD}\n#x\n1,2:slow\n  \n3:fast\n\n# end");
    assert_eq!(ok(text).series, [vec![1.0, 2.0], vec![3.0]]);
}

#[test]
fn header_names_ignore_case_and_unknown_ones_are_skipped() {
    let text = "@PROBLEMNAME P\n@TimeStamps FALSE\n@missing True\n@seriesLength 9\n@origin x y\n\
                @dimension 1\n@CLASSLABEL True A b\n@Data\n1:A\n2:b\n";
    let data = ok(text);
    assert_eq!((data.name.as_str(), data.classes), ("P", vec![0, 1]));
}

#[test]
fn a_file_without_a_problem_name_is_called_after_itself() {
    assert_eq!(ok("@classLabel true 1\n@data\n2:1\n").name, "walks");
}

#[test]
fn the_largest_and_smallest_values_are_kept() {
    let data = ok(format!("{HEAD}1.7976931348623157e308,5e-324,-0.0:slow\n"));
    assert_eq!(data.series[0], [f64::MAX, 5e-324, 0.0]);
}

#[test]
fn missing_and_unreadable_values_are_refused() {
    refused_row("1,?,2:fast", "value 2 is missing (?)");
    refused_row("NaN:fast", "value 1 is missing (NaN)");
    refused_row("1,nan:fast", "value 2 is missing");
    refused_row("1,inf:fast", "value 2 is not finite");
    refused_row("1,-1e400:fast", "value 2 is not finite");
    refused_row("1,2x:fast", "value 2 is not a number: \"2x\"");
    refused_row("1 2:fast", "value 1 is not a number");
    refused_row(&format!("{}:fast", "7z".repeat(9999)), "not a number");
    refused_row("1,\u{1b}[2J:fast", "value 2 is not a number: \"\\u{1b}");
    refused_row("1,,2:fast", "value 2 is empty");
    refused_row(",1:fast", "value 1 is empty");
    refused_row("1,2,:fast", "value 3 is empty");
}

#[test]
fn an_empty_series_is_refused() {
    refused_row(":fast", "the series is empty");
    refused_row(" :fast", "the series is empty");
}

#[test]
fn channels_are_read_sample_by_sample() {
    let head = HEAD.replace("@univariate true", "@univariate false\n@dimensions 2");
    let data = ok(format!("{head}1,2,3:-1,-2,-3:fast\n7:8:slow\n"));
    assert_eq!(data.channels, 2);
    let expected = [vec![1.0, -1.0, 2.0, -2.0, 3.0, -3.0], vec![7.0, 8.0]];
    assert_eq!(data.series, expected);
    assert_eq!(data.classes, [1, 0]);
    let undeclared = ok("@classLabel true a\n@data\n1:2:3:a\n");
    assert_eq!(
        (undeclared.channels, undeclared.series),
        (3, vec![vec![1.0, 2.0, 3.0]])
    );
    assert_eq!(ok(format!("{HEAD}1,2:slow\n")).channels, 1);
}

#[test]
fn wrong_numbers_of_channels_are_refused() {
    refused_row("1,2:3,4:fast", "2 channels, but @univariate is true");
    let head = HEAD.replace("@univariate true", "@dimensions 3");
    for row in ["1:2", "1:2:3:4"] {
        let text = format!("{head}1:2:3:slow\n{row}:slow\n");
        refused(text, 9, "channels, but @dimensions is 3");
    }
    let head = HEAD.replace("@univariate true", "");
    let text = format!("{head}1:2:3:slow\n1:2:slow\n");
    refused(text, 9, "2 channels, but the first series has 3");
    for (dimensions, problem) in [
        ("3", "@dimensions is 3, but @univariate is true"),
        ("0", "must be a number of channels, not \"0\""),
        ("many", "not \"many\""),
    ] {
        let two = format!("@univariate true\n@dimensions {dimensions}");
        refused_header("univariate", &two, 5, problem);
    }
}

#[test]
fn channels_of_different_lengths_are_refused() {
    let head = HEAD.replace("@univariate true", "@univariate false");
    let two = format!("{head}1,2:3,4:slow\n");
    for (row, problem) in [
        ("1,2:3:slow", "channel 2 has 1 values, but channel 1 has 2"),
        ("1::slow", "channel 2 is empty"),
        (":1:slow", "channel 1 is empty"),
        ("1,2:3,?:slow", "channel 2: value 2 is missing (?)"),
    ] {
        refused(format!("{two}{row}\n"), 9, problem);
    }
    let equal = two.replace("@equalLength false", "@equalLength true");
    assert_eq!(ok(format!("{equal}5,6:7,8:fast\n")).series.len(), 2);
    let problem = "1 values, but @equalLength is true and the first series has 2";
    refused(format!("{equal}5:7:fast\n"), 9, problem);
}

#[test]
fn time_stamps_are_refused() {
    refused_row("(0,1.5),(1,2.5):fast", "time stamps");
    refused_header("timeStamps", "@timestamps TRUE", 2, "time stamps");
}

#[test]
fn a_series_needs_a_known_label() {
    refused_row("1,2,3", "no class label");
    refused_row("1,2:", "the class label is empty");
    refused_row("1,2:Fast", "the label \"Fast\" is not in @classLabel");
    refused_header("classLabel", "@classLabel false", 6, "no class labels");
    refused_header("classLabel", "@classLabel true", 6, "lists no labels");
    refused_header("classLabel", "@classLabel true a\u{7}", 6, "printable");
    refused_header("classLabel", "", 7, "@data before @classLabel");
    refused_header("classLabel", "@targetLabel true", 6, "regression");
}

#[test]
fn equal_lengths_must_be_equal() {
    let head = HEAD.replace("@equalLength false", "@equalLength true");
    assert_eq!(ok(format!("{head}1,2:slow\n3,4:fast\n")).series.len(), 2);
    refused(
        format!("{head}1,2:slow\n3:fast\n"),
        9,
        "1 values, but @equalLength is true and the first series has 2",
    );
}

#[test]
fn a_truncated_file_is_refused_at_its_last_line() {
    let whole = format!("{HEAD}1,2:slow\n3.25,-4.5:fast");
    for end in [whole.len() - 5, whole.len() - 8, whole.len() - 9] {
        refused(&whole[..end], 9, "no class label");
    }
    refused(&whole[..whole.len() - 4], 9, "the class label is empty");
    refused(&whole[..whole.len() - 1], 9, "not in @classLabel");
    refused(&HEAD[..30], 2, "true or false");
    refused("@problemName Walks\n", 1, "no @data line");
    refused(HEAD, 7, "no series");
    refused(format!("{HEAD}\n\n# nothing"), 10, "no series");
    refused("", 1, "no @data line");
}

#[test]
fn text_that_is_not_utf8_is_refused_at_its_line() {
    refused(
        [HEAD.as_bytes(), b"1:slow\n2,\xff:fast\n"].concat(),
        9,
        "not UTF-8",
    );
    refused(b"# caf\xe9\n@data\n", 1, "not UTF-8");
    refused(b"\xff\xfe@\0d\0", 1, "not UTF-8");
}

#[test]
fn lines_out_of_place_are_refused() {
    refused("@problemName x\n1,2:3\n", 2, "before @data");
    refused(format!("{HEAD}1:slow\n@data\n"), 9, "after @data");
    refused_header("missing", "@missing maybe", 3, "true or false");
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let error = read(Path::new("no/such/file.ts")).unwrap_err();
    assert_eq!(error.line, None);
    assert!(
        error.to_string().starts_with("no/such/file.ts: "),
        "{error}"
    );
}
