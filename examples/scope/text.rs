//! Labels as lines: each glyph is a few strokes, which the view draws with smooth edges at any size.

/// A straight line from one point to another in pixels, its width, and its opacity.
pub type Stroke = [f32; 6];

/// Points of a line that is drawn in one go, on a grid where capitals have a height of 1.
type Path = Vec<[f32; 2]>;

/// Which part of a text the given point belongs to.
#[derive(Clone, Copy)]
pub enum Side {
    Centre,
    Right,
}

/// The space between two glyphs.
const GAP: f32 = 0.22;

/// Appends the strokes of a text. The point is on its baseline.
pub fn write(strokes: &mut Vec<Stroke>, text: &str, at: [f32; 2], height: f32, side: Side) {
    let share = match side {
        Side::Centre => 0.5,
        Side::Right => 1.0,
    };
    let mut x = at[0] - share * height * width(text);
    for (advance, paths) in text.chars().map(glyph) {
        let place = |[px, py]: [f32; 2]| [x + height * px, at[1] - height * py];
        for path in paths {
            for pair in path.windows(2) {
                let ([x0, y0], [x1, y1]) = (place(pair[0]), place(pair[1]));
                strokes.push([x0, y0, x1, y1, 0.12 * height, 0.75]);
            }
        }
        x += height * (advance + GAP);
    }
}

fn width(text: &str) -> f32 {
    let advances = text.chars().map(|c| glyph(c).0 + GAP);
    (advances.sum::<f32>() - GAP).max(0.0)
}

fn line(points: &[[f32; 2]]) -> Path {
    points.to_vec()
}

/// A part of an ellipse around a centre, from one angle to another in degrees, counterclockwise from the right.
fn arc([x, y]: [f32; 2], [rx, ry]: [f32; 2], from: f32, to: f32) -> Path {
    let steps = ((to - from).abs() / 20.0).ceil();
    let point = |i| {
        let angle = (from + (to - from) * i as f32 / steps).to_radians();
        [x + rx * angle.cos(), y + ry * angle.sin()]
    };
    (0..=steps as usize).map(point).collect()
}

fn oval(centre: [f32; 2], radii: [f32; 2]) -> Path {
    arc(centre, radii, 0.0, 360.0)
}

/// The width of a glyph, and its lines. Only what the labels need is there; anything else is a space.
fn glyph(c: char) -> (f32, Vec<Path>) {
    let joined = |parts: &[Path]| parts.concat();
    match c {
        '0' => (0.58, vec![oval([0.29, 0.5], [0.27, 0.5])]),
        '1' => (0.42, vec![line(&[[0.08, 0.8], [0.32, 1.0], [0.32, 0.0]])]),
        '2' => {
            let bow = arc([0.29, 0.72], [0.25, 0.28], 165.0, -35.0);
            let foot = line(&[[0.03, 0.0], [0.57, 0.0]]);
            (0.58, vec![joined(&[bow, foot])])
        }
        '3' => {
            let upper = arc([0.28, 0.76], [0.23, 0.24], 150.0, -90.0);
            let lower = arc([0.28, 0.26], [0.27, 0.26], 90.0, -155.0);
            (0.58, vec![joined(&[upper, lower])])
        }
        '4' => {
            let bent = line(&[[0.43, 0.0], [0.43, 1.0], [0.03, 0.28], [0.6, 0.28]]);
            (0.6, vec![bent])
        }
        '5' => {
            let top = line(&[[0.52, 1.0], [0.12, 1.0], [0.07, 0.54]]);
            let bow = arc([0.28, 0.32], [0.28, 0.32], 138.0, -145.0);
            (0.58, vec![joined(&[top, bow])])
        }
        '6' => {
            let stem = arc([0.55, 0.3], [0.52, 0.7], 180.0, 98.0);
            (0.58, vec![oval([0.3, 0.3], [0.27, 0.3]), stem])
        }
        '7' => (0.58, vec![line(&[[0.03, 1.0], [0.56, 1.0], [0.2, 0.0]])]),
        '8' => {
            let upper = oval([0.29, 0.76], [0.22, 0.24]);
            (0.58, vec![upper, oval([0.29, 0.26], [0.27, 0.26])])
        }
        '9' => {
            let stem = arc([0.03, 0.7], [0.52, 0.7], 0.0, -82.0);
            (0.58, vec![oval([0.28, 0.7], [0.27, 0.3]), stem])
        }
        '.' => (0.1, vec![line(&[[0.05, 0.03], [0.05, 0.03]])]),
        '−' => (0.5, vec![line(&[[0.04, 0.45], [0.46, 0.45]])]),
        'B' => {
            let upper = arc([0.28, 0.76], [0.22, 0.24], 90.0, -90.0);
            let lower = arc([0.3, 0.26], [0.26, 0.26], 90.0, -90.0);
            let stem = line(&[[0.05, 0.0], [0.05, 1.0]]);
            let middle = line(&[[0.05, 0.52]]);
            (
                0.58,
                vec![joined(&[stem, upper, middle, lower, line(&[[0.05, 0.0]])])],
            )
        }
        'H' => {
            let (left, right) = ([[0.05, 0.0], [0.05, 1.0]], [[0.62, 0.0], [0.62, 1.0]]);
            (
                0.67,
                vec![
                    line(&left),
                    line(&right),
                    line(&[[0.05, 0.52], [0.62, 0.52]]),
                ],
            )
        }
        'a' => {
            let stem = line(&[[0.46, 0.66], [0.46, 0.0]]);
            (0.48, vec![oval([0.24, 0.33], [0.22, 0.33]), stem])
        }
        'd' => {
            let stem = line(&[[0.46, 1.0], [0.46, 0.0]]);
            (0.48, vec![oval([0.24, 0.33], [0.22, 0.33]), stem])
        }
        'e' => {
            let bow = arc([0.25, 0.33], [0.22, 0.33], 0.0, 315.0);
            (0.48, vec![joined(&[line(&[[0.03, 0.35]]), bow])])
        }
        'f' => {
            let hook = arc([0.32, 0.8], [0.18, 0.2], 70.0, 180.0);
            let stem = joined(&[hook, line(&[[0.14, 0.0]])]);
            (0.4, vec![stem, line(&[[0.0, 0.64], [0.34, 0.64]])])
        }
        'k' => {
            let stem = line(&[[0.04, 1.0], [0.04, 0.0]]);
            let arm = line(&[[0.42, 0.66], [0.04, 0.24]]);
            (0.46, vec![stem, arm, line(&[[0.18, 0.4], [0.46, 0.0]])])
        }
        'm' => {
            let bow = |x| {
                joined(&[
                    arc([x, 0.44], [0.16, 0.22], 180.0, 0.0),
                    line(&[[x + 0.16, 0.0]]),
                ])
            };
            (
                0.72,
                vec![line(&[[0.04, 0.66], [0.04, 0.0]]), bow(0.2), bow(0.52)],
            )
        }
        'r' => {
            let bow = arc([0.26, 0.4], [0.22, 0.26], 180.0, 65.0);
            (0.36, vec![line(&[[0.04, 0.66], [0.04, 0.0]]), bow])
        }
        's' => {
            let upper = arc([0.23, 0.5], [0.18, 0.16], 35.0, 270.0);
            let lower = arc([0.23, 0.17], [0.2, 0.17], 90.0, -150.0);
            (0.44, vec![joined(&[upper, lower])])
        }
        'z' => (
            0.46,
            vec![line(&[
                [0.03, 0.66],
                [0.43, 0.66],
                [0.02, 0.0],
                [0.45, 0.0],
            ])],
        ),
        _ => (0.28, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_stay_within_their_width() {
        for c in "0123456789.−BHadefkmrsz".chars() {
            let (width, paths) = glyph(c);
            assert!(!paths.is_empty(), "{c}");
            for [x, y] in paths.into_iter().flatten() {
                let inside = (-0.01..=width + 0.01).contains(&x) && (-0.01..=1.01).contains(&y);
                assert!(inside, "{c}: {x}, {y}");
            }
        }
    }

    #[test]
    fn texts_are_aligned() {
        let ends = |side| {
            let mut strokes = Vec::new();
            write(&mut strokes, "H", [100.0, 50.0], 10.0, side);
            let xs = strokes.iter().flat_map(|stroke| [stroke[0], stroke[2]]);
            xs.fold((f32::MAX, f32::MIN), |(low, high), x| {
                (low.min(x), high.max(x))
            })
        };
        let close = |got: (f32, f32), wanted: (f32, f32)| {
            assert!(
                (got.0 - wanted.0).abs() < 1e-3 && (got.1 - wanted.1).abs() < 1e-3,
                "{got:?}"
            );
        };
        close(ends(Side::Centre), (97.15, 102.85));
        close(ends(Side::Right), (93.8, 99.5));
    }
}
