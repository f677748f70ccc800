//! The lengths that rows compute on: random ones, and those of published data.

use vsla::{Layout, Result, Shape};

/// Lengths from 1 to `most`, whose probability is proportional to their power of −`s`.
pub struct Zipf {
    rng: fastrand::Rng,
    cumulated: Vec<f64>,
}

impl Zipf {
    pub fn new(seed: u64, s: f64, most: usize) -> Zipf {
        let mut sum = 0.0;
        let cumulated = (1..=most).map(|length| {
            sum += (length as f64).powf(-s);
            sum
        });
        Zipf {
            rng: fastrand::Rng::with_seed(seed),
            cumulated: cumulated.collect(),
        }
    }

    pub fn draw(&mut self) -> usize {
        let most = self.cumulated.len();
        let at = self.rng.f64() * self.cumulated[most - 1];
        (self.cumulated.partition_point(|sum| *sum <= at) + 1).min(most)
    }
}

/// Draws lengths until they add up to at least `total`.
pub fn until(total: usize, mut draw: impl FnMut() -> usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut sum = 0;
    while sum < total {
        let length = draw();
        sum += length;
        lengths.push(length);
    }
    lengths
}

pub const MIXED: [usize; 5] = [8, 15, 142, 7, 456];
pub const FAR_APART: [usize; 5] = [2, 3, 1000, 5, 2000];
pub const ATTENTION: [usize; 5] = [32, 64, 128, 256, 512];
pub const SENSORS: [usize; 5] = [8, 16, 32, 128, 256];

/// From 4 to 4,095, every octave as probable as any other.
pub fn log_uniform(seed: u64, elements: usize) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let draw = |_| (4.0 * 1024f64.powf(rng.f64())) as usize;
    (0..elements).map(draw).collect()
}

/// Drawn from a range.
pub fn uniform(seed: u64, elements: usize, range: std::ops::RangeInclusive<usize>) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..elements).map(|_| rng.usize(range.clone())).collect()
}

/// The tokens of the encoder's sentences, in random order.
pub fn news() -> Vec<usize> {
    let mut all = counted(include_str!("../sentences.txt"));
    fastrand::Rng::with_seed(84).shuffle(&mut all);
    all
}

/// The words of each sentence of a novel.
pub fn sentences() -> Vec<usize> {
    let text = include_str!("../../examples/data/alice.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().count()).collect()
}

/// The samples of each recording of an accelerometer.
pub fn gestures() -> Vec<usize> {
    let train = include_str!("../../examples/data/PickupGestureWiimoteZ_TRAIN.ts");
    let test = include_str!("../../examples/data/PickupGestureWiimoteZ_TEST.ts");
    series(train).chain(series(test)).collect()
}

/// The frames of each recording of a vowel.
pub fn vowels() -> Vec<usize> {
    let train = include_str!("../../examples/data/JapaneseVowels_TRAIN.ts");
    let test = include_str!("../../examples/data/JapaneseVowels_TEST.ts");
    series(train).chain(series(test)).collect()
}

/// The rows and columns of photographs.
pub fn images() -> Vec<[usize; 2]> {
    let sizes = lines(include_str!("../lengths/images.txt")).map(|line| match line[..] {
        [rows, columns, count] => vec![[rows, columns]; count],
        _ => Vec::new(),
    });
    sizes.flatten().collect()
}

/// The particles in each cell, in random order, because neighbours in the file are alike.
pub fn cells() -> Vec<usize> {
    let mut all = counted(include_str!("../lengths/cells.txt"));
    fastrand::Rng::with_seed(91).shuffle(&mut all);
    all
}

/// The numbers in each line that is no comment.
fn lines(text: &str) -> impl Iterator<Item = Vec<usize>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        line.split(' ')
            .filter_map(|word| word.parse().ok())
            .collect()
    })
}

/// Lines of a length and how often it occurs.
fn counted(text: &str) -> Vec<usize> {
    let lengths = lines(text).map(|line| match line[..] {
        [length, count] => vec![length; count],
        _ => Vec::new(),
    });
    lengths.flatten().collect()
}

/// The number of samples of each series of a `.ts` file: values between commas, up to the colon that ends a channel.
fn series(text: &str) -> impl Iterator<Item = usize> {
    let data = text.lines().skip_while(|line| !line.starts_with("@data"));
    let lines = data.skip(1).filter(|line| !line.is_empty());
    lines.map(|line| {
        line.split(':')
            .next()
            .unwrap_or_default()
            .split(',')
            .count()
    })
}

/// Lengths that rows compute on.
pub struct Set {
    pub name: &'static str,
    /// What they are.
    pub about: &'static str,
    /// Where they were published; `None` for lengths that were chosen or drawn here.
    pub source: Option<&'static str>,
    /// How the names of rows begin that use them.
    pub rows: &'static [&'static str],
    layout: fn() -> Result<Layout>,
}

impl Set {
    pub fn layout(&self) -> Result<Layout> {
        (self.layout)()
    }
}

/// The published ones first.
pub const SETS: [Set; 13] = [
    Set {
        name: "sentences of a novel",
        about: "Words of each sentence",
        source: Some(
            "Lewis Carroll, Alice's Adventures in Wonderland (1865), the first chapters; Project Gutenberg's edition, in \
             the public domain",
        ),
        rows: &["attention/alice"],
        layout: || Layout::from_lengths(sentences()),
    },
    Set {
        name: "recordings of an accelerometer",
        about: "Samples of each gesture",
        source: Some(
            "PickupGestureWiimoteZ, from J. Guna, I. Humar, M. Pogačnik, Intuitive gesture based user identification \
             system, TSP 2012; in the UCR archive: H. A. Dau et al., IEEE/CAA Journal of Automatica Sinica 6 (2019) 1293",
        ),
        rows: &["conv/gestures", "correlate_max/", "sbd/"],
        layout: || Layout::from_lengths(gestures()),
    },
    Set {
        name: "recordings of vowels",
        about: "Frames of each recording, of twelve coefficients",
        source: Some(
            "Japanese Vowels, from M. Kudo, J. Toyama, M. Shimbo, Multidimensional curve classification using \
             passing-through regions, Pattern Recognition Letters 20 (1999) 1103; in the UEA archive: A. Bagnall et al., \
             arXiv:1811.00075",
        ),
        rows: &["conv/vowels"],
        layout: || Layout::from_lengths(vowels()),
    },
    Set {
        name: "photographs",
        about: "Pixels of each image, of rows and columns",
        source: Some(
            "D. Tran, Raccoon Detector Dataset (2017), github.com/datitran/raccoon_dataset; sizes only, under the MIT \
             licence",
        ),
        rows: &["conv/photographs"],
        layout: || {
            let shapes = images().into_iter().map(|sides| Shape::new(&sides));
            Layout::from_shapes(2, shapes.collect::<Result<Vec<_>>>()?)
        },
    },
    Set {
        name: "particles in cells",
        about: "Atoms of a protein in each cube of 8 Å of the box around it",
        source: Some(
            "Entry 1TII of the Protein Data Bank (CC0), from F. van den Akker et al., Crystal structure of a new \
             heat-labile enterotoxin, LT-IIb, Structure 4 (1996) 665",
        ),
        rows: &["matmul/cells"],
        layout: || Layout::from_lengths(cells()),
    },
    Set {
        name: "sentences of news",
        about: "Tokens of each sentence, drawn from a log-normal distribution",
        source: None,
        rows: &["attention/minilm"],
        layout: || Layout::from_lengths(news()),
    },
    Set {
        name: "short sequences",
        about: "Drawn uniformly from 2 to 64, seed 81",
        source: None,
        rows: &["attention/sentences"],
        layout: || Layout::from_lengths(uniform(81, 4096, 2..=64)),
    },
    Set {
        name: "mixed",
        about: "8, 15, 142, 7 and 456",
        source: None,
        rows: &["conv/mixed"],
        layout: || Layout::from_lengths(MIXED),
    },
    Set {
        name: "far apart",
        about: "2, 3, 1000, 5 and 2000",
        source: None,
        rows: &["conv/far-apart"],
        layout: || Layout::from_lengths(FAR_APART),
    },
    Set {
        name: "doubling",
        about: "32, 64, 128, 256 and 512",
        source: None,
        rows: &["attention/set", "conv/attention"],
        layout: || Layout::from_lengths(ATTENTION),
    },
    Set {
        name: "sensors",
        about: "8, 16, 32, 128 and 256",
        source: None,
        rows: &["conv/sensors"],
        layout: || Layout::from_lengths(SENSORS),
    },
    Set {
        name: "log-uniform",
        about: "Drawn from 4 to 4,095, every octave as probable as any other, seed 31",
        source: None,
        rows: &["conv/log-uniform", "program/conv"],
        layout: || Layout::from_lengths(log_uniform(31, 100_000)),
    },
    Set {
        name: "Zipf",
        about: "Drawn from 1 to 65,536, the probability of d falling as d to the power of −1.2, seed 1",
        source: None,
        rows: &["add/zipf", "copies/", "kron/zipf"],
        layout: || {
            let mut zipf = Zipf::new(1, 1.2, 65_536);
            Layout::from_lengths((0..100_000).map(|_| zipf.draw()))
        },
    },
];
