//! What the table's rows are in WGSL: what `#generate` puts in their kernels.

use super::table::{Missing, Row};
use crate::ragged::DType;

/// The text that replaces `#generate "part"` in a kernel of a row, or of copies.
///
/// Uses: `E`, `a`, `b`, `d`, and what the row's expression does; the parts of spread operands also `p`, `v`, `i`,
/// `entry`, `along`, `along_four`. Defines: what each part says.
pub(super) fn generate(row: Option<&Row>, dtype: DType, part: &str) -> Option<String> {
    match (part, row) {
        ("met", None) => Some(SIDE_BY_SIDE.to_owned()),
        ("met", Some(row)) => Some(met(row, dtype)),
        ("loads", _) => Some(loads(row, dtype)),
        ("spread_four", Some(row)) => Some(spread_four(row)),
        ("spread_one", Some(row)) => Some(spread_one(row)),
        _ => None,
    }
}

/// Words side by side, one of which is zero.
const SIDE_BY_SIDE: &str = "alias V = E;
alias R = E;
fn met(x: V, y: V, in_a: bool, in_b: bool) -> R {
    return x + y;
}
const OVERLAP = false;
";

/// The types V, of what is computed, and R, of a result; `value` of all operands; of two also `met`, which knows what a
/// missing entry is, and whether only the `OVERLAP` counts.
fn met(row: &Row, dtype: DType) -> String {
    let mut text = String::new();
    if matches!(dtype, DType::F32 | DType::F16) {
        text.push_str("#include \"nan\"\n#include \"ends\"\n");
    }
    for name in row.uses {
        text.push_str(&format!("#include \"{name}\"\n"));
    }
    let bits = row.is_choice();
    let computed = match dtype {
        DType::F16 if bits => "u32",
        DType::F16 => "f32",
        _ => "E",
    };
    let result = if row.is_mask() { "u32" } else { "V" };
    text.push_str(&format!("alias V = {computed};\nalias R = {result};\n"));
    if row.is_of_three() {
        let first = if bits { "u32" } else { "V" };
        text.push_str(&format!(
            "fn value(x: {first}, y: V, z: V) -> R {{\n    return {};\n}}\n",
            row.wgsl
        ));
        return text;
    }
    let met = match row.missing {
        Missing::Zero => "value(x, y)",
        Missing::Overlap => "select(R(), value(x, y), in_a && in_b)",
        Missing::Alone => "select(select(y, x, in_a), value(x, y), in_a && in_b)",
    };
    text.push_str(&format!(
        "fn value(x: V, y: V) -> R {{\n    return {};\n}}\n\
         fn met(x: V, y: V, in_a: bool, in_b: bool) -> R {{\n    return {met};\n}}\n\
         const OVERLAP = {};\n",
        row.wgsl,
        row.missing == Missing::Overlap
    ));
    text
}

/// For each operand the type of its binding, `a_one`, a value of it, and `a_four`, four consecutive ones, whose places
/// are counted in values; for results the type of their binding, and `packed`, what four of them are there.
///
/// Halves lie two to a word, and are loaded by words; all else by quads.
fn loads(row: Option<&Row>, dtype: DType) -> String {
    let half = dtype == DType::F16;
    let bits = row.is_none_or(Row::is_choice);
    let three = row.is_some_and(Row::is_of_three);
    let mut text = String::new();
    for &name in operands(three) {
        let kind = match name {
            // A mask.
            "a" if bits && three => Load::Words("u32"),
            _ if half && bits => Load::HalfBits,
            _ if half => Load::Halves,
            _ => Load::Words("E"),
        };
        text.push_str(&kind.text(name));
    }
    let mask = row.is_some_and(Row::is_mask);
    text.push_str(match (half && !mask, bits) {
        (true, true) => {
            "alias C = vec2<u32>;\n\
             fn packed(r: vec4<R>) -> C {\n    return vec2(r.x | (r.y << 16u), r.z | (r.w << 16u));\n}\n"
        }
        (true, false) => {
            "#include \"half_bits\"\n\
             alias C = vec2<u32>;\n\
             fn packed(r: vec4<R>) -> C {\n    return vec2(half_bits(r.x) | (half_bits(r.y) << 16u), \
             half_bits(r.z) | (half_bits(r.w) << 16u));\n}\n"
        }
        _ => "alias C = vec4<R>;\nfn packed(r: vec4<R>) -> C {\n    return r;\n}\n",
    });
    text
}

/// Four values of a function, from their places v on, of spread operands too.
fn spread_four(row: &Row) -> String {
    let names = operands(row.is_of_three());
    let mut text = String::new();
    for &name in names {
        let kind = if name == "a" && row.is_choice() {
            "u32"
        } else {
            "V"
        };
        text.push_str(&format!(
            "    var {name}_values: vec4<{kind}>;
    if p.{name}_mode == WHOLE {{
        {name}_values = {name}_four(p.{name}_base + v);
    }} else if entry.{name}.z == 1u {{
        {name}_values = vec4({name}_one(entry.{name}.x));
    }} else {{
        let at = vec4(entry.{name}.x) + along_four(i, entry.{name}.yz);
        {name}_values = vec4({name}_one(at.x), {name}_one(at.y), {name}_one(at.z), {name}_one(at.w));
    }}
"
        ));
    }
    let value = |k: char| {
        let of: Vec<String> = names
            .iter()
            .map(|name| format!("{name}_values.{k}"))
            .collect();
        format!("value({})", of.join(", "))
    };
    let all = ['x', 'y', 'z', 'w'].map(value).join(", ");
    text + &format!("    return vec4({all});\n")
}

/// One value of a function, at place v, of spread operands too.
fn spread_one(row: &Row) -> String {
    let of = operands(row.is_of_three()).iter().map(|name| {
        format!(
            "{name}_one(select(entry.{name}.x + along(i, entry.{name}.yz), p.{name}_base + v, p.{name}_mode == WHOLE))"
        )
    });
    format!("    return value({});\n", of.collect::<Vec<_>>().join(", "))
}

fn operands(three: bool) -> &'static [&'static str] {
    match three {
        true => &["a", "b", "d"],
        false => &["a", "b"],
    }
}

/// How an operand is loaded.
enum Load {
    /// Words of this type.
    Words(&'static str),
    /// Halves, as f32.
    Halves,
    /// Halves, as their bits.
    HalfBits,
}

impl Load {
    fn text(&self, name: &str) -> String {
        let kind = name.to_uppercase();
        let (one, four) = match self {
            Load::Words(word) => {
                return format!(
                    "alias {kind} = vec4<{word}>;
fn {name}_one(at: u32) -> {word} {{
    return {name}[at / 4u][at % 4u];
}}
fn {name}_four(at: u32) -> vec4<{word}> {{
    let low = {name}[at / 4u];
    if at % 4u == 0u {{
        return low;
    }}
    let high = {name}[min(at / 4u + 1u, arrayLength(&{name}) - 1u)];
    switch at % 4u {{
        case 1u: {{ return vec4(low.yzw, high.x); }}
        case 2u: {{ return vec4(low.zw, high.xy); }}
        default: {{ return vec4(low.w, high.xyz); }}
    }}
}}
"
                );
            }
            Load::Halves => (
                "unpack2x16float(half).x",
                "vec4(unpack2x16float(words.x), unpack2x16float(words.y))",
            ),
            Load::HalfBits => (
                "half",
                "vec4(words.x & 0xffffu, words.x >> 16u, words.y & 0xffffu, words.y >> 16u)",
            ),
        };
        format!(
            "alias {kind} = u32;
fn {name}_one(at: u32) -> V {{
    let half = ({name}[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
    return {one};
}}
fn {name}_four(at: u32) -> vec4<V> {{
    let last = arrayLength(&{name}) - 1u;
    let first = at / 2u;
    var words = vec2({name}[first], {name}[min(first + 1u, last)]);
    if at % 2u != 0u {{
        let next = {name}[min(first + 2u, last)];
        words = (words >> vec2(16u)) | (vec2(words.y, next) << vec2(16u));
    }}
    return {four};
}}
"
        )
    }
}
