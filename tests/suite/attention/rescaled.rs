//! Attention on cooperative matrices beside a twin that scales the results of every row in every stage, where the
//! kernel itself does so only if weights would overflow.
//!
//! The twin is a mutant of the kernel, as in `tests/mutants.sh`, so it runs in a process of its own. With
//! `VSLA_LONG=1`, 1,000 batches are compared.

use std::path::{Path, PathBuf};
use std::process::Command;

use bytemuck::cast_slice;
use libtest_mimic::Trial;
use vsla::{Device, f16};

use crate::support::bench::{Bench, is_long};
use crate::support::corpus::rng;

use super::case::{Case, Operands, Value};

const NAME: &str = "always_rescaled";
/// The changes: weights of any sum are too large, and a reference never becomes smaller.
const TWIN: &str = "attention_matrix @ const LIMIT = 16384.0 @ const LIMIT = -1.0 \
    @ let both = max(rounded, other >> 1u); \
    @ let both = max(max(rounded, other >> 1u), select(i32(most), -0x10000000, unset));";
/// Names the file that a twin writes.
const VARIABLE: &str = "VSLA_TWIN";

pub fn trial(bench: &Bench) -> Trial {
    let has = |device: &Device| device.info().matrices == Some(16);
    bench.where_it_has(NAME, has, "no cooperative matrices of 16 × 16", compare)
}

fn compare(device: &Device) {
    let count = if is_long() { 1000 } else { 20 };
    if let Some(path) = std::env::var_os(VARIABLE) {
        let all: Vec<f32> = (0..count).flat_map(|i| results(device, i).2).collect();
        std::fs::write(path, cast_slice(&all)).unwrap();
        return;
    }
    let file = Temporary::new();
    let of_twin = twin(&file.0);
    let mut rest = of_twin.as_slice();
    for i in 0..count {
        let (case, of, got) = results(device, i);
        let (expected, after) = rest.split_at(got.len());
        rest = after;
        check(i, &case, &of, &got, expected);
    }
    assert!(rest.is_empty());
}

/// A case, its operands, and its results: those of each element, then its log-sum-exps.
fn results(device: &Device, i: u64) -> (Case, Operands<f16>, Vec<f32>) {
    let mut rng = rng(&format!("rescaled {i}"));
    let widths = [16, 32, 48, 64, 80, 96, 128];
    let elements = 1 + rng.usize(..4);
    let sizes = (0..elements).map(|_| (1 + rng.usize(..150), 1 + rng.usize(..700)));
    let sizes = sizes.collect();
    let key_heads = 1 + rng.usize(..2);
    let case = Case {
        sizes,
        heads: key_heads * (1 + rng.usize(..2)),
        key_heads,
        d: widths[rng.usize(..widths.len())],
        dv: widths[rng.usize(..widths.len())],
        causal: rng.bool(),
        alibi: rng.usize(..4) == 0,
        sinks: rng.usize(..4) == 0,
        amplitude: [1.0, 6.0, 10.0][rng.usize(..3)],
        ..Case::default()
    };
    let of: Operands<f16> = match rng.bool() {
        true => case.growing(i),
        false => case.operands(i),
    };
    let (o, lse) = case.run(device, &of).unwrap();
    let mut all = Vec::new();
    for element in 0..case.sizes.len() {
        all.extend(o.row(element).iter().map(|x| x.to_f32()));
        all.extend(lse.row(element));
    }
    (case, of, all)
}

/// The twin's results.
fn twin(path: &Path) -> Vec<f32> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("attention::gpu::{NAME}")])
        .env("VSLA_MUTANT", TWIN)
        .env(VARIABLE, path)
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(log.contains("COMPILED"), "the twin is no mutant: {log}");
    let bytes = std::fs::read(path).unwrap();
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| f32::from_le_bytes(*word)).collect()
}

/// References are powers of two, so that both differ only in weights below the normal numbers of f16, in sums, and in
/// weights whose f32 differ by an ulp where f16 rounds them apart.
fn check(i: u64, case: &Case, of: &Operands<f16>, got: &[f32], expected: &[f32]) {
    let mut both = got
        .iter()
        .zip(expected)
        .map(|(got, y)| (f64::from(*got), f64::from(*y)));
    for (element, &(n, m)) in case.sizes.iter().enumerate() {
        let slack = (m as f64 * 2f64.powi(-24) + 2f64.powi(-11)) * case.largest(of, element);
        let rows = n * case.heads;
        for (at, (got, y)) in both.by_ref().take(rows * (case.dv + 1)).enumerate() {
            let bound = match at < rows * case.dv {
                true => slack + 2.0 * f16::half_ulp(y),
                false => 2f64.powi(-18) * (1.0 + y.abs()),
            };
            assert!(
                got == y || (got - y).abs() <= bound,
                "batch {i}, value {at} of element {element} of {case:?}: {got}, the twin's {y}"
            );
        }
    }
}

/// A file that is removed when the trial ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        Temporary(std::env::temp_dir().join(format!("vsla-twin-{}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
