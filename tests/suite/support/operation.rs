//! The checks that every operation must pass.
//!
//! | trials | requirement |
//! | --- | --- |
//! | `corpus::<case>` | integers are exact in every element type; floats are within their bounds |
//! | `contained` | NaN and infinity stay in their element: the bits of other elements are the same as without them |
//! | `views` | elements inside a larger batch, behind a base offset, give the same bits as on their own |
//! | `alone`, `reversed` | an element's bits do not depend on its neighbours or its position |
//! | `deterministic` | two runs give the same bits |
//! | `pairings` | one to all, all to all, lists: as the reference, and with the same bits as gathered batches |
//! | `folded` | a GPU that allows few workgroups per dimension gives the same integers |
//! | `errors` | operands that do not fit are refused with the right error |

mod batches;
mod expected;

use std::sync::Arc;

use libtest_mimic::Trial;
use vsla::{
    Device, Layout, Paired, Pairing, Ragged, Result, Shape, Tensor,
    scalar::{DType, Scalar},
};

use super::bench::{Bench, folding_gpu, is_hurried};
use super::compare::{Comparable, assert_exact, assert_identical};
use super::corpus::{self, Case, Content};
use super::number::Number;
use super::reference::{self, elementwise};
use batches::{any, embedded, floats_as, some_elements};
pub use batches::{download, one, pair_list, pick, rows, upload};
pub use expected::Expected;

/// An operation on a pairing.
pub type PairedFn<T, R> = fn(&Paired<'_, T>) -> Result<Tensor<R>>;

/// The expected result for two batches and their pairs of elements.
pub type Reference<T> = fn(&Ragged<T>, &Ragged<T>, &[(usize, usize)]) -> Expected;

/// An operation on two batches of `T`, or only on the first, with a batch of `R` as the result.
pub struct Binary<T: Scalar, R: Scalar> {
    /// The operation's name in errors.
    pub name: &'static str,
    pub run: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<R>>,
    /// The same with a pairing; `None` for an operation on one batch.
    pub paired: Option<PairedFn<T, R>>,
    /// The expected result; `None` if only the bits of several runs are compared.
    pub expected: Option<Reference<T>>,
    /// Whether NaN and infinity may spread to other values of their element that do not depend on them.
    pub spreads: bool,
    /// Whether it accepts only series.
    pub series_only: bool,
}

impl<T: Scalar, R: Scalar> Clone for Binary<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Scalar, R: Scalar> Copy for Binary<T, R> {}

type Check = Arc<dyn Fn(&Device, &Case) + Send + Sync>;
type Plain = Arc<dyn Fn(&Device) + Send + Sync>;

/// The trials of an operation, for all of its element types.
pub struct Operation {
    corpus: Vec<Check>,
    bitwise: Vec<(&'static str, Check)>,
    plain: Vec<(&'static str, Plain)>,
    is_long: fn(&Case) -> bool,
}

impl Operation {
    pub fn new() -> Operation {
        Operation {
            corpus: Vec::new(),
            bitwise: Vec::new(),
            plain: Vec::new(),
            is_long: |_| false,
        }
    }

    /// A GPU that [`is_hurried`] does not run the cases that `is_long` selects.
    pub fn with_long_cases(mut self, is_long: fn(&Case) -> bool) -> Operation {
        self.is_long = is_long;
        self
    }

    /// Adds an element type to the trials.
    pub fn with<T: Number, R: Comparable>(mut self, op: Binary<T, R>) -> Operation {
        if op.expected.is_some() {
            self.corpus.push(Arc::new(move |device, case| {
                op.exact(device, case);
                op.bounded(device, case);
            }));
        }
        self.bitwise.push((
            "views",
            Arc::new(move |device, case| op.views(device, case)),
        ));
        self.bitwise.push((
            "alone",
            Arc::new(move |device, case| op.alone(device, case)),
        ));
        self.bitwise.push((
            "reversed",
            Arc::new(move |device, case| op.reversed(device, case)),
        ));
        self.bitwise.push((
            "deterministic",
            Arc::new(move |device, case| op.deterministic(device, case)),
        ));
        if T::DTYPE == DType::F32 {
            self.plain
                .push(("contained", Arc::new(move |device| op.contained(device))));
        }
        if op.paired.is_some() {
            self.plain
                .push(("pairings", Arc::new(move |device| op.pairings(device))));
            self.plain
                .push(("errors", Arc::new(move |device| op.errors(device))));
        }
        self
    }

    /// The trials on every device: `corpus` for each case, and the others.
    pub fn trials(self, bench: &Bench, prefix: &str, corpus: Vec<Case>) -> Vec<Trial> {
        let mut trials = Vec::new();
        let name = |kind: &str| {
            if prefix.is_empty() {
                kind.to_string()
            } else {
                format!("{prefix}::{kind}")
            }
        };
        for case in &corpus {
            if self.corpus.is_empty() {
                break;
            }
            let (checks, case) = (self.corpus.clone(), case.clone());
            let name = name(&format!("corpus::{}", case.name));
            let long = (self.is_long)(&case);
            let test = move |device: &Device| checks.iter().for_each(|check| check(device, &case));
            trials.extend(bench.on_each_device_if_fast(long, &name, test));
        }
        for kind in ["views", "alone", "reversed", "deterministic"] {
            let checks: Vec<Check> = of_kind(&self.bitwise, kind);
            let telling: Vec<Case> = corpus
                .iter()
                .filter(|case| TELLING.contains(&case.name.as_str()))
                .cloned()
                .collect();
            assert!(!telling.is_empty() || corpus.is_empty());
            let is_long = self.is_long;
            trials.extend(bench.on_each_device(&name(kind), move |device| {
                let hurried = is_hurried(device);
                // Invocations of a software device run in order.
                let step = if hurried && kind == "deterministic" {
                    3
                } else {
                    1
                };
                let short = telling.iter().filter(|case| !hurried || !is_long(case));
                for case in short.step_by(step) {
                    checks.iter().for_each(|check| check(device, case));
                }
            }));
        }
        let (checks, is_long) = (self.corpus, self.is_long);
        let folded: Vec<Case> = corpus
            .into_iter()
            .filter(|case| TELLING.contains(&case.name.as_str()) || case.name == "tiny_5000")
            .collect();
        if !checks.is_empty() && !folded.is_empty() {
            trials.push(bench.on_gpu(&name("folded"), folding_gpu, move |device| {
                let hurried = is_hurried(device);
                for case in folded.iter().filter(|case| !hurried || !is_long(case)) {
                    checks.iter().for_each(|check| check(device, case));
                }
            }));
        }
        for kind in ["contained", "pairings", "errors"] {
            let checks: Vec<Plain> = of_kind(&self.plain, kind);
            if !checks.is_empty() {
                trials.extend(bench.on_each_device(&name(kind), move |device| {
                    checks.iter().for_each(|check| check(device));
                }));
            }
        }
        trials
    }
}

/// The cases whose bits are compared: every tile edge, a long element among short ones, several ranks.
const TELLING: &[&str] = &[
    "one_empty_side",
    "edges_32",
    "edges_64",
    "edges_256",
    "edges_448",
    "edges_1024",
    "edges_4096",
    "set_mixed",
    "set_far_apart",
    "short_random",
    "giant_among_dwarfs",
    "rank_1",
    "rank_2",
    "rank_3_larger",
    "rank_5",
    "rank_8",
];

fn of_kind<C: Clone>(checks: &[(&'static str, C)], kind: &str) -> Vec<C> {
    let of_it = checks.iter().filter(|(name, _)| *name == kind);
    of_it.map(|(_, check)| check.clone()).collect()
}

impl<T: Number, R: Comparable> Binary<T, R> {
    /// The highest rank that the operation accepts.
    fn highest_rank(&self) -> usize {
        match self.name {
            _ if self.series_only => 1,
            // Convolutions with a forced method report their errors under the pairing's name.
            "conv" | "correlate" | "pair" => 3,
            _ => 8,
        }
    }

    #[track_caller]
    fn of(&self, device: &Device, a: &Ragged<T>, b: &Ragged<T>) -> Ragged<R> {
        download(&(self.run)(&upload(device, a), &upload(device, b)).unwrap())
    }

    fn label(&self, case: &Case, kind: &str) -> String {
        format!("{} of {} on {}, {kind}", self.name, T::NAME, case.name)
    }

    fn exact(&self, device: &Device, case: &Case) {
        let (a, b) = case.integers::<T>();
        let expected = self.expect(&a, &b, &elementwise(a.len()));
        expected.check_integers(&self.label(case, "integers"), &self.of(device, &a, &b));
    }

    fn bounded(&self, device: &Device, case: &Case) {
        let Some((a, b)) = floats_as::<T>(case) else {
            return;
        };
        let expected = self.expect(&a, &b, &elementwise(a.len()));
        let got = self.of(device, &a, &b);
        if self.spreads && case.content == Content::Nonfinite {
            expected.check_spread(&self.label(case, "floats"), &got);
        } else {
            expected.check(&self.label(case, "floats"), &got);
        }
    }

    fn expect(&self, a: &Ragged<T>, b: &Ragged<T>, pairs: &[(usize, usize)]) -> Expected {
        self.expected.expect("a reference for this operation")(a, b, pairs)
    }

    /// Puts NaN and infinity into some elements, and checks that the other elements' bits do not change.
    fn contained(&self, device: &Device) {
        let mut cases = corpus::small();
        cases.retain(|case| case.content == Content::Nonfinite);
        assert!(!cases.is_empty());
        for case in cases {
            let (a, b) = floats_as::<T>(&case).expect("only floats can be poisoned");
            let (spoilt, _) = case.floats();
            let clean: Vec<usize> = (0..a.len())
                .filter(|&i| spoilt.row(i).iter().all(|v| v.is_finite()))
                .collect();
            assert!(clean.len() < a.len());
            let healed = a
                .cast(|value| {
                    if value.as_f64().is_finite() {
                        value
                    } else {
                        T::default()
                    }
                })
                .unwrap();
            let what = self.label(&case, "next to an element that is not finite");
            for (poisoned, healthy) in [((&a, &b), (&healed, &b)), ((&b, &a), (&b, &healed))] {
                let got = self.of(device, poisoned.0, poisoned.1);
                let expected = self.of(device, healthy.0, healthy.1);
                assert_identical(&what, &pick(&got, &clean), &pick(&expected, &clean));
            }
        }
    }

    fn views(&self, device: &Device, case: &Case) {
        let (a, b) = any::<T>(case);
        let expected = self.of(device, &a, &b);
        // Odd base offsets: 5 values before the left operand, and 3 before the right one.
        let (left, right) = (
            embedded(&a, &[3, 0, 2], &[1, 70]),
            embedded(&b, &[3], &[0, 9]),
        );
        let (left, right) = (upload(device, &left), upload(device, &right));
        let left = left.elements(3..3 + a.len()).unwrap();
        let right = right.elements(1..1 + b.len()).unwrap();
        assert_identical(self.label(case, "the view itself"), &download(&left), &a);
        let got = (self.run)(&left, &right).unwrap();
        assert_identical(self.label(case, "as views"), &download(&got), &expected);
        let middle = a.len() / 3..a.len() - a.len() / 3;
        let some = got.elements(middle.clone()).unwrap();
        assert_identical(
            self.label(case, "a view of the result"),
            &download(&some),
            &pick(&expected, &middle.clone().collect::<Vec<_>>()),
        );
        let (left, right) = (
            left.elements(middle.clone()),
            right.elements(middle.clone()),
        );
        let got = (self.run)(&left.unwrap(), &right.unwrap()).unwrap();
        assert_identical(
            self.label(case, "as views of views"),
            &download(&got),
            &pick(&expected, &middle.collect::<Vec<_>>()),
        );
    }

    fn alone(&self, device: &Device, case: &Case) {
        let (a, b) = any::<T>(case);
        let whole = self.of(device, &a, &b);
        for i in some_elements(&a, &b) {
            let got = self.of(device, &pick(&a, &[i]), &pick(&b, &[i]));
            let what = self.label(case, &format!("element {i} alone"));
            assert_identical(what, &got, &pick(&whole, &[i]));
        }
    }

    fn reversed(&self, device: &Device, case: &Case) {
        let (a, b) = any::<T>(case);
        let whole = self.of(device, &a, &b);
        let backwards: Vec<usize> = (0..a.len()).rev().collect();
        let got = self.of(device, &pick(&a, &backwards), &pick(&b, &backwards));
        assert_identical(
            self.label(case, "reversed"),
            &got,
            &pick(&whole, &backwards),
        );
    }

    fn deterministic(&self, device: &Device, case: &Case) {
        let (a, b) = any::<T>(case);
        let (left, right) = (upload(device, &a), upload(device, &b));
        let first = download(&(self.run)(&left, &right).unwrap());
        let second = download(&(self.run)(&left, &right).unwrap());
        assert_identical(self.label(case, "again"), &second, &first);
        assert_identical(
            self.label(case, "uploaded again"),
            &self.of(device, &a, &b),
            &first,
        );
    }

    fn pairings(&self, device: &Device) {
        let paired = self.paired.expect("an operation on two batches");
        for case in paired_cases() {
            if case.layouts().0.rank() > self.highest_rank() {
                continue;
            }
            let (a, b) = case.integers::<T>();
            // The batches may have different sizes.
            let some: Vec<usize> = (0..a.len().min(7)).collect();
            let a = pick(&a, &some);
            let first = (0..a.len()).find(|&i| !a.row(i).is_empty()).unwrap();
            let few = pick(&b, &some);
            let (x, y) = (upload(device, &a), upload(device, &few));
            let got = download(&paired(&x.pair(&y, Pairing::Elementwise).unwrap()).unwrap());
            let what = self.label(&case, "element by element");
            assert_identical(what, &got, &self.of(device, &a, &few));
            let (n, m) = (a.len() as u32, b.len() as u32);
            let list = [(n - 1, 0), (0, m - 1), (0, m - 1), (n / 2, m / 2), (0, 0)];
            let second = (0..b.len()).find(|&j| !b.row(j).is_empty()).unwrap();
            let every: Vec<usize> = (0..b.len()).collect();
            for (name, left, right, pairing) in [
                ("one to all", &[first][..], &every[..], Pairing::OneToAll),
                ("all to one", &some, &[second], Pairing::AllToOne),
                ("none to one", &[], &[second], Pairing::AllToOne),
                ("all to all", &some, &every, Pairing::AllToAll),
                ("a list", &some, &every, Pairing::List(&pair_list(list))),
                (
                    "an empty list",
                    &some,
                    &every,
                    Pairing::List(&pair_list([])),
                ),
                ("none to all", &[], &every, Pairing::AllToAll),
            ] {
                let what = self.label(&case, name);
                let pairs = reference::pairs(pairing, left.len(), right.len());
                let of = |a: &Ragged<T>, b: &Ragged<T>| {
                    let (x, y) = (upload(device, a), upload(device, b));
                    download(&paired(&x.pair(&y, pairing).unwrap()).unwrap())
                };
                let (a, b) = (pick(&a, left), pick(&b, right));
                let got = of(&a, &b);
                if self.expected.is_some() {
                    self.expect(&a, &b, &pairs).check_integers(&what, &got);
                }
                if let Some((a, b)) = floats_as::<T>(&case) {
                    let (a, b) = (pick(&a, left), pick(&b, right));
                    let got = of(&a, &b);
                    if self.expected.is_some() {
                        self.expect(&a, &b, &pairs).check(&what, &got);
                    }
                    let (i, j): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
                    let gathered = self.of(device, &pick(&a, &i), &pick(&b, &j));
                    assert_identical(format!("{what}, gathered"), &got, &gathered);
                }
            }
        }
    }

    fn errors(&self, device: &Device) {
        let paired = self.paired.expect("an operation on two batches");
        let batch = |lengths: &[usize]| {
            let layout = Layout::from_lengths(lengths.iter().copied()).unwrap();
            upload(device, &Ragged::full(&layout, T::default()).unwrap())
        };
        let (two, three) = (batch(&[2, 1]), batch(&[1, 0, 2]));
        let refused = |outcome: Result<Tensor<R>>, kind: &str| {
            let error = outcome
                .err()
                .unwrap_or_else(|| panic!("{}: {kind} expected", self.name));
            assert_eq!(error.kind(), kind, "{error}");
            let message = error.to_string();
            assert!(message.starts_with(error.op()), "{message}");
        };
        refused((self.run)(&two, &three), "batch_size");
        assert_eq!((self.run)(&two, &three).err().unwrap().op(), self.name);
        let through =
            |pairing: Pairing<'_>| two.pair(&three, pairing).and_then(|pair| paired(&pair));
        refused(through(Pairing::Elementwise), "batch_size");
        refused(through(Pairing::OneToAll), "pairing");
        refused(through(Pairing::AllToOne), "pairing");
        refused(
            through(Pairing::List(&pair_list([(0, 0), (2, 0)]))),
            "pair_index",
        );
        refused(
            through(Pairing::List(&pair_list([(0, 0), (0, 3)]))),
            "pair_index",
        );
        let shapes = [[1, 2], [2, 0]].map(|extents| Shape::new(&extents).unwrap());
        let layout = Layout::from_shapes(2, shapes).unwrap();
        let matrices = upload(device, &Ragged::full(&layout, T::default()).unwrap());
        refused((self.run)(&two, &matrices), "rank");
        let rank = self.highest_rank() + 1;
        if rank <= 8 {
            let layout = Layout::uniform(2, Shape::new(&vec![1; rank]).unwrap()).unwrap();
            let boxes = upload(device, &Ragged::full(&layout, T::default()).unwrap());
            refused((self.run)(&boxes, &boxes), "rank");
        }
        let elsewhere = Device::cpu();
        if device.is_gpu() {
            let layout = Layout::from_lengths([2, 1]).unwrap();
            let other = upload(&elsewhere, &Ragged::full(&layout, T::default()).unwrap());
            refused((self.run)(&two, &other), "device_mismatch");
        }
        // A refused call must leave the device usable.
        assert!((self.run)(&two, &two).is_ok());
    }
}

fn paired_cases() -> Vec<Case> {
    let wanted = [
        "set_mixed",
        "edges_32",
        "one_empty_side",
        "rank_2",
        "rank_3",
        "rank_5",
    ];
    let mut cases: Vec<Case> = corpus::small().into_iter().chain(corpus::boxes()).collect();
    cases.retain(|case| wanted.contains(&case.name.as_str()));
    assert_eq!(cases.len(), wanted.len());
    cases
}

/// Uploads two batches, runs an operation on them, and downloads the result.
#[track_caller]
pub fn run<T: Scalar, R: Scalar>(
    device: &Device,
    a: &Ragged<T>,
    b: &Ragged<T>,
    op: impl Fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<R>>,
) -> Ragged<R> {
    download(&op(&upload(device, a), &upload(device, b)).unwrap())
}

/// Checks results worked out by hand, for all pairs of operands as a batch and for each pair separately.
#[track_caller]
pub fn golden<T: Comparable, R: Comparable, const N: usize>(
    device: &Device,
    op: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<R>>,
    cases: [(&[T], &[T], &[R]); N],
) {
    let a = rows(cases.map(|(a, _, _)| a));
    let b = rows(cases.map(|(_, b, _)| b));
    let expected = rows(cases.map(|(_, _, expected)| expected));
    assert_exact("all of them", &run(device, &a, &b, op), &expected);
    for i in 0..N {
        let got = run(device, &pick(&a, &[i]), &pick(&b, &[i]), op);
        assert_exact(format!("number {i}"), &got, &pick(&expected, &[i]));
    }
}
