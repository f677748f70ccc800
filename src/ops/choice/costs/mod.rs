//! The cost of convolutions on a device: a table of a few numbers, built in for each class of device, or measured.

use std::fmt;
use std::time::Duration;

use super::method::Choice;
use super::window::results;

mod text;

/// Results per invocation of the GPU's direct kernel: `R` of shaders/conv/direct.wgsl.
const STRIP: u64 = 7;

/// The largest number of results of a pair that a GPU convolves directly in the same kernel as the transforms.
pub(crate) const FEW_RESULTS: u64 = 16;

/// The largest number of blocks of a pair when both operands are split: a work list of half a gigabyte.
const MOST_BLOCKS: u64 = 1 << 24;

/// log2 of the longest FFT with a cost.
const LARGEST: u32 = 31;

/// The kind of device that a table describes: it determines the supported transforms, and how work is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    Cpu,
    /// A GPU interface that computes on the CPU.
    Software,
    Gpu,
}

impl Engine {
    const ALL: [Engine; 3] = [Engine::Cpu, Engine::Software, Engine::Gpu];

    fn name(self) -> &'static str {
        match self {
            Engine::Cpu => "cpu",
            Engine::Software => "software",
            Engine::Gpu => "gpu",
        }
    }

    /// log2 of the shortest and of the longest length that it can transform.
    fn reach(self) -> (u32, u32) {
        match self {
            Engine::Cpu => (3, LARGEST),
            // The lengths of the kernel `conv_fused`, and above them those of `fft_pass`.
            Engine::Software | Engine::Gpu => (6, 23),
        }
    }

    /// log2 of the longest transform of a block: on a GPU, the longest that `conv_fused` supports.
    fn longest_block(self) -> u32 {
        match self {
            Engine::Cpu => LARGEST,
            Engine::Software | Engine::Gpu => 13,
        }
    }

    /// Whether the device can transform a length between powers of two.
    fn transforms(self, length: u64) -> bool {
        if self != Engine::Cpu {
            return length.is_power_of_two();
        }
        // A factor of 25 costs a third more per value, and odd lengths cost twice as much.
        let mut rest = length >> length.trailing_zeros();
        while rest.is_multiple_of(3) {
            rest /= 3;
        }
        length.is_multiple_of(4) && (rest == 1 || rest == 5)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The costs of convolutions on a device, in nanoseconds.
///
/// [`ConvMethod::Auto`](crate::conv::ConvMethod::Auto) chooses methods by these costs, and predictions are computed
/// from them. Each [`Device`](crate::Device) has a table that is built in for its class;
/// [`calibrate_conv`](crate::Device::calibrate_conv) measures another one, for use with
/// [`with_costs`](crate::Device::with_costs). The choice of a method is a pure function of a pair's lengths and this
/// table, so results do not depend on timing. A table is printed and parsed as one line of text:
///
/// ```
/// use vsla::conv::CostTable;
///
/// let table = CostTable::cpu();
/// assert_eq!(table.to_string().parse::<CostTable>()?, table);
/// let direct_only: CostTable = "cpu workers=4 launch=5000 item=50 multiply_add=0.05 result=0.5 fft=".parse()?;
/// assert!("cpu workers=4".parse::<CostTable>().is_err());
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// There are at most 2²⁰ workers, and costs range from 0 to 10¹⁸.
///
/// | number | meaning |
/// | --- | --- |
/// | `workers` | parallel workers; the costs are those of one. 1 for a GPU, whose costs are those of the full device |
/// | `launch` | cost of a call |
/// | `item` | cost of a pair by the direct method, whatever its lengths |
/// | `multiply_add` | cost of one multiply-add of the direct method |
/// | `result` | cost of one value that the direct method writes |
/// | `fft` | `k:c`: cost per value of a convolution (three FFTs, one product) at length 2ᵏ; interpolated in between |
#[derive(Clone, PartialEq, Debug)]
pub struct CostTable {
    engine: Engine,
    numbers: Costs,
    /// Each supported transform length, in increasing order, with the cost of a convolution by it.
    lengths: Vec<(u32, f64)>,
    /// For each k, the index in `lengths` of the first length that is at least 2ᵏ.
    from: [u16; LARGEST as usize + 2],
    longest_block: u32,
    key: u64,
}

/// The numbers of a table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Costs {
    pub workers: usize,
    pub launch: f64,
    pub item: f64,
    pub multiply_add: f64,
    pub result: f64,
    /// Powers of two, in increasing order, and the cost per value.
    pub fft: Vec<(u32, f64)>,
}

impl CostTable {
    /// Returns the built-in table of the CPU device, for one worker.
    pub fn cpu() -> CostTable {
        // One core of an AMD EPYC (Zen 3) with AVX.
        let fft = [
            (3, 11.0),
            (4, 7.5),
            (5, 5.4),
            (6, 4.2),
            (8, 3.5),
            (10, 3.85),
            (12, 4.2),
            (14, 4.8),
            (16, 5.6),
            (18, 6.4),
            (20, 8.2),
        ];
        CostTable::of(
            Engine::Cpu,
            Costs {
                workers: 1,
                launch: 2_000.0,
                item: 36.0,
                multiply_add: 0.069,
                result: 0.73,
                fft: fft.to_vec(),
            },
        )
    }

    /// Returns the built-in table of a GPU.
    pub fn gpu() -> CostTable {
        // An NVIDIA H100. Half of the cost of an item is its share of the dispatch that only direct pairs need.
        let fft = [
            (6, 0.0060),
            (7, 0.0040),
            (8, 0.0043),
            (9, 0.0043),
            (10, 0.0042),
            (11, 0.0049),
            (12, 0.0047),
            (13, 0.0054),
            (14, 0.027),
            (16, 0.029),
            (18, 0.031),
            (20, 0.035),
            (23, 0.038),
        ];
        CostTable::of(
            Engine::Gpu,
            Costs {
                workers: 1,
                launch: 3_000.0,
                item: 0.3,
                multiply_add: 0.000_115,
                result: 0.004,
                fft: fft.to_vec(),
            },
        )
    }

    /// Returns the built-in table of a GPU interface that computes on the CPU.
    pub fn software_gpu() -> CostTable {
        // llvmpipe on four cores.
        let fft = [
            (7, 100.0),
            (8, 110.0),
            (9, 110.0),
            (10, 120.0),
            (11, 140.0),
            (12, 90.0),
            (13, 55.0),
            (14, 200.0),
            (23, 200.0),
        ];
        CostTable::of(
            Engine::Software,
            Costs {
                workers: 1,
                launch: 400_000.0,
                item: 10_000.0,
                multiply_add: 0.66,
                result: 21.0,
                fft: fft.to_vec(),
            },
        )
    }

    /// The table of these numbers, which must be valid.
    pub(crate) fn of(engine: Engine, numbers: Costs) -> CostTable {
        let mut lengths = Vec::new();
        if let (Some(&(first, _)), Some(&(last, _))) = (numbers.fft.first(), numbers.fft.last()) {
            let (least, most) = engine.reach();
            // On the CPU, the cost per value of the last entry also applies to longer transforms.
            let most = if engine == Engine::Cpu { most } else { last };
            for k in first.max(least)..=most {
                lengths.push(1u64 << k);
                // 2ᵃ·3ᵇ and 2ᵃ·3ᵇ·5 between this power of two and the next.
                let next = 2u64 << k;
                let odd = [1u64, 5].into_iter().flat_map(|five| {
                    std::iter::successors(Some(five), |odd| odd.checked_mul(3))
                        .take_while(move |odd| *odd < next)
                });
                let between = odd.map(|odd| odd << (k - odd.ilog2()));
                lengths.extend(between.filter(|&length| {
                    !length.is_power_of_two() && engine.transforms(length) && k < most
                }));
            }
        }
        lengths.sort_unstable();
        let mut from = [0; LARGEST as usize + 2];
        for (k, place) in from.iter_mut().enumerate() {
            *place = lengths.partition_point(|&length| length < 1 << k) as u16;
        }
        let lengths: Vec<_> = lengths
            .into_iter()
            .map(|length| {
                (
                    length as u32,
                    length as f64 * per_value(&numbers.fft, length),
                )
            })
            .collect();
        let key = key(engine, &numbers);
        let blocks = |&&(length, _): &&(u32, f64)| u64::from(length) <= 1 << engine.longest_block();
        let longest_block = lengths
            .iter()
            .take_while(blocks)
            .last()
            .map_or(0, |last| last.0);
        CostTable {
            engine,
            numbers,
            lengths,
            from,
            longest_block,
            key,
        }
    }

    /// The same costs with a different number of workers.
    pub(crate) fn with_workers(mut self, workers: usize) -> CostTable {
        self.numbers.workers = workers.max(1);
        self
    }

    /// Whether it is the table of a CPU device.
    pub(crate) fn is_cpu(&self) -> bool {
        self.engine == Engine::Cpu
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    pub(crate) fn numbers(&self) -> &Costs {
        &self.numbers
    }

    /// A 64-bit hash of everything that choices depend on: tables with equal keys make the same choices, barring
    /// collisions.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// The longest transform; 0 if there is none.
    pub(crate) fn longest(&self) -> usize {
        self.lengths
            .last()
            .map_or(0, |&(length, _)| length as usize)
    }

    /// The lengths of all transforms, in increasing order.
    pub(crate) fn transforms(&self) -> impl Iterator<Item = u32> + '_ {
        self.lengths.iter().map(|&(length, _)| length)
    }

    /// The index in [`transforms`](Self::transforms) of this length.
    pub(crate) fn place(&self, length: u32) -> usize {
        let first = usize::from(self.from[length.ilog2() as usize]);
        let at = self.lengths[first..].iter().position(|l| l.0 == length);
        first + at.unwrap_or_default()
    }

    /// The longest transform of blocks; 0 if there is none.
    pub(crate) fn longest_block(&self) -> u32 {
        self.longest_block
    }

    /// The shortest transform of `need` values or more, and the cost of a convolution by it.
    pub(crate) fn transform(&self, need: u64) -> Option<(u32, f64)> {
        if need > 1 << LARGEST {
            return None;
        }
        let k = need.max(1).ilog2() as usize;
        let bucket = &self.lengths[self.from[k].into()..];
        let place = bucket
            .iter()
            .position(|&(length, _)| u64::from(length) >= need)?;
        let (length, cost) = bucket[place];
        Some((length, cost))
    }

    /// The transforms to consider for blocks with this many taps, all powers of two, and the cost of a convolution by
    /// each: those longer than the taps, or the longest one.
    pub(crate) fn blocks(&self, taps: u64) -> impl Iterator<Item = (u32, f64)> + '_ {
        let first = (taps.min(u64::from(self.longest_block()) / 2) + 1)
            .next_power_of_two()
            .ilog2();
        (first..=self.engine.longest_block()).filter_map(|k| {
            let &(length, cost) = self.lengths.get(usize::from(self.from[k as usize]))?;
            (length == 1 << k).then_some((length, cost))
        })
    }

    /// Results and multiply-adds of the direct method, including those on zeros. On a GPU, short pairs cost only
    /// their item.
    pub(crate) fn direct_work(&self, m: u64, n: u64) -> (f64, f64) {
        let results = match (self.engine, results(m, n)) {
            (Engine::Cpu, results) => results,
            (Engine::Software | Engine::Gpu, ..=FEW_RESULTS) => 0,
            (Engine::Software | Engine::Gpu, results) => results.next_multiple_of(STRIP),
        };
        // The product may overflow 64 bits.
        (results as f64, results as f64 * m.min(n) as f64)
    }

    /// The cost of the direct method.
    pub(crate) fn direct(&self, m: u64, n: u64) -> f64 {
        let (results, multiply_adds) = self.direct_work(m, n);
        let Costs {
            item,
            result,
            multiply_add,
            ..
        } = self.numbers;
        item + results * result + multiply_adds * multiply_add
    }

    /// Whether overlap-save of m and n values by transforms of this length splits both operands into blocks: on a GPU,
    /// where the shorter operand fills more than three quarters of the longest block transform.
    pub(crate) fn splits(&self, m: u64, n: u64, length: u32) -> bool {
        let longest = !self.is_cpu() && length == self.longest_block();
        longest && m.min(n).saturating_mul(4) > u64::from(length) * 3
    }

    /// The blocks of overlap-save of m and n values by transforms of this length: the number of blocks of the shorter
    /// operand, and of convolutions for each. `None` if the transforms are too short for the taps, or if there are too
    /// many blocks to list.
    fn blocks_of_save(&self, m: u64, n: u64, length: u32) -> Option<(u64, u64)> {
        let splits = self.splits(m, n, length);
        let (longer, taps, length) = (m.max(n), m.min(n), u64::from(length));
        if splits {
            let half = length / 2;
            let dispatches = taps.div_ceil(half);
            let blocks = longer.saturating_add(half - 1).div_ceil(half + 1);
            return (dispatches.saturating_mul(blocks) <= MOST_BLOCKS)
                .then_some((dispatches, blocks));
        }
        let step = length.checked_sub(taps.saturating_sub(1));
        let step = step.filter(|step| *step > 0)?;
        Some((1, results(longer, taps).div_ceil(step)))
    }

    /// The cost of overlap-save of m and n values by transforms of this length, where one convolution costs `cost`.
    pub(crate) fn save(&self, m: u64, n: u64, length: u32, cost: f64) -> Option<f64> {
        let (dispatches, blocks) = self.blocks_of_save(m, n, length)?;
        let (dispatches, blocks) = (dispatches as f64, blocks as f64);
        if self.splits(m, n, length) {
            return Some(dispatches * (blocks * cost + self.numbers.launch));
        }
        Some(match self.engine {
            // The taps are transformed only once.
            Engine::Cpu => cost / 3.0 + blocks * cost * (2.0 / 3.0),
            Engine::Software | Engine::Gpu => blocks * cost,
        })
    }

    /// The multiply-adds of a choice for m and n values: m·n for the direct method, or 7½ L log₂ L for each convolution
    /// by transforms of length L. Saturates.
    pub(crate) fn work(&self, m: u64, n: u64, choice: Choice) -> u64 {
        let transforms = |length: u32| 3 * transform_work(length.into());
        match choice {
            Choice::Direct => m.saturating_mul(n),
            Choice::Fft { length } => transforms(length),
            Choice::OverlapSave { length } => {
                let (dispatches, blocks) = self.blocks_of_save(m, n, length).unwrap_or((1, 1));
                dispatches
                    .saturating_mul(blocks)
                    .saturating_mul(transforms(length))
            }
        }
    }
}

/// The multiply-adds of a transform of L real values, below 2⁴⁸: 2½ L log₂ L.
pub(crate) fn transform_work(length: u64) -> u64 {
    5 * length * u64::from(length.max(2).ilog2()) / 2
}

/// A duration in nanoseconds; out of range or NaN becomes the longest [`Duration`].
pub(crate) fn duration(nanoseconds: f64) -> Duration {
    Duration::try_from_secs_f64(nanoseconds * 1e-9).unwrap_or(Duration::MAX)
}

/// The cost per value: interpolated between the listed powers of two, and that of the nearest one outside them.
fn per_value(fft: &[(u32, f64)], length: u64) -> f64 {
    let k = (length as f64).log2();
    let above = fft.partition_point(|&(listed, _)| f64::from(listed) < k);
    match (above.checked_sub(1).map(|i| fft[i]), fft.get(above)) {
        (None, None) => 0.0,
        (Some((_, cost)), None) | (None, Some(&(_, cost))) => cost,
        (Some((low, below)), Some(&(high, above))) => {
            let part = (k - f64::from(low)) / f64::from(high - low);
            below + (above - below) * part
        }
    }
}

/// The FNV-1a hash of everything that a choice depends on.
fn key(engine: Engine, numbers: &Costs) -> u64 {
    let Costs {
        item,
        multiply_add,
        result,
        ref fft,
        workers: _,
        launch: _,
    } = *numbers;
    let fft = fft
        .iter()
        .flat_map(|&(k, cost)| [u64::from(k), cost.to_bits()]);
    [
        engine as u64,
        item.to_bits(),
        multiply_add.to_bits(),
        result.to_bits(),
    ]
    .into_iter()
    .chain(fft)
    .flat_map(u64::to_le_bytes)
    .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn costs_rise_with_the_length() {
        let table = CostTable::cpu();
        let mut before = 0.0;
        for &(length, cost) in &table.lengths {
            assert!(cost >= 0.9 * before, "{length}: {cost} after {before}");
            before = cost;
        }
        assert_eq!(table.longest(), 1 << 31);
        assert!(table.lengths.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
