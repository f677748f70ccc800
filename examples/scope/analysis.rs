//! A spectrogram whose resolution follows the ear: each row of the picture has a window of about 60 periods of its
//! frequency, long for low tones and short for high ones.
//!
//! The windows of a column are one ragged batch, of sixteen lengths at 48 kHz, and all windows of a frame are
//! transformed by one call. Everything from the samples to the picture is one recorded program, which keeps both on the
//! device.

use vsla::program::{Plan, Program};
use vsla::{Device, Indices, Layout, Pairing, Ragged, Result, Tensor};

/// Columns and rows of the picture, which begins with its oldest column, and each column with its lowest frequency.
pub const COLUMNS: usize = 960;
pub const ROWS: usize = 600;

/// The lowest frequency, and the highest one unless the sample rate is too low for it, in Hz.
const LOWEST: f64 = 40.0;
const HIGHEST: f64 = 16_000.0;
/// Columns of one second, if the sample rate is a multiple.
const COLUMNS_A_SECOND: f64 = 192.0;
/// Periods of a row's frequency in its window, and the limits of the window in seconds.
const PERIODS: f64 = 60.0;
const SHORTEST: f64 = 0.0053;
const LONGEST: f64 = 0.171;
/// The most columns of one run.
const MOST: usize = 8;
/// The least power, −100 dB: that of silence.
const LEAST: f32 = 1e-10;

/// What each row of the picture is computed from.
#[derive(Clone)]
pub struct Rows {
    rate: u32,
    /// Samples from one column to the next.
    pub hop: usize,
    /// Windows of a column, longest first, and for each row that it serves, the position of the row's frequency in its
    /// spectrum.
    windows: Vec<(usize, Vec<f64>)>,
}

impl Rows {
    pub fn new(rate: u32) -> Rows {
        let hz = f64::from(rate);
        let mut rows = Rows {
            rate,
            hop: (hz / COLUMNS_A_SECOND).round() as usize,
            windows: Vec::new(),
        };
        for row in 0..ROWS {
            let frequency = rows.frequency(row as f64 + 0.5);
            let size = near((PERIODS / frequency).clamp(SHORTEST, LONGEST) * hz);
            if rows.windows.last().is_none_or(|window| window.0 != size) {
                rows.windows.push((size, Vec::new()));
            }
            if let Some((_, places)) = rows.windows.last_mut() {
                places.push(frequency * size as f64 / hz);
            }
        }
        rows
    }

    /// The lowest and the highest frequency of the picture, in Hz.
    pub fn range(&self) -> [f64; 2] {
        [LOWEST, HIGHEST.min(0.45 * f64::from(self.rate))]
    }

    /// The frequency at a height in the picture, in rows.
    fn frequency(&self, row: f64) -> f64 {
        let [low, high] = self.range();
        low * (high / low).powf(row / ROWS as f64)
    }

    /// Seconds that the picture shows.
    pub fn seconds(&self) -> f64 {
        (COLUMNS * self.hop) as f64 / f64::from(self.rate)
    }

    fn longest(&self) -> usize {
        self.windows
            .iter()
            .map(|window| window.0)
            .max()
            .unwrap_or(0)
    }

    /// Samples that the windows of one run may reach.
    fn reach(&self) -> usize {
        self.longest() + (MOST - 1) * self.hop
    }

    /// One element for each window of the given number of columns.
    fn each<T>(
        &self,
        columns: usize,
        element: impl Fn(usize, usize, &[f64]) -> Vec<T>,
    ) -> Vec<Vec<T>> {
        let column = |column| {
            let windows = self.windows.iter();
            windows.map(move |(size, places)| (column, *size, places))
        };
        let all = (0..columns).flat_map(column);
        all.map(|(column, size, places)| element(column, size, places))
            .collect()
    }

    /// The samples of each window, by their positions in the signal. The windows of a column share their centre, and
    /// the longest one of the last column ends at the newest sample.
    fn samples(&self, columns: usize) -> Result<Indices> {
        let all = self.each(columns, |column, size, _| {
            let centre = self.reach() - self.longest() / 2 - (columns - 1 - column) * self.hop;
            let begin = (centre - size / 2) as u32;
            (begin..begin + size as u32).collect()
        });
        Indices::new(Ragged::from_rows(all)?)
    }

    /// Hann windows, scaled so that the spectrum of a sine shows its amplitude.
    fn weights(&self, columns: usize) -> Result<Ragged<f32>> {
        Ragged::from_rows(self.each(columns, |_, size, _| {
            let weight = |i| {
                let sine = (std::f64::consts::PI * i as f64 / size as f64).sin();
                (4.0 / size as f64 * sine * sine) as f32
            };
            (0..size).map(weight).collect()
        }))
    }

    /// The frequencies of each spectrum that are next to a row: below it, or above it.
    fn neighbours(&self, columns: usize, above: u32) -> Result<Indices> {
        let all = self.each(columns, |_, _, places| {
            let neighbour = |place: &f64| *place as u32 + above;
            places.iter().map(neighbour).collect()
        });
        Indices::new(Ragged::from_rows(all)?)
    }

    /// How far each row is from the frequency below it to that above it.
    fn shares(&self, columns: usize) -> Result<Ragged<f32>> {
        Ragged::from_rows(self.each(columns, |_, _, places| {
            places.iter().map(|place| place.fract() as f32).collect()
        }))
    }
}

/// The nearest length of the form 4, 5 or 6 times a power of two, which transforms are fastest for.
fn near(size: f64) -> usize {
    let lengths = (2..20).flat_map(|power| [4usize, 5, 6].map(|factor| factor << power));
    let distance = |length: &usize| (*length as f64 / size).ln().abs();
    let nearest = lengths.min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or(1)
}

/// A signal and its picture, on a device.
pub struct Analysis {
    pub rows: Rows,
    device: Device,
    program: Program,
    /// The plan for 1 column, for 2 columns, …
    plans: [Option<Plan>; MOST],
    /// Samples that do not fill a column yet.
    pending: Vec<f32>,
    signal: Tensor<f32>,
    picture: Tensor<f32>,
}

impl Analysis {
    /// Begins with silence.
    pub fn new(device: &Device, rate: u32) -> Result<Analysis> {
        let rows = Rows::new(rate);
        let layout = Layout::from_lengths([ROWS; COLUMNS])?;
        Ok(Analysis {
            program: program(device, rows.clone()),
            plans: [const { None }; MOST],
            pending: Vec::new(),
            signal: device.full(&Layout::from_lengths([rows.reach()])?, 0.0)?,
            picture: device.full(&layout, 10.0 * LEAST.log10())?,
            device: device.clone(),
            rows,
        })
    }

    /// The level of each row in dB, one element for each column. A sine of amplitude 1 has 0 dB.
    pub fn picture(&self) -> &Tensor<f32> {
        &self.picture
    }

    /// Appends samples. The picture moves by as many columns as they fill.
    pub fn push(&mut self, samples: &[f32]) -> Result<()> {
        self.pending.extend_from_slice(samples);
        while self.pending.len() >= self.rows.hop {
            let columns = (self.pending.len() / self.rows.hop).min(MOST);
            let samples = self.pending.drain(..columns * self.rows.hop);
            let samples = Ragged::from_rows([samples.collect::<Vec<f32>>()])?;
            self.advance(columns, &samples)?;
        }
        Ok(())
    }

    /// Moves the picture by some columns. Nothing waits.
    fn advance(&mut self, columns: usize, samples: &Ragged<f32>) -> Result<()> {
        let samples = self.device.upload(samples)?;
        let plan = match &mut self.plans[columns - 1] {
            Some(plan) => plan,
            none => {
                let inputs = [&self.signal, &samples, &self.picture].map(Tensor::layout);
                none.insert(self.program.plan(&inputs)?)
            }
        };
        let next = plan.run(&[&self.signal, &samples, &self.picture])?;
        (self.signal, self.picture) = (next.get(0)?, next.get(1)?);
        Ok(())
    }
}

/// From a signal, new samples and a picture to the next signal and picture.
fn program(device: &Device, rows: Rows) -> Program {
    Program::new(device, move |r| {
        let device = r.device().clone();
        let [signal, samples, picture]: [Tensor<f32>; 3] = [r.input()?, r.input()?, r.input()?];
        let (new, reach) = (samples.layout().total(), rows.reach() as i64);
        let columns = new / rows.hop;
        let signal = signal.concat(&samples, 0)?;
        let signal = signal.slice(&[new as i64], &[new as i64 + reach])?;

        let windows = signal.gather_paired(&rows.samples(columns)?, Pairing::OneToAll)?;
        let windows = windows.hadamard(&device.upload(&rows.weights(columns)?)?)?;
        let power = windows.rfft()?.abs_squared()?;

        let below = power.gather(&rows.neighbours(columns, 0)?)?;
        let above = power.gather(&rows.neighbours(columns, 1)?)?;
        let share = device.upload(&rows.shares(columns)?)?;
        let power = above.sub(&below)?.mul_add(&share, &below)?;
        let decibels = 10.0 / std::f32::consts::LN_10;
        let level = power.clamp(LEAST, f32::MAX)?.log()?.scale(decibels)?;

        // The parts of a column are next to each other.
        let level = level.packed()?;
        let level = level.unpacked(&Layout::from_lengths(vec![ROWS; columns])?)?;
        let kept = picture.elements(columns..COLUMNS)?;
        r.output(&signal)?;
        r.output(&kept.join(&[&level])?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    fn after(samples: &[&[f32]]) -> Ragged<f32> {
        let mut analysis = Analysis::new(&Device::cpu(), RATE).unwrap();
        samples.iter().for_each(|part| analysis.push(part).unwrap());
        analysis.picture().download_blocking().unwrap()
    }

    fn sine(hz: f64, amplitude: f64, count: usize) -> Vec<f32> {
        let step = std::f64::consts::TAU * hz / f64::from(RATE);
        let value = |i| (amplitude * (step * i as f64).sin()) as f32;
        (0..count).map(value).collect()
    }

    #[test]
    fn windows_follow_the_frequency() {
        let rows = Rows::new(RATE);
        let lengths: Vec<usize> = rows.windows.iter().map(|window| window.0).collect();
        assert!(
            lengths.len() > 12 && lengths.is_sorted_by(|a, b| a > b),
            "{lengths:?}"
        );
        assert_eq!([lengths[0], lengths[lengths.len() - 1]], [8192, 256]);
        let served = rows.windows.iter().map(|window| window.1.len());
        assert_eq!(served.sum::<usize>(), ROWS);
        // Every row lies between two frequencies of its spectrum, also at the lowest and the highest rate.
        for rate in [8_000, 11_025, 44_100, 192_000] {
            for (size, places) in Rows::new(rate).windows {
                let inside = |place: &f64| *place >= 1.0 && *place + 1.0 <= (size / 2) as f64;
                assert!(places.iter().all(inside), "{rate}: {size}");
            }
        }
    }

    /// A sine has its amplitude in the row of its frequency, in every column, and little elsewhere.
    #[test]
    fn a_sine_is_one_line() {
        for (hz, amplitude) in [(61.0, 0.5), (440.0, 1.0), (3_000.0, 0.1), (15_000.0, 0.25)] {
            let picture = after(&[&sine(hz, amplitude, 20_000)]);
            let rows = Rows::new(RATE);
            for column in [COLUMNS - 40, COLUMNS - 1] {
                let levels = picture.row(column);
                let loudest = (0..ROWS).max_by(|&a, &b| levels[a].total_cmp(&levels[b]));
                let loudest = loudest.unwrap();
                let found = rows.frequency(loudest as f64 + 0.5);
                // The nearest frequency of the spectrum, or one of the rows around it.
                let window = near((PERIODS / hz).clamp(SHORTEST, LONGEST) * f64::from(RATE));
                let apart = 0.5 * f64::from(RATE) / window as f64 + 0.01 * hz;
                assert!((found - hz).abs() <= apart, "{hz}: {found}");
                let decibels = 20.0 * (amplitude as f32).log10();
                let off = levels[loudest] - decibels;
                assert!((-1.5..0.1).contains(&off), "{hz}: {off} dB");
                let away = (0..ROWS).filter(|row| row.abs_diff(loudest) > 150);
                let away = away.map(|row| levels[row]).fold(f32::MIN, f32::max);
                assert!(away < decibels - 55.0, "{hz}: {away} dB");
            }
        }
    }

    /// However samples arrive, a column is computed from the same samples.
    #[test]
    fn blocks_do_not_matter() {
        let mut rng = fastrand::Rng::with_seed(1);
        let noise: Vec<f32> = (0..9_000).map(|_| rng.f32() - 0.5).collect();
        let whole = after(&[&noise]);
        let parts = after(&[
            &noise[..249],
            &noise[249..250],
            &[],
            &noise[250..3_200],
            &noise[3_200..],
        ]);
        assert_eq!(whole, parts);
        // 36 hops, and silence before them.
        let floor = 10.0 * LEAST.log10();
        let is_silent = |column: usize| whole.row(column).iter().all(|&level| level == floor);
        assert!(is_silent(0) && !is_silent(COLUMNS - 1));
    }

    /// A click is as wide as its window, so that it is narrow at the top, and its middle has one place at all heights.
    #[test]
    fn windows_share_their_centre() {
        let mut click = vec![0.0; 24_000];
        click[12_000] = 1.0;
        let picture = after(&[&click]);
        let loud = |row: usize| {
            let heard = (0..COLUMNS).filter(|&column| picture.row(column)[row] > -99.0);
            let heard: Vec<usize> = heard.collect();
            (
                heard.len(),
                (heard[0] + heard[heard.len() - 1]) as f64 / 2.0,
            )
        };
        let ((low, middle), (high, other)) = (loud(0), loud(ROWS - 1));
        assert!(low > 20 && high < 3, "{low}, {high}");
        assert!((middle - other).abs() <= 1.0, "{middle}, {other}");
    }
}
