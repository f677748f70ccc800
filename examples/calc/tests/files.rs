use catalogue::is_same;
use serde_json::{Value, json};
use vsla::{Bsr, Layout, Ragged, Topology};

use super::run;
use crate::device::Choice;

#[test]
fn files_are_written_and_read() {
    let path = std::env::temp_dir().join(format!("calc-{}.vsla", std::process::id()));
    let file = path.to_str().expect("a name in UTF-8");
    let ask = |op, args, mut options: Value| {
        options["file"] = json!(file);
        let line = json!({"op": op, "args": args, "options": options});
        run(Choice::Cpu, line.to_string().as_bytes()).remove(0)
    };
    for (dtype, batch, bytes) in [
        (
            "f32",
            json!([[1.5, "nan", "-inf"], [], [3.0]]),
            32 + 12 + 16 + 4,
        ),
        ("i32", json!([[[1, -2]], [[3], [4]]]), 32 + 16 + 16 + 4),
        ("u32", json!([[4294967295u32]]), 32 + 4 + 4 + 4),
        ("f16", json!([[0.5, 65504.0]]), 32 + 4 + 4 + 4),
        ("c32", json!([[[1.0, -2.0]]]), 32 + 4 + 8 + 4),
        ("u8", json!([[255, 0, 7, 1]]), 32 + 4 + 4 + 4),
    ] {
        let answer = ask("write", json!([batch]), json!({"dtype": dtype}));
        assert_eq!(answer, json!({"ok": {"bytes": bytes}}), "{dtype}");
        let answer = ask("read", json!([]), json!({}));
        assert!(is_same(&answer["ok"], &batch, 0.0), "{dtype}: {answer}");
    }

    Ragged::from_rows([[0.1f64, f64::INFINITY]])
        .unwrap()
        .write(&path)
        .unwrap();
    let answer = ask("read", json!([]), json!({}));
    assert_eq!(answer, json!({"ok": [[0.1, "inf"]]}));

    let topology = Topology::new([2, 9], [8, 8], &[(0, 1)]).unwrap();
    Bsr::new(&topology, vec![7u32; 64])
        .unwrap()
        .write(&path)
        .unwrap();
    let answer = ask("read", json!([]), json!({}));
    let row = [0, 0, 0, 0, 0, 0, 0, 0, 7];
    assert_eq!(answer, json!({"ok": [[row, row]]}));

    let large = Topology::new([1 << 20, 1 << 11], [8, 8], &[]).unwrap();
    Bsr::<f32>::new(&large, vec![])
        .unwrap()
        .write(&path)
        .unwrap();
    assert_eq!(ask("read", json!([]), json!({}))["error"]["kind"], "limit");
    let long = Layout::from_lengths([1 << 20]).unwrap();
    Ragged::<f32>::zeros(&long).unwrap().write(&path).unwrap();
    assert_eq!(ask("read", json!([]), json!({}))["error"]["kind"], "limit");

    std::fs::write(&path, "VSLAv02").unwrap();
    let answer = ask("read", json!([]), json!({}));
    assert_eq!(answer["error"]["kind"], "file", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("read: {file}: at byte ")),
        "{message}"
    );
    std::fs::remove_file(&path).unwrap();
    let answer = ask("read", json!([]), json!({}));
    assert_eq!(answer["error"]["kind"], "io", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("read: {file}: ")), "{message}");
    let answer = ask("read", json!([[]]), json!({}));
    assert_eq!(answer["error"]["kind"], "bad_request", "{answer}");
    let answer = &run(Choice::Cpu, br#"{"op": "read"}"#)[0];
    assert_eq!(
        answer["error"]["message"],
        "read: the option file is missing"
    );
    let answer = &run(Choice::Cpu, br#"{"op": "read", "options": {"file": 3}}"#)[0];
    assert_eq!(
        answer["error"]["message"],
        "read: file: expected a text, got 3"
    );
}
