//! The sentence encoder of examples/sentences, of the size of all-MiniLM-L6-v2, with random weights.

#[allow(dead_code, reason = "the example uses all of it")]
#[path = "../../examples/sentences/encoder.rs"]
pub mod of_example;

use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16};

use self::of_example::{Encoder, Layer, Linear, Norm, places};
use crate::harness::lengths;
use crate::harness::{Bench, Check, Outcome, Spec};

pub const VOCABULARY: usize = 30_522;
const POSITIONS: usize = 512;
pub const HIDDEN: usize = 384;
pub const WIDE: usize = 1536;
pub const LAYERS: usize = 6;
const HEADS: usize = 12;

pub fn rows(bench: &mut Bench) -> Outcome<()> {
    if bench.wants("attention/minilm") {
        row::<f32>(bench, "attention/minilm", 1e-5)?;
    }
    if bench.wants("attention/minilm-f16") {
        row::<f16>(bench, "attention/minilm-f16", 4e-3)?;
    }
    Ok(())
}

fn row<T: Float>(bench: &mut Bench, name: &'static str, slack: f32) -> Outcome<()> {
    // A software device would take minutes.
    let (layers, most) = match (bench.size.quick, bench.device.is_gpu()) {
        (true, _) => (2, 8),
        (_, false) => (LAYERS, 64),
        _ => (LAYERS, usize::MAX),
    };
    let mut lengths = lengths::news();
    lengths.truncate(most);
    let mut random = fastrand::Rng::with_seed(85);
    let sentence =
        |&n: &usize| -> Vec<u32> { (0..n).map(|_| random.u32(..VOCABULARY as u32)).collect() };
    let sentences: Vec<Vec<u32>> = lengths.iter().map(sentence).collect();
    let tokens = bench.device.upload(&Ragged::from_rows(&sentences)?)?;
    let encoder = Weights::new(&bench.device).encoder::<T>(layers)?;
    let places = bench.device.upload(&places(tokens.layout())?)?;
    let program = encoder.program(&bench.device);
    let plan = program.plan(&[tokens.layout(), places.layout()])?;
    let run = || plan.run(&[&tokens, &places])?.get::<f32>(0);
    let (vectors, first) = bench.first(run)?;
    let check = check::<T>(layers, &sentences, &vectors.download_blocking()?, slack)?;
    let result = vectors.layout().clone();
    drop(vectors);
    let total: usize = lengths.iter().sum();
    let scores: usize = lengths.iter().map(|n| n * n).sum();
    let each = (4 * HIDDEN * HIDDEN + 2 * HIDDEN * WIDE) * total + 2 * HIDDEN * scores;
    let spec = Spec {
        name,
        data: format!(
            "{} sentences, {total} tokens, in one batch: log-normal lengths; {layers} layers of {HIDDEN}, {HEADS} \
             heads, {WIDE} inside; random weights and tokens, seeds 85 and 86",
            lengths.len()
        ),
        bytes: 0,
        multiply_adds: (layers * each) as u64,
        first,
        check,
    };
    let (times, reference) = bench.beside(|bench| bench.times(run))?;
    let mut row = bench.row(spec, times, reference);
    if T::DTYPE.size() == 2 {
        row = row.of_halves();
    }
    let report = plan.report();
    let row = row.note("dispatches", report.dispatches as f64);
    let row = row
        .reads::<u32>(tokens.layout())
        .reads::<u32>(tokens.layout());
    let row = row.writes::<f32>(&result);
    let row = row.note("arena MiB", report.memory.arena as f64 / f64::from(1 << 20));
    bench.push(row);
    Ok(())
}

/// Compares the vectors of a few sentences with those that the CPU device computes.
fn check<T: Float>(
    layers: usize,
    sentences: &[Vec<u32>],
    got: &Ragged<f32>,
    slack: f32,
) -> Result<Check> {
    let longest = (0..sentences.len()).max_by_key(|&i| sentences[i].len());
    let some = [0, sentences.len() / 2, longest.unwrap_or_default()];
    let device = Device::cpu();
    let tokens = Ragged::from_rows(some.map(|i| &sentences[i]))?;
    let encoder = Weights::new(&device).encoder::<T>(layers)?;
    let program = encoder.program(&device);
    let plan = program.plan(&[tokens.layout(), tokens.layout()])?;
    let places = device.upload(&places(tokens.layout())?)?;
    let run = plan.run(&[&device.upload(&tokens)?, &places])?;
    let expected = run.get::<f32>(0)?.download_blocking()?;
    for (row, sentence) in some.into_iter().enumerate() {
        let both = got.row(sentence).iter().zip(expected.row(row));
        let mut off = both.map(|(got, expected)| (got, expected, (got - expected).abs()));
        if let Some((got, expected, _)) = off.find(|(.., off)| off.is_nan() || *off > slack) {
            return Ok(Err(format!(
                "sentence {sentence}: {got} instead of {expected}"
            )));
        }
    }
    Ok(Ok(format!("three sentences within {slack} of the CPU's")))
}

/// Makes random weights, the same on every device.
pub struct Weights<'a> {
    device: &'a Device,
    seed: u64,
}

impl Weights<'_> {
    pub fn new(device: &Device) -> Weights<'_> {
        Weights { device, seed: 86 }
    }

    /// Values of this mean and at most so far from it.
    fn tensor<T: Float>(&mut self, shape: &[usize], mean: f32, most: f32) -> Result<Tensor<T>> {
        self.seed += 1;
        let layout = Layout::from_shapes(shape.len(), [Shape::new(shape)?])?;
        let random = self.device.upload(&Ragged::random(&layout, self.seed)?)?;
        random.scale(most)?.add_scalar(mean)?.to::<T>()
    }

    /// A layer that keeps the size of values.
    fn linear<T: Float>(&mut self, [outputs, inputs]: [usize; 2]) -> Result<Linear<T>> {
        Ok(Linear {
            weight: self.tensor(&[outputs, inputs], 0.0, (3.0 / inputs as f32).sqrt())?,
            bias: self.tensor(&[outputs], 0.0, 0.1)?,
        })
    }

    fn norm<T: Float>(&mut self) -> Result<Norm<T>> {
        Ok(Norm {
            scale: self.tensor(&[HIDDEN], 1.0, 0.1)?,
            shift: self.tensor(&[HIDDEN], 0.0, 0.1)?,
            epsilon: 1e-12,
        })
    }

    pub fn encoder<T: Float>(mut self, layers: usize) -> Result<Encoder<T>> {
        let layers = (0..layers).map(|_| {
            Ok(Layer {
                query: self.linear([HIDDEN; 2])?,
                key: self.linear([HIDDEN; 2])?,
                value: self.linear([HIDDEN; 2])?,
                attended: self.linear([HIDDEN; 2])?,
                attended_norm: self.norm()?,
                wide: self.linear([WIDE, HIDDEN])?,
                narrow: self.linear([HIDDEN, WIDE])?,
                norm: self.norm()?,
            })
        });
        Ok(Encoder {
            layers: layers.collect::<Result<_>>()?,
            words: self.tensor(&[VOCABULARY, HIDDEN], 0.0, 1.0)?,
            positions: self.tensor(&[POSITIONS, HIDDEN], 0.0, 1.0)?,
            norm: self.norm()?,
            heads: HEADS,
        })
    }
}
