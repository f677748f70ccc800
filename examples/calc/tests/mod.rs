//! Lines and their answers, one file for each topic; and properties of all lines.

use std::io;

use catalogue::{Example, Failure, Number, Operation, Outcome, Written, examples, operations};
use serde_json::{Value, json};
use vsla::Ragged;

use crate::device::Choice;
use crate::devices::Devices;
use crate::fleet::{Count, Where};
use crate::{Calculator, EXAMPLES, serve};

mod files;
mod fleet;
mod gradient;
mod limits;
mod refusals;

const MAX_LINE: u64 = 1 << 20;

fn on(device: Choice, devices: Option<Count>) -> Where {
    Where { device, devices }
}

fn calculator(device: Choice) -> Calculator {
    Calculator {
        on: on(device, None),
        max_values: 1 << 20,
        devices: Devices::default(),
    }
}

/// The answers to this input, one for each line.
fn run(device: Choice, input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    serve(&mut calculator(device), input, &mut output, MAX_LINE).unwrap();
    assert!(output.is_empty() || output.ends_with(b"\n"));
    let output = String::from_utf8(output).unwrap();
    output
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

/// The CPU, and a GPU if there is one.
fn choices() -> Vec<Choice> {
    let opened = Devices::default().get(Choice::Gpu);
    match opened {
        Ok(_) => vec![Choice::Cpu, Choice::Gpu],
        Err(failure) => {
            assert!(
                std::env::var_os("VSLA_REQUIRE_GPU").is_none(),
                "{failure:?}"
            );
            vec![Choice::Cpu]
        }
    }
}

/// The examples that have an answer: requests and answers.
fn answered() -> Vec<(Value, Value)> {
    let answered = |Example {
                        request, outcome, ..
                    }| match outcome {
        Outcome::Answer(answer) => Some((request, answer)),
        Outcome::Error { .. } => None,
    };
    examples().filter_map(answered).collect()
}

/// Lines that are no requests, with the kinds of their errors.
#[test]
fn lines_that_are_no_requests_are_refused() {
    let choices = choices();
    for (line, kind) in [
        ("", "bad_json"),
        ("  \r", "bad_json"),
        ("{", "bad_json"),
        (r#"{"op": "sum", "args": [[[1e999]]]}"#, "bad_json"),
        (r#"{"op": "sum"} {}"#, "bad_json"),
        ("null", "bad_request"),
        ("[]", "bad_request"),
        ("{}", "bad_request"),
        (r#"{"op": 7}"#, "bad_request"),
        (r#"{"op": "help", "device": "tpu"}"#, "bad_request"),
    ] {
        for &device in &choices {
            let answers = run(device, format!("{line}\n").as_bytes());
            assert_eq!(answers.len(), 1, "{line}: {answers:?}");
            let error = &answers[0]["error"];
            assert_eq!(
                (&error["kind"], &error["element"]),
                (&json!(kind), &Value::Null),
                "{line}"
            );
            assert!(
                !error["message"].as_str().unwrap_or("").is_empty(),
                "{line}"
            );
        }
    }
}

#[test]
fn shapes_of_unequal_matrices_grow_on_both_axes() {
    let row = |width| Value::from(vec![1; width]);
    let (a, b) = (vec![row(5); 3], vec![row(2); 7]);
    let line = json!({"op": "add", "args": [[a], [b]]}).to_string();
    let answer = &run(Choice::Cpu, line.as_bytes())[0]["ok"][0];
    assert_eq!(answer.as_array().map(Vec::len), Some(7));
    assert!(
        answer
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row.as_array().unwrap().len() == 5)
    );
}

#[test]
fn an_unknown_option_is_named_with_those_there_are() {
    let line = br#"{"op": "sum", "args": [[]], "options": {"window": 1}}"#;
    let answer = &run(Choice::Cpu, line)[0];
    let message = "sum: unknown option \"window\": expected dtype, rank, axis";
    assert_eq!(answer["error"]["message"], message);
    // The requested operation comes first, whatever name the library reports.
    for (line, message) in [
        (
            r#"{"op": "sum", "args": []}"#,
            "sum: expected 1 argument, got 0",
        ),
        (
            r#"{"op": "add", "args": [[[1]]]}"#,
            "add: expected 2 arguments, got 1",
        ),
        (
            r#"{"op": "conv", "args": [[[1]], [[1], [2]]]}"#,
            "conv: expected batches of equal size, got 1 element and 2; pair unequal batches by the option pairing: \
             \"one_to_all\", \"all_to_all\" or a list",
        ),
        (
            r#"{"op": "causal", "args": [[[[1]]], [[[1]]]]}"#,
            "causal: expected a rank of 1, got 2",
        ),
        (
            r#"{"op": "concat", "args": [[[1]], [[2]]], "options": {"axis": 1}}"#,
            "concat: expected an axis below the rank of 1, got 1",
        ),
    ] {
        assert_eq!(
            run(Choice::Cpu, line.as_bytes())[0]["error"]["message"],
            message
        );
    }
}

#[test]
fn every_line_has_one_answer() {
    let sum = br#"{"op": "sum", "args": [[[1]]]}"#;
    let long = vec![b' '; MAX_LINE as usize + 1];
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let lines: [&[u8]; 9] = [
        sum,
        b"",
        b"\xff\xfe",
        &long,
        &deep,
        b"\0",
        sum,
        b"\xEF\xBB\xBF{}",
        sum,
    ];
    let answers = run(Choice::Cpu, &lines.join(&b'\n'));
    let kinds: Vec<_> = answers
        .iter()
        .map(|a| a["error"]["kind"].as_str())
        .collect();
    let json = Some("bad_json");
    assert_eq!(
        kinds,
        [
            None,
            json,
            json,
            json,
            json,
            json,
            None,
            Some("bad_request"),
            None
        ]
    );
    assert!(run(Choice::Cpu, b"").is_empty());
    assert_eq!(run(Choice::Cpu, b"\n\n").len(), 2);
    assert_eq!(
        run(Choice::Cpu, &[sum, &b"\r\n"[..]].concat())[0]["ok"],
        json!([[1.0]])
    );
}

/// A stream of pseudorandom numbers, the same in every run.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }
}

#[test]
fn damaged_lines_are_answered_too() {
    let mut stream = Stream(1);
    let mut input = Vec::new();
    let mut lines = 0;
    let answered = answered();
    for _ in 0..100 {
        for (line, _) in &answered {
            let mut line = line.to_string().into_bytes();
            for _ in 0..1 + stream.next() % 3 {
                let at = stream.next() as usize % line.len();
                match stream.next() % 3 {
                    0 => line[at] = stream.next() as u8,
                    1 => line[at] = b"[]{},:\"0-e."[stream.next() as usize % 11],
                    _ => line.truncate(at.max(1)),
                }
            }
            lines += 1 + line.iter().filter(|byte| **byte == b'\n').count();
            input.extend(line);
            input.push(b'\n');
        }
    }
    let answers = run(Choice::Cpu, &input);
    assert_eq!(answers.len(), lines);
    for answer in answers {
        assert!(
            answer.get("ok").is_some() != answer.get("error").is_some(),
            "{answer}"
        );
        assert_ne!(answer["error"]["kind"], "internal", "{answer}");
    }
}

fn written<T: Written>(value: T) -> String {
    let mut text = Vec::new();
    value.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn printed_numbers_read_back_as_the_same() {
    let mut stream = Stream(7);
    let edges = [
        0.0,
        -0.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::EPSILON,
        1e-45,
        16_777_216.0,
    ];
    let random = (0..200_000).map(|_| f32::from_bits(stream.next() as u32));
    for x in edges.into_iter().chain(random) {
        let text = written(x);
        let read = f32::read(&serde_json::from_str(&text).expect(&text)).expect(&text);
        assert!(
            read.to_bits() == x.to_bits() || (x.is_nan() && read.is_nan()),
            "{x:?} {text}"
        );
    }
    assert_eq!(written(0.1f32), "0.1");
    assert_eq!(written(f32::NEG_INFINITY), "\"-inf\"");
    for x in [i32::MIN, -1, 0, i32::MAX] {
        assert_eq!(
            i32::read(&serde_json::from_str(&written(x)).unwrap()),
            Ok(x)
        );
    }
    assert_eq!(u32::read(&json!(4_294_967_295_u32)), Ok(u32::MAX));
    assert_eq!(u32::read(&json!(3.0)), Ok(3));
}

#[test]
fn a_printed_batch_reads_back() {
    for text in [
        "[]",
        "[[]]",
        "[[1.0,2.0],[],[3.0]]",
        "[[[]],[[],[]]]",
        "[[[1.0],[2.0]],[[]],[]]",
    ] {
        let batch: Ragged<f32> =
            catalogue::read(&serde_json::from_str(text).unwrap(), None).unwrap();
        let mut out = Vec::new();
        catalogue::write(&batch, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
    let batch: Ragged<i32> = catalogue::read(&json!([[[], []], []]), None).unwrap();
    assert_eq!(
        (batch.shape(0).extents(), batch.shape(1).extents()),
        (&[2, 0][..], &[0, 0][..])
    );
}

/// A request of an operation on empty batches, with every option that it needs.
fn request(operation: &Operation) -> Value {
    let name = operation.name;
    let mut line = json!({"op": name, "args": vec![json!([]); operation.args]});
    for (option, value) in [
        ("factor", json!(1)),
        ("exponent", json!(2)),
        ("min", json!(0)),
        ("max", json!(1)),
        ("places", json!(1)),
        ("value", json!(1)),
        ("shapes", json!([])),
        ("lengths", json!([])),
        ("indices", json!([])),
        ("size", json!(1)),
        ("stride", json!(1)),
        ("sizes", json!([2])),
        ("inner", json!(1)),
        ("columns", json!(1)),
        ("counts", json!([])),
        ("elements", json!([])),
        ("start", json!([0])),
        ("end", json!([0])),
        ("widths", json!([[0, 0]])),
        ("range", json!([0, 0])),
        ("window", json!([2])),
        ("from", json!(0)),
        ("to", json!(1)),
        ("step", json!(1)),
        ("low", json!(0)),
        ("high", json!(1)),
        ("mean", json!(0)),
        ("deviation", json!(1)),
        ("p", json!(0.5)),
        ("depth", json!(3)),
        ("targets", json!([])),
        ("ids", json!([])),
        ("index", json!([])),
        ("ranges", json!([[null, null, -1]])),
        ("hop", json!(1)),
        ("k", json!(0)),
        ("labels", json!([])),
        ("q", json!(0.5)),
        ("bins", json!(3)),
        ("turns", json!(1)),
        ("factors", json!([[1, 1]])),
        ("shifts", json!([[0, 0]])),
        ("table", json!([[0]])),
        ("boxes", json!([])),
        ("lines", json!([])),
        ("values", json!([])),
        ("flags", json!([])),
        ("of", json!({"op": "neg", "args": [[]]})),
    ] {
        if operation.takes(option) {
            line["options"][option] = value;
        }
    }
    // Vectors have no slices, no diagonal, and no heads.
    if ["unstack", "eye", "merge"].contains(&name) {
        line["options"]["rank"] = json!(2);
    }
    // A batch is seen in one element, and a table is one.
    if ["unpacked", "embedding"].contains(&name) {
        line["args"] = json!([[[]]]);
    }
    // The ends of bins are different numbers.
    if name == "histogram" {
        line["options"]["range"] = json!([0, 1]);
    }
    // Both ends of a window of keys.
    if name == "attention" {
        line["options"]["window"] = json!([1, null]);
    }
    // Masks are u32.
    if ["any", "all"].contains(&name) {
        line["options"]["dtype"] = json!("u32");
    }
    line
}

#[test]
fn the_table_is_whole() {
    for (i, operation) in operations().enumerate() {
        let name = operation.name;
        assert!(
            operations().take(i).all(|other| other.name != name),
            "{name} twice"
        );
        let is_answered = |example: Example| matches!(example.outcome, Outcome::Answer(_));
        assert!(
            operation.examples().any(is_answered) || !operation.is_function,
            "{name} has no example with an answer"
        );
        // Each of these needs a file, and has its own test.
        if operation.takes("file") {
            continue;
        }
        // Empty batches are no error for any operation.
        let mut line = request(operation);
        let answer = &run(Choice::Cpu, line.to_string().as_bytes())[0];
        assert!(answer.get("ok").is_some(), "{line}\n{answer}");
        line["args"] = json!(vec![json!([]); operation.args + 1]);
        let answer = &run(Choice::Cpu, line.to_string().as_bytes())[0];
        assert_eq!(answer["error"]["kind"], "bad_request", "{answer}");
    }
    let help = &run(Choice::Cpu, br#"{"op": "help"}"#)[0]["ok"];
    assert_eq!(
        help["operations"].as_array().map(Vec::len),
        Some(operations().count())
    );
}

#[test]
fn the_examples_of_the_help_are_true() {
    let lines: Vec<&str> = EXAMPLES.lines().map(str::trim).collect();
    let mut checked = 0;
    for pair in lines.windows(2) {
        let request = pair[0]
            .strip_prefix("echo '")
            .and_then(|l| l.strip_suffix("' | calc"));
        if let Some(request) = request.filter(|_| pair[1].starts_with('{')) {
            let mut output = Vec::new();
            serve(
                &mut calculator(Choice::Cpu),
                request.as_bytes(),
                &mut output,
                MAX_LINE,
            )
            .unwrap();
            assert_eq!(String::from_utf8(output).unwrap().trim_end(), pair[1]);
            checked += 1;
        }
    }
    assert_eq!(checked, 5);
}

#[test]
fn what_would_take_minutes_is_refused() {
    let conv =
        r#"{"op": "conv", "args": [[[1, 2, 3, 4]], [[1, 2, 3, 4]]], "options": {"dtype": "i32"}}"#;
    for choice in choices() {
        let mut strict = Calculator {
            devices: Devices::new(Some(15)),
            ..calculator(choice)
        };
        let failure = strict.answer(conv.as_bytes()).err().unwrap();
        assert_eq!((failure.kind, failure.element), ("work_limit", Some(0)));
        assert!(failure.message.contains("work limit of 15"), "{failure:?}");
        assert!(calculator(choice).answer(conv.as_bytes()).is_ok());
        let device = Devices::default().get(choice).unwrap();
        let most = device.work_limit().unwrap();
        assert!((10_000_000_000..=10_000_000_000_000).contains(&most));
    }
}

#[test]
fn devices_are_kept_and_opened_again_after_a_loss() {
    let mut devices = Devices::default();
    let held = |devices: &mut Devices| {
        let device = devices.get(Choice::Cpu).unwrap();
        device
            .upload(&Ragged::from_rows([[1.0f32]]).unwrap())
            .unwrap()
    };
    let (a, b) = (held(&mut devices), held(&mut devices));
    assert!(a.add(&b).is_ok(), "the same device");
    devices.forget(Choice::Cpu);
    // Tensors of another handle of the CPU can be used together with these, but it holds only its own.
    let live = |x: &vsla::Tensor<f32>| x.device().memory().live;
    let c = held(&mut devices);
    assert_eq!(live(&a), 2 * live(&c), "another device");
    let lost = vsla::Error::DeviceLost {
        op: "add",
        reason: String::new(),
    };
    assert!(Failure::from(lost).loses_the_device());
}

#[test]
fn a_reader_that_goes_away_ends_the_work() {
    struct Closed;
    impl io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ended = serve(&mut calculator(Choice::Cpu), &b"\n\n"[..], Closed, MAX_LINE);
    assert_eq!(
        ended.map_err(|error| error.kind()),
        Err(io::ErrorKind::BrokenPipe)
    );
}
