//! Headers that contradict the file or themselves.

use vsla::Ragged;
use vsla::io::safetensors::Writer;

use super::{file, open};

pub(super) fn texts() {
    let of = |header: &str, data: &[u8]| {
        let file = file(header, data);
        match open(&file) {
            Err(error) => error,
            Ok(mut reader) => reader.read::<f32>("x").unwrap_err(),
        }
    };
    // Raw values, offsets and extents; the header declares their types.
    let batch = |values: &str, offsets: (&str, &[i64]), shape: Option<(&str, &[i64])>| {
        let data = bytemuck::cast_slice::<f32, u8>(&[1.0, 2.0, 3.0]);
        let mut bytes = data.to_vec();
        let mut header = format!(r#"{{"x.values":{{{values},"data_offsets":[0,12]}}"#);
        for (name, part) in [("offsets", Some(offsets)), ("shape", shape)] {
            let Some((what, numbers)) = part else {
                continue;
            };
            let begin = bytes.len();
            bytes.extend_from_slice(bytemuck::cast_slice(numbers));
            let end = bytes.len();
            header += &format!(r#","x.{name}":{{{what},"data_offsets":[{begin},{end}]}}"#);
        }
        of(&(header + "}"), &bytes)
    };
    let three = r#""dtype":"F32","shape":[3]"#;
    let two = r#""dtype":"I64","shape":[3]"#;
    let good: (&str, &[i64]) = (two, &[0, 1, 3]);
    let claim = |length: u64| {
        open(&[&length.to_le_bytes()[..], b"{}"].concat())
            .err()
            .unwrap()
    };
    let cases = [
        (
            open(&[0; 7]).err().unwrap(),
            "read: at byte 7: expected at least 8 bytes, got the end of the file",
        ),
        (
            claim(3),
            "read: at byte 0: expected a header of at most 2 bytes, got 3",
        ),
        (
            claim(u64::MAX),
            "read: at byte 0: expected a header of at most 2 bytes, got 18446744073709551615",
        ),
        (
            of("[]", &[]),
            "read: at byte 8: expected a JSON object of tensors, got invalid type: sequence, expected an object that \
             maps names to tensors at line 1 column 0",
        ),
        (
            of("{}", &[1]),
            "read: at byte 10: expected data of 0 bytes, got 1",
        ),
        (
            of("{}", &[]),
            r#"read: expected the name of a batch in the file, got "x""#,
        ),
        (
            of(
                concat!(
                    r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"#,
                    r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
                ),
                &[1],
            ),
            r#"read: at byte 8: expected a JSON object of tensors, got two tensors named "a" at line 1 column 56"#,
        ),
        (
            of(
                r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#,
                &[1, 2],
            ),
            "read: at byte 8: expected the next tensor's data to start at 0, got 1 to 2",
        ),
        (
            of(
                r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]}}"#,
                &[1],
            ),
            "read: at byte 80: expected data of 18446744073709551615 bytes, got 1",
        ),
        (
            batch(r#""dtype":"BF16","shape":[6]"#, good, None),
            "read: at byte 8: expected x.values of type F32, got BF16",
        ),
        (
            batch(r#""dtype":"F32","shape":[3,1]"#, good, None),
            "read: at byte 8: expected x.values of rank 1, got 2",
        ),
        (
            batch(r#""dtype":"F32","shape":[4611686018427387907]"#, good, None),
            "read: at byte 8: expected a byte count of x.values that matches its shape, got 12",
        ),
        (
            batch(three, (r#""dtype":"F64","shape":[3]"#, &[0, 1, 3]), None),
            "read: at byte 8: expected x.offsets of type I64, U64, I32 or U32, got F64",
        ),
        (
            batch(three, (two, &[0, -1, 3]), None),
            "read: at byte 153: expected an integer from 0 to 4294967295, got -1",
        ),
        (
            batch(three, (r#""dtype":"I64","shape":[0]"#, &[]), None),
            "offsets: element 0 does not start at 0: expected a first offset of 0, got no offsets",
        ),
        (
            batch(three, (two, &[0, 4, 3]), None),
            "offsets: element 1 ends before it starts: expected an offset of at least 4, got 3",
        ),
        (
            batch(three, (two, &[0, 1, 2]), None),
            "read: expected 2 values, got 3",
        ),
        (
            batch(
                three,
                good,
                Some((r#""dtype":"I64","shape":[1,2]"#, &[1, 1])),
            ),
            "read: at byte 8: expected x.shape of 2 rows, got 1",
        ),
        (
            batch(three, good, Some((r#""dtype":"I64","shape":[2,0]"#, &[]))),
            "read: expected a rank of 1 to 8, got 0",
        ),
        (
            batch(
                three,
                good,
                Some((r#""dtype":"I64","shape":[2,9]"#, &[1; 18])),
            ),
            "read: expected a rank of 1 to 8, got 9",
        ),
        (
            batch(
                three,
                good,
                Some((r#""dtype":"I64","shape":[2,2]"#, &[1, 1, 2, 2])),
            ),
            "read: element 1: expected 4 values, got 2",
        ),
        (
            batch(
                three,
                good,
                Some((r#""dtype":"I64","shape":[2,2]"#, &[1, 1, 1 << 17, 1 << 17])),
            ),
            "read: element 1: the product of the extents exceeds the 32-bit index limit of 4294967295",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error.to_string(), text);
    }
    let x = Ragged::from_rows([[1f32]]).unwrap();
    let twice = Writer::new()
        .add("x", &x)
        .unwrap()
        .add("x", &x)
        .err()
        .unwrap();
    assert_eq!(
        twice.to_string(),
        r#"write: expected a distinct name for each batch, got "x""#
    );
}
