//! How closely the results of two devices must agree.
//!
//! Whole numbers are equal, and so are floats, except for rounding. Maps and functions have bounds for each value,
//! which `scalar::maps` and `scalar::functions` list. Of other operations, a value may differ by the row's share of the
//! largest value of its element, and by what a small change of the operands makes, because sums cancel.

use std::cell::OnceCell;

use catalogue::{Batch, Gradient, Operation, find};
use serde_json::{Map, Value, json};
use vsla::scalar::{DType, MapInfo, Scalar, functions, maps};
use vsla::{Complex32, Device, Ragged, f16};

use super::Step;
use super::check::on_host;

/// The share of the norms by which transforms may.
const TRANSFORMED: f64 = 1e-5;
/// The share by which operands are changed.
const CHANGED: [f32; 2] = [1.0 / 512.0, 1.0 / 65536.0];
/// How often they are.
const CHANGES: u64 = 3;
/// The most that a sum of subnormal terms, which a GPU may take as 0, amounts to.
const SMALL: f64 = 8192.0 * f32::MIN_POSITIVE as f64;
/// From these magnitudes on, sums and functions may overflow on one device but not on another.
const LARGE: [f64; 2] = [6e4, 1e37];
/// From this magnitude on, the squares of operands and sums of these may.
const LARGE_OPERANDS: f64 = 1e15;

/// The same bits; all NaNs are equal.
pub fn same(a: &Batch, b: &Batch) -> bool {
    let bytes = |batch: &Batch| -> Vec<Vec<u8>> {
        (0..batch.layout().len())
            .map(|i| batch.bytes(i).to_vec())
            .collect()
    };
    let equal = || {
        let mut both = wide(a).into_iter().zip(wide(b));
        both.all(|(x, y)| {
            x == y && x.is_sign_negative() == y.is_sign_negative() || x.is_nan() && y.is_nan()
        })
    };
    a.dtype() == b.dtype()
        && a.layout() == b.layout()
        && (bytes(a) == bytes(b) || a.is_float() && equal())
}

/// The values in f64, with real and imaginary parts alternating.
pub fn wide(batch: &Batch) -> Vec<f64> {
    fn of<T: Copy + Into<f64>>(batch: &Ragged<T>) -> Vec<f64> {
        batch.values().iter().map(|&v| v.into()).collect()
    }
    match batch {
        Batch::F32(batch) => of(batch),
        Batch::F16(batch) => of(batch),
        Batch::F64(batch) => of(batch),
        Batch::I32(batch) => of(batch),
        Batch::U32(batch) => of(batch),
        Batch::U8(batch) => of(batch),
        Batch::C32(batch) => batch
            .values()
            .iter()
            .flat_map(|z| [z.re.into(), z.im.into()])
            .collect(),
    }
}

/// The batch with each float changed by about this share.
fn changed(batch: &Batch, seed: u64) -> Batch {
    let mut state = seed;
    let mut factor = |share: f32| {
        // A linear congruential generator, of which the high bits are random.
        state = state
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        if state >> 63 == 0 {
            1.0 + share
        } else {
            1.0 - share
        }
    };
    fn map<T: Scalar>(batch: &Ragged<T>, change: impl FnMut(T) -> T) -> Ragged<T> {
        let values = batch.values().iter().copied().map(change).collect();
        Ragged::from_parts(batch.layout().clone(), values).expect("as many")
    }
    let [half, single] = CHANGED;
    match batch {
        Batch::F32(batch) => map(batch, |v| v * factor(single)).into(),
        Batch::F16(batch) => map(batch, |v| f16::from_f32(v.to_f32() * factor(half))).into(),
        Batch::C32(batch) => {
            let change =
                |z: Complex32| Complex32::new(z.re * factor(single), z.im * factor(single));
            map(batch, change).into()
        }
        other => other.clone(),
    }
}

/// Compares results with those of another device.
pub struct Judge<'a> {
    step: &'a Step,
    operands: &'a [Batch],
    made: &'a [Batch],
    device: &'a Device,
    /// What the other device makes of changed operands, once it is needed.
    others: OnceCell<Vec<Vec<Batch>>>,
}

impl<'a> Judge<'a> {
    pub fn new(
        step: &'a Step,
        operands: &'a [Batch],
        made: &'a [Batch],
        device: &'a Device,
    ) -> Judge<'a> {
        Judge {
            step,
            operands,
            made,
            device,
            others: OnceCell::new(),
        }
    }

    /// Compares a result with the one of this number.
    pub fn check(&self, number: usize, here: &Batch) -> Result<(), String> {
        let there = &self.made[number];
        if here.dtype() != there.dtype() || here.layout() != there.layout() {
            return Err("their types or shapes differ".to_owned());
        }
        if same(here, there) {
            return Ok(());
        }
        match here.is_float() {
            true => self.near(number, here),
            false if number == 1 && find("correlate").is_some() && self.has_lags() => {
                self.lags(here)
            }
            false => Err("whole numbers differ".to_owned()),
        }
    }

    fn has_lags(&self) -> bool {
        ["correlate_max", "sbd"].contains(&self.step.row.name)
    }

    fn others(&self) -> &[Vec<Batch>] {
        self.others.get_or_init(|| {
            // Steps stay where they are.
            let Operation {
                gradient, bound, ..
            } = self.step.row;
            let changes = if *gradient == Gradient::Zero || *bound == [0.0; 2] {
                0
            } else {
                CHANGES
            };
            let run = |seed| {
                let operands: Vec<Batch> = self
                    .operands
                    .iter()
                    .enumerate()
                    .map(|(i, x)| changed(x, 3 * seed + i as u64))
                    .collect();
                on_host(self.step, &operands, self.device)
                    .ok()
                    .map(|(made, _)| made)
            };
            (0..changes).filter_map(run).collect()
        })
    }

    /// What a result of an element is computed from, as far as that is known.
    fn sources(&self, element: usize) -> Vec<Batch> {
        let lengths: Vec<usize> = self.operands.iter().map(|x| x.layout().len()).collect();
        let pairs = match lengths[..] {
            [left, right] => catalogue::pairs(&self.step.options, left, right),
            _ => None,
        };
        let (left, right) = pairs.map_or((element, element), |pairs| pairs[element]);
        let own = |(number, batch): (usize, &Batch)| {
            let at = if number == 0 { left } else { right };
            let is_one_of_many = self.step.row.is_local && lengths[number] > 1;
            match is_one_of_many && at < lengths[number] {
                true => batch.element(at),
                false => batch.clone(),
            }
        };
        self.operands.iter().enumerate().map(own).collect()
    }

    /// The bound of each value, if it is a map or a function of the values at one place.
    fn units(&self) -> Option<MapInfo> {
        let row = self.step.row;
        let dtype = self.operands.last()?.dtype();
        let is_row =
            |name| row.name == name || row.methods.iter().any(|(method, _)| *method == name);
        let mut all = maps().chain(functions());
        all.find(|map| map.dtype == dtype && is_row(map.name))
    }

    /// Compares values within twice that bound, because both devices keep it.
    fn in_units(&self, map: &MapInfo, here: &Batch, there: &Batch) -> Result<(), String> {
        let (x, y, layout) = (wide(here), wide(there), here.layout());
        let parts = if here.dtype() == DType::C32 { 2 } else { 1 };
        let (rounding, least, large) = match here.dtype() {
            DType::F16 => (2f64.powi(-10), 2f64.powi(-24), LARGE[0]),
            _ => (0.0, 0.0, LARGE[1]),
        };
        for element in 0..layout.len() {
            let sources = self.sources(element);
            let subnormal = |v: &f64| *v != 0.0 && v.abs() < f32::MIN_POSITIVE.into();
            if sources
                .iter()
                .any(|batch| wide(batch).iter().any(subnormal))
            {
                continue;
            }
            let range = layout.offsets().range(element);
            for value in range {
                let places = parts * value..parts * (value + 1);
                let norm = |v: &[f64]| v[places.clone()].iter().fold(0.0, |n: f64, v| n.hypot(*v));
                let size = norm(&x).max(norm(&y));
                let ulp = f64::from(f32::EPSILON);
                let own = f64::from(map.ulps) * ulp * size + f64::from(map.absolute);
                let allowed = 2.0 * own + SMALL + rounding * size + least;
                // Parts of complex numbers may overflow on the way, where a fused operation does not.
                let is_beyond = parts == 2 && (size > large || size.is_nan());
                for i in places {
                    let (x, y) = (x[i], y[i]);
                    let overflow = x.abs().min(y.abs()) >= large && x.signum() == y.signum();
                    let alike = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= allowed;
                    if !(alike || overflow || is_beyond) {
                        return Err(format!("value {i} is {x:e} and {y:e}, allowed {allowed:e}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether these have values that are flushed to 0, or that overflow.
    fn are_extreme(&self, sources: &[Batch]) -> bool {
        // Functions along axes compute with halves as they are.
        let has = |option: &str| self.step.row.takes(option);
        let is_along = has("axis") && !has("each");
        let is_extreme = |batch: &Batch| {
            let normal = match batch.dtype() {
                DType::F16 if is_along => 2f64.powi(-14),
                _ => f32::MIN_POSITIVE.into(),
            };
            let range = |v: &f64| *v == 0.0 || (normal..LARGE_OPERANDS).contains(&v.abs());
            batch.is_float() && !wide(batch).iter().all(range)
        };
        sources.iter().any(is_extreme)
    }

    /// By how much convolutions differ that are computed by transforms: a share of the norms of both sides, of which
    /// the values that are kept may be a small part.
    fn transformed(&self, sources: &[Batch]) -> f64 {
        let norm = |batch: &Batch| wide(batch).iter().map(|v| v * v).sum::<f64>().sqrt();
        match self.step.row.name {
            // Distances are relative to the norms.
            "sbd" => TRANSFORMED,
            "conv" | "correlate" | "causal" | "correlate_max" | "conv_matmul" => {
                TRANSFORMED * sources.iter().map(norm).product::<f64>()
            }
            _ => 0.0,
        }
    }

    /// Whether products of some values may overflow, though that of all does not.
    fn partial_products_overflow(&self, sources: &[Batch]) -> bool {
        let log = |v: f64| if v == 0.0 { 0.0 } else { v.abs().log2().abs() };
        ["prod", "cumprod"].contains(&self.step.row.name)
            && wide(&sources[0]).into_iter().map(log).sum::<f64>() > 120.0
    }

    fn near(&self, number: usize, here: &Batch) -> Result<(), String> {
        let there = &self.made[number];
        if let Some(map) = self.units() {
            return self.in_units(&map, here, there);
        }
        let (x, y, layout) = (wide(here), wide(there), here.layout());
        let others: Vec<Vec<f64>> = self
            .others()
            .iter()
            .map(|made| wide(&made[number]))
            .collect();
        let halves = self
            .operands
            .iter()
            .chain([here])
            .any(|batch| batch.dtype() == DType::F16);
        let kind = usize::from(!halves);
        let parts = if here.dtype() == DType::C32 { 2 } else { 1 };
        for element in 0..layout.len() {
            let sources = self.sources(element);
            if self.are_extreme(&sources) || self.partial_products_overflow(&sources) {
                continue;
            }
            let range = layout.offsets().range(element);
            let range = parts * range.start..parts * range.end;
            let finite = |values: &[f64]| {
                values
                    .iter()
                    .filter(|v| v.is_finite())
                    .fold(0.0, |most: f64, v| most.max(v.abs()))
            };
            let differences = others.iter().map(|other| {
                let both = y[range.clone()].iter().zip(&other[range.clone()]);
                finite(&both.map(|(a, b)| a - b).collect::<Vec<_>>())
            });
            let allowed = self.step.row.bound[usize::from(halves)] * finite(&y[range.clone()])
                + differences.fold(0.0, f64::max)
                + SMALL;
            let halved = if halves { 2f64.powi(-23) } else { 0.0 };
            let allowed = allowed + halved + self.transformed(&sources);
            for i in range {
                let large = |v: f64| v.abs() >= LARGE[kind];
                let overflows = large(y[i]) || others.iter().any(|other| large(other[i]));
                let is_near = (x[i] - y[i]).abs() <= allowed || x[i].is_nan() && y[i].is_nan();
                if !is_near && !overflows {
                    return Err(format!(
                        "value {i} is {:e} and {:e}, allowed {allowed:e}",
                        x[i], y[i]
                    ));
                }
            }
        }
        Ok(())
    }

    /// The correlations of each pair at two lags must be equal up to rounding.
    fn lags(&self, here: &Batch) -> Result<(), String> {
        if self.are_extreme(self.operands) {
            return Ok(());
        }
        let options = self
            .step
            .options
            .get("pairing")
            .map(|pairing| ("pairing".to_owned(), pairing.clone()));
        let mut options: Map<String, Value> = options.into_iter().collect();
        options.insert("method".to_owned(), json!("direct"));
        let correlate = Step {
            row: find("correlate").expect("a row"),
            options,
            ..self.step.clone()
        };
        let all = on_host(&correlate, self.operands, self.device)
            .map_err(|failure| failure.message)?
            .0;
        let (values, layout) = (wide(&all[0]), all[0].layout());
        let magnitudes: Vec<Batch> = self.operands.iter().map(magnitude).collect();
        let most = on_host(&correlate, &magnitudes, self.device)
            .map_err(|failure| failure.message)?
            .0;
        let most = wide(&most[0]);
        for (pair, (a, b)) in wide(here).into_iter().zip(wide(&self.made[1])).enumerate() {
            if a == b {
                continue;
            }
            // Value q is lag q - (n - 1), where n is the length of the right operand.
            let range = layout.offsets().range(pair);
            let right = self.sources(pair)[1].layout().total();
            let at = |lag: f64| {
                range
                    .clone()
                    .nth((lag as i64 + right as i64 - 1).max(0) as usize)
                    .map(|i| values[i])
            };
            let allowed = self.step.row.bound[0]
                * most[range.clone()]
                    .iter()
                    .fold(0.0f64, |most, v| most.max(*v))
                + SMALL;
            let is_near = at(a)
                .zip(at(b))
                .is_some_and(|(a, b)| (a - b).abs() <= allowed);
            if !is_near {
                return Err(format!("pair {pair} has the lags {a} and {b}"));
            }
        }
        Ok(())
    }
}

/// The absolute values of floats.
fn magnitude(batch: &Batch) -> Batch {
    match batch {
        Batch::F32(batch) => batch.cast(f32::abs).expect("as large").into(),
        other => other.clone(),
    }
}
