//! The core of the example: the same convolutions by every method, and on padded elements.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use vsla::{Device, Layout, Pairing, Ragged, Shape, Tensor, conv::ConvMethod};

/// A way to convolve the batch with itself, element by element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    pub name: &'static str,
    method: ConvMethod,
    padded: bool,
}

/// In the order of the table and of the chart.
pub const WAYS: [Way; 4] = [
    Way {
        name: "chosen",
        method: ConvMethod::Auto,
        padded: false,
    },
    Way {
        name: "direct",
        method: ConvMethod::Direct,
        padded: false,
    },
    Way {
        name: "fft_own",
        method: ConvMethod::Fft,
        padded: false,
    },
    Way {
        name: "padded",
        method: ConvMethod::Auto,
        padded: true,
    },
];

/// A way with its time, or the reason why there is none.
pub struct Measured {
    pub way: Way,
    pub time: Result<Duration, String>,
}

/// Values of a padded batch, and multiply-adds of a direct convolution, above which a way is skipped.
const MOST_VALUES: u64 = 1 << 28;
const MOST_WORK: u64 = 1 << 37;
/// Repetitions stop when either limit is reached; the median is reported.
pub const RUNS: usize = 31;
const TIME: Duration = Duration::from_millis(1500);

/// Measures the ways in turn, so that other load on the machine affects all of them; `progress` counts the repetitions.
pub fn all(
    device: &Device,
    batch: &Ragged<f32>,
    progress: &ProgressBar,
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let x = device.upload(batch)?;
    let chosen = convolve(&x, WAYS[0])?.download_blocking()?;
    let mut runs = Vec::new();
    for way in WAYS {
        let reason = passed_over(way, batch.layout());
        let operand = match way.padded && reason.is_none() {
            true => device.upload(&padded(batch)?)?,
            false => x.clone(),
        };
        let mut reason = reason;
        if reason.is_none() {
            match convolve(&operand, way) {
                Err(error @ vsla::Error::Method { .. }) => reason = Some(error.to_string()),
                Err(error) => return Err(error.into()),
                Ok(result) => agree(&chosen, &result.download_blocking()?)
                    .map_err(|problem| format!("{}: {problem}", way.name))?,
            }
        }
        runs.push((way, operand, reason, Vec::new()));
    }
    let begun = Instant::now();
    for turn in 0..RUNS {
        if turn > 0 && begun.elapsed() > TIME {
            break;
        }
        for (way, x, reason, times) in &mut runs {
            if reason.is_none() {
                times.push(call(device, x, *way)?);
            }
        }
        progress.inc(1);
    }
    let measured = runs.into_iter().map(|(way, _, reason, mut times)| {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied();
        Measured {
            way,
            time: median.ok_or_else(|| reason.unwrap_or_default()),
        }
    });
    Ok(measured.collect())
}

fn passed_over(way: Way, layout: &Layout) -> Option<String> {
    let work: u64 = layout.lengths().map(|d| (d * d) as u64).sum();
    if way.padded && layout.padded_total() > MOST_VALUES {
        let values = layout.padded_total();
        return Some(format!("not measured: padding would take {values} values"));
    }
    (way.method == ConvMethod::Direct && work > MOST_WORK)
        .then(|| format!("not measured: the direct method takes {work} multiply-adds"))
}

fn convolve(x: &Tensor<f32>, way: Way) -> vsla::Result<Tensor<f32>> {
    x.pair(x, Pairing::Elementwise)?
        .convolution()
        .method(way.method)
        .conv()
}

/// Every element, padded with zeros to the longest.
fn padded(batch: &Ragged<f32>) -> vsla::Result<Ragged<f32>> {
    let longest = batch.layout().max_length();
    let layout = Layout::uniform(batch.len(), Shape::new(&[longest])?)?;
    let mut values = vec![0.0; layout.total()];
    for (row, into) in batch.iter().zip(values.chunks_mut(longest.max(1))) {
        into[..row.len()].copy_from_slice(row);
    }
    Ragged::from_parts(layout, values)
}

/// The time of a call: device time if available, otherwise the time until the result is ready.
fn call(device: &Device, x: &Tensor<f32>, way: Way) -> vsla::Result<Duration> {
    let started = Instant::now();
    let (result, profile) = device.profile_blocking(|| convolve(x, way))?;
    let result = result?;
    if device.is_gpu() && profile.device_time.is_none() {
        let some = result.len().min(1);
        result.elements(0..some)?.download_blocking()?;
    }
    Ok(profile.device_time.unwrap_or_else(|| started.elapsed()))
}

/// Whether two results are close; the second may have zeros after each element.
fn agree(chosen: &Ragged<f32>, other: &Ragged<f32>) -> Result<(), String> {
    for (i, (x, y)) in chosen.iter().zip(other.iter()).enumerate() {
        // Values are at most 1, so ‖x‖² is at most their number. The tolerance is generous; the library's tests are
        // stricter.
        let slack = 1e-5 * (x.len() as f32 + 1.0);
        let near = x.iter().zip(y).all(|(x, y)| (x - y).abs() <= slack);
        let zeros = y.iter().skip(x.len()).all(|y| y.abs() <= slack);
        if x.len() > y.len() || !near || !zeros {
            return Err(format!(
                "element {i} differs from the chosen method's result"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_agrees_and_is_timed() {
        let layout = Layout::from_lengths([8, 15, 142, 7, 0, 456]).unwrap();
        let batch = Ragged::random(&layout, 1).unwrap();
        let measured = all(&Device::cpu(), &batch, &ProgressBar::hidden()).unwrap();
        assert_eq!(measured.len(), WAYS.len());
        for way in measured {
            assert!(
                way.time.is_ok_and(|time| time > Duration::ZERO),
                "{:?}",
                way.way
            );
        }
        let nothing = Ragged::random(&Layout::from_lengths([]).unwrap(), 1).unwrap();
        assert!(all(&Device::cpu(), &nothing, &ProgressBar::hidden()).is_ok());
    }

    #[test]
    fn a_wrong_result_is_noticed() {
        let right = Ragged::from_rows([vec![1.0f32, 2.0], vec![]]).unwrap();
        let longer = Ragged::from_rows([vec![1.0f32, 2.0, 0.0], vec![0.0]]).unwrap();
        assert_eq!(agree(&right, &longer), Ok(()));
        for wrong in [vec![1.0f32, 2.1, 0.0], vec![1.0, 2.0, 0.1], vec![1.0]] {
            let wrong = Ragged::from_rows([wrong, vec![]]).unwrap();
            assert!(agree(&right, &wrong).is_err());
        }
    }

    #[test]
    fn what_would_take_too_long_is_passed_over() {
        let layout = Layout::from_lengths([1 << 20, 1]).unwrap();
        let reasons = WAYS.map(|way| passed_over(way, &layout).is_some());
        assert_eq!(reasons, [false, true, false, false]);
    }
}
