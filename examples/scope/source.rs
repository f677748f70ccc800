//! What the scope listens to: a synthetic duet, or a WAV file that is repeated.

use std::f64::consts::TAU;

use fastrand::Rng;

/// The sample rate of the synthetic sound.
pub const RATE: u32 = 48_000;

pub enum Source {
    Synth(Box<Synth>),
    /// The samples of a file, and the position of the next one.
    File(Vec<f32>, usize),
}

impl Source {
    pub fn synth(seed: u64) -> Source {
        Source::Synth(Box::new(Synth::new(seed)))
    }

    /// The mean of all channels, which have equal lengths.
    pub fn file(channels: &[Vec<f32>]) -> Source {
        let length = channels.first().map_or(0, Vec::len);
        let mean =
            |i| channels.iter().map(|channel| channel[i]).sum::<f32>() / channels.len() as f32;
        Source::File((0..length).map(mean).collect(), 0)
    }

    /// The next samples.
    pub fn next(&mut self, count: usize) -> Vec<f32> {
        match self {
            Source::Synth(synth) => (0..count).map(|_| synth.next()).collect(),
            Source::File(samples, at) => {
                let next = samples
                    .iter()
                    .cycle()
                    .skip(*at)
                    .take(count)
                    .copied()
                    .collect();
                *at = (*at + count) % samples.len().max(1);
                next
            }
        }
    }
}

/// Plays a bass, a voice with vibrato, a hi-hat and birds, over sweeps and faint noise.
pub struct Synth {
    rng: Rng,
    at: u64,
    tones: Vec<Tone>,
    /// The amplitude of the hi-hat's noise, and its last value.
    hat: f64,
    hiss: f64,
}

/// A tone with harmonics that glides from one frequency to another.
struct Tone {
    from: f64,
    to: f64,
    seconds: f64,
    amplitude: f64,
    /// Seconds in which the amplitude falls to 1/e.
    decay: f64,
    harmonics: u32,
    /// The depth of the vibrato, in semitones.
    vibrato: f64,
    age: f64,
    /// In periods.
    phase: f64,
}

const STEP: f64 = 1.0 / RATE as f64;
/// Eighth notes: samples from one to the next.
const EIGHTH: u64 = RATE as u64 * 3 / 16;
/// Semitones of a pentatonic scale.
const SCALE: [f64; 6] = [0.0, 3.0, 5.0, 7.0, 10.0, 12.0];

impl Synth {
    fn new(seed: u64) -> Synth {
        Synth {
            rng: Rng::with_seed(seed),
            at: 0,
            tones: Vec::new(),
            hat: 0.0,
            hiss: 0.0,
        }
    }

    fn next(&mut self) -> f32 {
        if self.at.is_multiple_of(EIGHTH) {
            self.begin(self.at / EIGHTH);
        }
        self.at += 1;
        let mut sum = 1e-4 * (self.rng.f64() - 0.5);
        let noise = self.rng.f64() - 0.5;
        // A difference is noise without its low frequencies.
        sum += self.hat * (noise - self.hiss);
        self.hiss = noise;
        self.hat *= 1.0 - STEP / 0.02;
        sum += self.tones.iter_mut().map(Tone::next).sum::<f64>();
        self.tones.retain(|tone| tone.age < tone.seconds);
        sum as f32
    }

    /// Begins the notes of an eighth.
    fn begin(&mut self, eighth: u64) {
        let semitones = |hz: f64, n: f64| hz * 2f64.powf(n / 12.0);
        let tone = |from, to, seconds, amplitude, decay, harmonics, vibrato| Tone {
            from,
            to,
            seconds,
            amplitude,
            decay,
            harmonics,
            vibrato,
            age: 0.0,
            phase: 0.0,
        };
        self.hat += if eighth % 2 == 1 { 0.15 } else { 0.04 };
        if eighth.is_multiple_of(2) {
            let note = SCALE[(eighth / 2 % 4) as usize];
            let hz = semitones(55.0, note);
            self.tones.push(tone(hz, hz, 0.5, 0.2, 0.25, 14, 0.0));
        }
        if eighth.is_multiple_of(4) {
            let note = SCALE[self.rng.usize(..SCALE.len())];
            let next = SCALE[self.rng.usize(..SCALE.len())];
            let (from, to) = (
                semitones(440.0, note),
                semitones(440.0, 0.5 * (note + next)),
            );
            self.tones.push(tone(from, to, 0.72, 0.16, 1.5, 7, 0.45));
        }
        if eighth % 8 == 3 {
            self.tones
                .push(tone(150.0, 15_000.0, 1.1, 0.04, 9.0, 1, 0.0));
        }
        if eighth % 8 > 4 {
            for _ in 0..2 {
                let (from, to) = (
                    4000.0 + 4000.0 * self.rng.f64(),
                    3000.0 + 5000.0 * self.rng.f64(),
                );
                self.tones.push(tone(from, to, 0.07, 0.05, 1.0, 1, 0.0));
            }
        }
    }
}

impl Tone {
    fn next(&mut self) -> f64 {
        let share = self.age / self.seconds;
        // The vibrato begins late, as singers let it.
        let vibrato = self.vibrato * share.min(0.4) / 0.4 * (TAU * 5.5 * self.age).sin();
        let hz = self.from * (self.to / self.from).powf(share) * 2f64.powf(vibrato / 12.0);
        // Begins and ends without a click.
        let edge = (self.age / 0.006)
            .min((self.seconds - self.age) / 0.03)
            .min(1.0);
        let amplitude = self.amplitude * edge * (-self.age / self.decay).exp();
        let harmonics = (1..=self.harmonics).map(f64::from);
        let heard = harmonics.take_while(|h| h * hz < 0.45 * f64::from(RATE));
        let sum = heard.map(|h| (TAU * h * self.phase).sin() / h).sum::<f64>();
        self.phase = (self.phase + hz * STEP).fract();
        self.age += STEP;
        amplitude * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sound_however_it_is_read() {
        let whole = Source::synth(7).next(60_000);
        let mut source = Source::synth(7);
        let parts = [1, 799, 9_200, 50_000].map(|count| source.next(count));
        assert_eq!(parts.concat(), whole);
        assert_ne!(Source::synth(8).next(60_000), whole);
        assert!(whole.iter().all(|sample| sample.abs() < 1.0));
        let rms = whole.iter().map(|x| x * x).sum::<f32>() / 60_000.0;
        assert!(rms > 1e-3, "{rms}");
    }

    #[test]
    fn files_are_mixed_and_repeated() {
        let mut source = Source::file(&[vec![1.0, 2.0, 3.0], vec![3.0, 0.0, 1.0]]);
        assert_eq!(source.next(2), [2.0, 1.0]);
        assert_eq!(source.next(6), [2.0, 2.0, 1.0, 2.0, 2.0, 1.0]);
        assert_eq!(source.next(1), [2.0]);
    }
}
