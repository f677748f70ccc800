//! The picture of a GPU is that of the CPU, and wrong arguments are refused.

use vsla::Device;

use super::*;
use crate::analysis::{COLUMNS, ROWS};
use crate::folder::Folder;
use crate::view::LEVELS;

const FRAME: Frame = Frame {
    size: [WIDTH, HEIGHT],
    scale: 1.0,
};

fn shared() -> Option<Shared> {
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    let shared = pollster::block_on(Shared::open(&wgpu::Instance::new(descriptor), None, None));
    if std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1") {
        return Some(shared.unwrap());
    }
    shared.ok()
}

/// What the shader draws inside the picture and the spectrum, at a size where each value is one pixel; `None` where it
/// draws something else.
fn expected(levels: &[f32], [x, y]: [u32; 2]) -> Option<[f32; 3]> {
    let share = |column: usize, row: usize| {
        let level = levels[column * ROWS + row];
        (level - LEVELS[0]) / (LEVELS[1] - LEVELS[0])
    };
    let [picture, spectrum] = FRAME.areas().map(|area| area.map(|n| n as u32));
    let row = (ROWS as u32 + picture[1]).checked_sub(y + 1)? as usize;
    let inside = |area: [u32; 4]| x >= area[0] && x < area[0] + area[2] && row < ROWS;
    if inside(picture) {
        return Some(colour::map(
            share((x - picture[0]) as usize, row).clamp(0.0, 1.0),
        ));
    }
    if !inside(spectrum) {
        return None;
    }
    let at = ((x - spectrum[0]) as f32 + 0.5) / spectrum[2] as f32;
    let covered = (share(COLUMNS - 1, row) - at) * spectrum[2] as f32 + 0.5;
    let (ground, bar) = (colour::map(0.0), colour::map(at));
    let covered = covered.clamp(0.0, 1.0);
    Some([0, 1, 2].map(|c| ground[c] + covered * (bar[c] - ground[c])))
}

/// The same sound on both devices: every channel of a pixel within 3 of 255, and on average within 0.35, of which 0.25
/// are the rounding to bytes.
#[test]
fn the_picture_is_that_of_the_cpu() {
    let Some(shared) = shared() else {
        return;
    };
    let target = Offscreen::new(&shared, FRAME.size);
    let mut scope = Scope::new(&shared, Source::synth(3), source::RATE, Offscreen::FORMAT).unwrap();
    let seconds = [0.02, 0.3, 0.3, 0.9, 1.1];
    for time in seconds {
        scope.frame(&shared, &target.view(), FRAME, time).unwrap();
    }
    let drawn = target.pixels(&shared).unwrap();

    let mut analysis = Analysis::new(&Device::cpu(), source::RATE).unwrap();
    let samples = Source::synth(3).next((1.1 * f64::from(source::RATE)) as usize);
    analysis.push(&samples).unwrap();
    let levels = analysis.picture().download_blocking().unwrap();

    let (mut count, mut sum, mut bright) = (0, 0.0, 0);
    for (i, pixel) in (0..).zip(drawn.chunks_exact(4)) {
        let place = [i % WIDTH, i / WIDTH];
        if let Some(wanted) = expected(levels.values(), place) {
            for (drawn, wanted) in pixel.iter().zip(wanted) {
                let off = (f32::from(*drawn) - 255.0 * wanted).abs();
                assert!(off < 3.0, "{place:?}: {pixel:?}, not {:?}", wanted * 255.0);
                (count, sum) = (count + 1, sum + f64::from(off));
            }
            bright += usize::from(pixel[0] > 200);
        }
        assert_eq!(pixel[3], 255, "{place:?}");
    }
    assert_eq!(count, 3 * ROWS * (COLUMNS + 192));
    assert!(
        sum / f64::from(count as u32) < 0.35,
        "{}",
        sum / f64::from(count as u32)
    );
    assert!(bright > 2_000, "{bright}");
    // Labels and ticks on all sides but the right one.
    let light = |x: std::ops::Range<u32>, y: std::ops::Range<u32>| {
        let all = y.flat_map(|y| x.clone().map(move |x| (4 * (y * WIDTH + x)) as usize));
        all.filter(|&at| drawn[at] > 100).count()
    };
    assert!(light(0..70, 52..652) > 300);
    assert!(light(0..WIDTH, 655..HEIGHT) > 300);
    assert_eq!(light(1250..WIDTH, 100..600), 0);
}

/// Once there is a plan for each number of columns, the host makes no more plans, and sends no lists or layouts.
#[test]
fn later_frames_send_only_samples() {
    let Some(shared) = shared() else {
        return;
    };
    let target = Offscreen::new(&shared, [64, 64]);
    let frame = Frame {
        size: [64, 64],
        scale: 0.2,
    };
    let mut scope = Scope::new(&shared, Source::synth(3), source::RATE, Offscreen::FORMAT).unwrap();
    let mut counters = Vec::new();
    for i in 1..=24 {
        let time = f64::from(i) / 60.0;
        scope.frame(&shared, &target.view(), frame, time).unwrap();
        counters.push(shared.device.counters());
    }
    // Of 3 and 4 columns, after 8 frames of 3.2 columns on average.
    let sent = |counters: &vsla::device::Counters| (counters.plans, counters.uploads);
    assert_ne!(sent(&counters[0]), (0, 0));
    assert_eq!(sent(&counters[7]), sent(&counters[23]));
}

/// Targets of other sizes, and a frame without new samples.
#[test]
fn any_size_is_drawn() {
    let Some(shared) = shared() else {
        return;
    };
    let mut scope = Scope::new(&shared, Source::synth(3), source::RATE, Offscreen::FORMAT).unwrap();
    for (size, scale) in [([1, 1], 1.0), ([300, 200], 2.0), ([1001, 513], 0.75)] {
        let target = Offscreen::new(&shared, size);
        let frame = Frame { size, scale };
        scope.frame(&shared, &target.view(), frame, 0.5).unwrap();
        let pixels = target.pixels(&shared).unwrap();
        assert_eq!(pixels.len(), 4 * (size[0] * size[1]) as usize);
        assert!(pixels.chunks_exact(4).all(|pixel| pixel[3] == 255));
    }
}

fn of(arguments: &[&str]) -> Result<String, Failure> {
    run(&Args::parse_from(["scope"].iter().chain(arguments)))
}

#[test]
fn a_file_becomes_a_picture() {
    if shared().is_none() {
        return;
    }
    let folder = Folder::new("scope-file");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let (sound, picture) = (path("sound.wav"), path("scope.png"));
    let samples = |phase: f64| {
        let step = std::f64::consts::TAU * 1_000.0 / 16_000.0;
        (0..4_000)
            .map(|i| (step * f64::from(i) + phase).sin() as f32)
            .collect()
    };
    let stereo = wav::Sound {
        name: String::new(),
        rate: 16_000,
        format: wav::Format::Integer(16),
        channels: vec![samples(0.0), samples(0.0)],
    };
    wav::write(Path::new(&sound), &stereo).unwrap();
    let report = of(&[&sound, "--png", &picture, "--frames", "20"]).unwrap();
    assert!(
        report.contains("frames  20, ") && report.contains("wrote"),
        "{report}"
    );

    let file = std::io::BufReader::new(std::fs::File::open(&picture).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (WIDTH, HEIGHT));
    assert_eq!(info.color_type, png::ColorType::Rgb);
    // The loudest row of the last column is that of 1 kHz, at this share of the height.
    let [low, high] = analysis::Rows::new(16_000).range();
    let share = (1_000.0 / low).ln() / (high / low).ln();
    let [area, _] = FRAME.areas().map(|area| area.map(|n| n as usize));
    let column = (0..area[3]).map(|y| {
        let at = 3 * ((area[1] + y) * WIDTH as usize + area[0] + area[2] - 1);
        pixels[at..at + 3]
            .iter()
            .map(|&byte| u32::from(byte))
            .sum::<u32>()
    });
    let column: Vec<u32> = column.collect();
    let loudest = column.iter().max().unwrap();
    let rows: Vec<usize> = (0..area[3]).filter(|&y| column[y] == *loudest).collect();
    let middle = (rows[0] + rows[rows.len() - 1]) as f64 / 2.0;
    let wanted = (1.0 - share) * area[3] as f64;
    assert!((middle - wanted).abs() < 4.0, "{middle}, not {wanted}");
}

#[test]
fn bad_input_is_refused_before_any_work() {
    let folder = Folder::new("scope-bad");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let (sound, picture) = (path("sound.wav"), path("scope.png"));
    let text = |arguments: &[&str]| of(arguments).unwrap_err().to_string();

    let missing = of(&[&path("none.wav"), "--png", &picture]).unwrap_err();
    assert!(matches!(missing, Failure::Wav(_)), "{missing}");
    assert!(
        missing.to_string().contains("none.wav: No such file"),
        "{missing}"
    );
    std::fs::write(&sound, "no sound at all").unwrap();
    assert!(text(&[&sound, "--png", &picture]).contains("not a WAV file"));
    let slow = wav::Sound {
        name: String::new(),
        rate: 4_000,
        format: wav::Format::Float,
        channels: vec![vec![0.0; 10]],
    };
    wav::write(Path::new(&sound), &slow).unwrap();
    let error = text(&[&sound, "--png", &picture]);
    assert!(
        error.ends_with("sound.wav: expected 8,000 to 192,000 samples per second, got 4000"),
        "{error}"
    );

    let nowhere = of(&["--png", &path("none/scope.png")]).unwrap_err();
    assert!(matches!(nowhere, Failure::Png(_)), "{nowhere}");
    assert!(
        nowhere
            .to_string()
            .ends_with("scope.png: its directory does not exist")
    );
    assert!(text(&["--png", folder.0.to_str().unwrap()]).ends_with("is a directory"));

    let adapter = of(&["--png", &picture, "--adapter", "no such GPU"]).unwrap_err();
    assert!(matches!(adapter, Failure::Gpu(_)), "{adapter}");
    assert!(
        adapter
            .to_string()
            .contains("no adapter with a name like \"no such GPU\"; "),
        "{adapter}"
    );
    assert!(!Path::new(&picture).exists());

    let refused = |arguments: &[&str]| {
        let all = ["scope"].iter().chain(arguments);
        Args::try_parse_from(all).err().unwrap().to_string()
    };
    let none = refused(&["--png", "x.png", "--frames", "0"]);
    assert!(none.contains("0 is not in 1..=4294967295"), "{none}");
    assert!(refused(&["--frames", "3"]).contains("--png"));
    assert!(refused(&["--png", "x.png", "--seed", "1", "x.wav"]).contains("cannot be used with"));
}
