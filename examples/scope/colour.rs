//! The colour map of levels, from black over purple and orange to pale yellow.

/// Colours for the shader, which interpolates between them.
pub const STEPS: usize = 256;

/// The map *inferno* of Nathaniel Smith and Stéfan van der Walt, whose lightness grows evenly, as the polynomial that
/// Matt Zucker fitted to it. In sRGB, for a level from 0 to 1.
pub fn map(level: f32) -> [f32; 3] {
    const TERMS: [[f32; 3]; 7] = [
        [0.000_218_94, 0.001_651, -0.019_480_9],
        [0.106_513_4, 0.563_956_4, 3.932_712_4],
        [11.602_493, -3.972_854, -15.942_394],
        [-41.703_996, 17.436_4, 44.354_145],
        [77.162_93, -33.402_36, -81.807_31],
        [-71.319_43, 32.626_064, 73.209_52],
        [25.131_126, -12.242_669, -23.070_325],
    ];
    let power = |sum: f32, term: f32| sum * level + term;
    let channel = |c: usize| TERMS.iter().rev().map(|term| term[c]).fold(0.0, power);
    [0, 1, 2].map(|c| channel(c).clamp(0.0, 1.0))
}

/// The map at levels from 0 to 1, in four channels, as uniforms are.
pub fn table() -> Vec<[f32; 4]> {
    let colour = |step| {
        let [red, green, blue] = map(step as f32 / (STEPS - 1) as f32);
        [red, green, blue, 1.0]
    };
    (0..STEPS).map(colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L* of CIELAB.
    fn lightness(colour: [f32; 3]) -> f32 {
        let linear = colour.map(|c| match c <= 0.040_45 {
            true => c / 12.92,
            false => ((c + 0.055) / 1.055).powf(2.4),
        });
        let y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        match y > 0.008_856 {
            true => 116.0 * y.cbrt() - 16.0,
            false => 903.3 * y,
        }
    }

    #[test]
    fn lightness_grows_evenly() {
        let all = table().into_iter().map(|[r, g, b, _]| lightness([r, g, b]));
        let all: Vec<f32> = all.collect();
        assert!(all[0] < 1.0 && all[STEPS - 1] > 95.0, "{all:?}");
        for (i, pair) in all.windows(17).enumerate() {
            let step = pair[16] - pair[0];
            assert!((2.0..11.0).contains(&step), "{step} after {i}");
        }
    }
}
