//! Every public method of the library's tensors and devices is offered, or stated as an exception.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::operations::{EXCEPTIONS, find, operations};

/// Methods that an operation of another name, or an option, stands for: `operation` or `operation.option`.
const OFFERED: &[(&str, &str)] = &[
    ("activation", "matmul.activation"),
    ("alibi", "attention.slopes"),
    ("along", "add.axis"),
    ("ambient", "matmul_ambient"),
    ("arg", "angle"),
    ("argsort_descending", "argsort.descending"),
    ("atan2", "arctan2"),
    ("attention_over", "attention.cached"),
    ("background", "label.background"),
    ("base", "rotary.base"),
    ("bias", "matmul.bias"),
    ("bincount_strict", "bincount.strict"),
    ("bit_and", "bitwise_and"),
    ("bit_not", "bitwise_not"),
    ("bit_or", "bitwise_or"),
    ("bit_xor", "bitwise_xor"),
    ("blocks", "attention.blocks"),
    ("clamp", "clip"),
    ("conv_plan", "causal"),
    ("convolution", "conv"),
    ("crop_strict", "crop.strict"),
    ("div", "divide"),
    ("div_from", "rdiv"),
    ("each", "add.each"),
    ("entries", "conv_matmul"),
    ("from_element", "dropout.seed"),
    ("from_nested", "conv_matmul"),
    ("gather_paired", "gather.pairing"),
    ("grid", "conv_matmul"),
    ("hann", "hann_window"),
    ("heads", "attention.heads"),
    ("histogram_edges", "histogram.edges"),
    ("if_else", "where"),
    ("key_heads", "attention.key_heads"),
    ("l2_normalize", "normalize"),
    ("log_sum_exp", "logsumexp"),
    ("log_sum_exp_axis", "logsumexp.axis"),
    ("lookup_strict", "lookup.strict"),
    ("method", "conv.method"),
    ("mode", "conv.mode"),
    ("mul_add", "addcmul"),
    ("neighbours", "label.diagonal"),
    ("norm_max", "norm_inf"),
    ("norm_max_axis", "norm_inf.axis"),
    ("of_equal_values", "label"),
    ("of_foreground", "label.foreground"),
    ("pair", "add.pairing"),
    ("pooling", "max_pool.window"),
    ("powf", "pow"),
    ("powi", "pow"),
    ("product", "matmul"),
    ("rem", "fmod"),
    ("remainder", "fmod_by"),
    ("residual", "matmul.residual"),
    ("run", "matmul"),
    ("run_with_lse", "attention.lse"),
    ("scale_by", "multiply.each"),
    ("scale_complex", "scale"),
    ("scatter_add_paired", "scatter_add.pairing"),
    ("shift_left", "left_shift"),
    ("shift_right", "right_shift"),
    ("side", "conv.side"),
    ("sinks", "attention.sinks"),
    ("softcap", "attention.softcap"),
    ("sort_descending", "sort.descending"),
    ("start", "rotary.position"),
    ("starts", "rotary.positions"),
    ("stride", "conv.strides"),
    ("sub_from", "rsub"),
    ("to", "to_f16"),
    ("top_k", "topk"),
    ("top_k_at_most", "topk.at_most"),
    ("top_left", "attention.top_left"),
    ("topology", "sampled.blocks"),
    ("transpose_left", "matmul.transpose"),
    ("transpose_right", "matmul.transpose"),
    ("with_lengths", "attention.cached"),
];

/// The names of the public methods that files of a folder declare, without the endings of blocking forms.
fn methods() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tensor");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for line in source.lines().map(str::trim_start) {
            let declared = ["pub fn ", "pub async fn "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            // Rows of tables of functions: `fn div(Number) -> T, 2: "..`, `fn exp() 2 "..`.
            let row = line.strip_prefix("fn ").filter(|row| row.contains(" \""));
            if let Some(rest) = declared.or(row) {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                // Others are parameters of macros.
                if !name.is_empty() {
                    names.insert(name.trim_end_matches("_blocking").to_owned());
                }
            }
        }
    }
    names
}

#[test]
fn every_method_is_offered_or_an_exception() {
    let methods = methods();
    for known in [
        "div",
        "exp",
        "attention",
        "matmul",
        "merge",
        "conj",
        "arange",
    ] {
        assert!(
            methods.contains(known),
            "{known} was not found in the sources"
        );
    }
    let stated: BTreeSet<&str> = EXCEPTIONS
        .iter()
        .flat_map(|(names, _)| names.iter().copied())
        .collect();
    let is_offered = |method: &str| {
        let along = method.strip_suffix("_axis").and_then(find);
        let by = OFFERED.iter().find(|(name, _)| *name == method);
        find(method).is_some()
            || along.is_some_and(|operation| operation.options.contains(&"axis"))
            || by.is_some()
    };
    for method in &methods {
        let ways = (is_offered(method), stated.contains(method.as_str()));
        assert!(
            ways.0 != ways.1,
            "{method}: offered, stated as an exception: {ways:?}"
        );
    }
    for (method, by) in OFFERED {
        assert!(methods.contains(*method), "no method {method}");
        assert!(
            find(method).is_none(),
            "{method} has an operation of its name"
        );
        let (name, option) = by.split_once('.').unwrap_or((by, ""));
        let operation = find(name).unwrap_or_else(|| panic!("no operation {name}"));
        assert!(
            option.is_empty() || operation.options.contains(&option),
            "{by}"
        );
    }
    for name in &stated {
        assert!(
            methods.contains(*name) || *name == "image::Program",
            "no method {name}"
        );
    }
    assert!(operations().count() > 150);
}
