//! Short-time Fourier transforms and their inverse.

use vsla::Ragged;

use super::super::batch::Batch;
use super::{LARGE, NORMWISE, SMALL, U, norm};

/// Spectra: relative to the norm of each row.
pub fn spectra(here: &Batch, there: &Batch) -> Result<(), String> {
    let (x, y, layout) = (here.wide(), there.wide(), here.layout());
    for element in 0..layout.len() {
        let columns = layout
            .shape(element)
            .extents()
            .last()
            .map_or(1, |&n| n as usize);
        let from = 2 * layout.offsets().range(element).start;
        let frames = layout.length(element) / columns.max(1);
        for frame in 0..frames {
            let row = from + 2 * frame * columns..from + 2 * (frame + 1) * columns;
            let size = norm(&x[row.clone()]).max(norm(&y[row.clone()]));
            let difference: Vec<f64> = row.map(|i| x[i] - y[i]).collect();
            let (difference, allowed) = (norm(&difference), NORMWISE * size + SMALL);
            let fine = difference <= allowed;
            if size < LARGE && !fine {
                return Err(format!(
                    "frame {frame} of element {element} differs by {difference:e}, allowed {allowed:e}"
                ));
            }
        }
    }
    Ok(())
}

/// Vectors from spectra: the bound of each value from the norms of its frames.
pub fn vectors(
    spectra: &Batch,
    window: &Ragged<f32>,
    hop: usize,
    here: &Batch,
    there: &Batch,
) -> Result<(), String> {
    let (values, x, y, layout) = (spectra.wide(), here.wide(), there.wide(), here.layout());
    let window = window.values();
    let overlap = window.len().div_ceil(hop) as f64;
    for element in 0..layout.len() {
        let columns = window.len() / 2 + 1;
        let all = spectra.layout().offsets().range(element);
        let rows = values[2 * all.start..2 * all.end].chunks(2 * columns);
        // Of the values of each frame: only half of the spectrum is stored.
        let sizes: Vec<f64> = rows
            .map(|row| norm(row) * (2.0 / window.len() as f64).sqrt())
            .collect();
        for (i, at) in layout.offsets().range(element).enumerate() {
            let (mut error, mut squares) = (0.0, 0.0);
            for (frame, size) in sizes.iter().enumerate() {
                let Some(&w) = i.checked_sub(frame * hop).and_then(|j| window.get(j)) else {
                    continue;
                };
                let w = f64::from(w);
                squares += w * w;
                error += w.abs() * ((NORMWISE + 2.0 * (overlap + 2.0) * U) * size + SMALL);
            }
            let (x, y) = (x[at], y[at]);
            if x == y || x.is_nan() && y.is_nan() || error.is_nan() || error >= LARGE {
                continue;
            }
            let allowed = match squares > 1e-10 {
                true => error / squares + 2.0 * (overlap + 3.0) * U * x.abs() + SMALL,
                false => 0.0,
            };
            let fine = (x - y).abs() <= allowed;
            if !fine {
                return Err(format!(
                    "value {i} of element {element} is {x:e} here and {y:e} there, allowed {allowed:e}"
                ));
            }
        }
    }
    Ok(())
}
