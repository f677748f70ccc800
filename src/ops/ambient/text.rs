//! The table's rows in WGSL: the texts that `shaders/lib/combine.wgsl` and `shaders/lib/loads.wgsl` insert.

use super::table::Row;
use crate::ragged::DType;

/// The texts of a variant of the kernel for one layout whose function, an expression in x and y, is not in the table.
pub(crate) fn own(dtype: DType, value: &str) -> Vec<(String, String)> {
    let half = dtype == DType::F16;
    let stored = if half { "halves V V" } else { "words E V" };
    let operands = format!("a A {stored}, b B {stored}");
    let texts = [
        ("OPERANDS", operands.as_str()),
        ("PACKED", if half { "halves" } else { "words" }),
        ("FILES", ""),
        ("COMPUTED", if half { "f32" } else { "E" }),
        ("RESULT", "V"),
        ("VALUE", value),
        ("MISSING", "Zero"),
        ("OVERLAP", "false"),
    ];
    texts
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .to_vec()
}

/// The texts of a row's kernel, or of the kernel that copies.
pub(super) fn of(row: Option<&Row>, dtype: DType) -> Vec<(String, String)> {
    let bits = row.is_none_or(Row::is_choice);
    let three = row.is_some_and(Row::is_of_three);
    let mask = row.is_some_and(Row::is_mask);
    let stored = match (dtype, bits) {
        (DType::F16, true) => "bits V V",
        (DType::F16, false) => "halves V V",
        (DType::U8, _) => "bytes V V",
        _ => "words E V",
    };
    let operands = match (three, bits) {
        // The first one is a mask.
        (true, true) => format!("a A words u32 u32, b B {stored}, d D {stored}"),
        (true, false) => format!("a A {stored}, b B {stored}, d D {stored}"),
        _ => format!("a A {stored}, b B {stored}"),
    };
    let packed = match (dtype, bits) {
        _ if mask => "words",
        (DType::F16, true) => "bits",
        (DType::F16, false) => "halves",
        (DType::U8, _) => "bytes",
        _ => "words",
    };
    let overlap = row.is_some_and(|row| row.missing.is_overlap());
    let mut texts = vec![
        ("OPERANDS", operands),
        ("PACKED", packed.to_owned()),
        ("OVERLAP", overlap.to_string()),
    ];
    if let Some(row) = row {
        let computed = match dtype {
            DType::F16 if bits => "u32",
            DType::F16 => "f32",
            _ => "E",
        };
        let result = match row.result(dtype) {
            DType::C32 => "vec2<f32>",
            _ if mask => "u32",
            _ => "V",
        };
        texts.extend([
            ("FILES", row.uses.join(", ")),
            ("COMPUTED", computed.to_owned()),
            ("RESULT", result.to_owned()),
            ("FIRST", if bits { "u32" } else { "V" }.to_owned()),
            ("VALUE", row.wgsl.to_owned()),
            ("MISSING", format!("{:?}", row.missing)),
        ]);
    }
    let texts = texts.into_iter();
    texts.map(|(name, text)| (name.to_owned(), text)).collect()
}
