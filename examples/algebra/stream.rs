//! A stream of measurements: the counts of a rain gauge, interval by interval, summed in nested windows.
//!
//! An interval has a value for each tip of the gauge, and a dry one is empty. The pyramid is dense, so sums cover whole
//! hours and days.

use std::error::Error;
use std::fmt::Write;

use vsla::{Device, Ragged, batch::Remainder};

/// Intervals of ten minutes in an hour, and hours in a day.
const SIZES: [usize; 2] = [6, 24];

/// Most bytes of a level.
const MOST_BYTES: u64 = 1 << 26;

pub fn show(device: &Device) -> Result<String, Box<dyn Error>> {
    let intervals = measured(3 * 144 + 31);
    let rain = device.upload(&intervals)?;
    let levels = rain.pyramid(&SIZES, Remainder::Pad, MOST_BYTES)?;
    let hours = levels[0].sum()?.download_blocking()?;
    let days = levels[1].sum()?.download_blocking()?;
    let each = rain.sum()?.download_blocking()?;
    let complete = rain.pyramid(&SIZES, Remainder::Discard, MOST_BYTES)?;

    let all: i32 = intervals.values().iter().sum();
    for sums in [&hours, &days] {
        if sums.values().iter().sum::<i32>() != all {
            return Err("a level does not sum to the total rainfall".into());
        }
    }
    let dry = intervals.iter().filter(|tips| tips.is_empty()).count();
    let mut text = String::from("\nA stream\n\n");
    writeln!(
        text,
        "  {} intervals of ten minutes, {dry} dry; {} tips of a rain gauge, at most {} in an interval:\n",
        intervals.len(),
        intervals.values().len(),
        intervals.layout().max_length(),
    )?;
    writeln!(text, "         0h    6h    12h   18h")?;
    let heaviest = each.values().chunks(SIZES[0] * SIZES[1]);
    let heaviest = heaviest.map(|day| day.iter().max().copied().unwrap_or(0));
    let by_day = hours.values().chunks(SIZES[1]).zip(heaviest);
    for (day, (hours, heaviest)) in by_day.enumerate() {
        writeln!(
            text,
            "  day {}  {:<24}  {:4.1} mm, at most {:.1} mm in one interval",
            day + 1,
            bars(hours),
            f64::from(days[day][0]) / 10.0,
            f64::from(heaviest) / 10.0,
        )?;
    }
    writeln!(
        text,
        "\n  The last hour and day are padded with zeros. {} hours and {} days are complete.",
        complete[0].len(),
        complete[1].len(),
    )?;
    Ok(text)
}

/// Tips in tenths of a millimetre, the same in every run: showers of random length.
fn measured(intervals: usize) -> Ragged<i32> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut shower = 0;
    let rows = (0..intervals).map(|_| {
        shower = match shower {
            0 if random.u8(..) < 12 => random.usize(2..30),
            0 => 0,
            left => left - 1,
        };
        let tips = if shower == 0 {
            0
        } else {
            random.usize(0..shower.min(9) + 2)
        };
        (0..tips).map(|_| random.i32(1..4)).collect::<Vec<_>>()
    });
    Ragged::from_rows(rows.collect::<Vec<_>>()).expect("few values")
}

/// A bar for each value, with a height in proportion.
fn bars(values: &[i32]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

    let height = |&value: &i32| BARS[(value.max(0) as usize).div_ceil(12).min(8)];
    values.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_days_are_counted() {
        let text = show(&Device::cpu()).unwrap();
        assert!(text.contains("463 intervals"), "{text}");
        assert!(text.contains("77 hours and 3 days are complete."), "{text}");
        assert_eq!(text.matches("  day ").count(), 4, "{text}");
        // The sums of the tips of each interval, not single tips, are at least a 144th of their day.
        for day in measured(463).iter().collect::<Vec<_>>().chunks(144) {
            let sums = day.iter().map(|tips| tips.iter().sum::<i32>());
            let (all, most) = (sums.clone().sum::<i32>(), sums.max().unwrap_or(0));
            let line = format!(
                "{:4.1} mm, at most {:.1} mm in one interval",
                f64::from(all) / 10.0,
                f64::from(most) / 10.0
            );
            assert!(text.contains(&line) && 144 * most >= all, "{line}\n{text}");
        }
    }

    #[test]
    fn bars_are_as_high_as_values_are_large() {
        assert_eq!(bars(&[0, 1, 12, 13, 96, 10_000]), " ▁▁▂██");
    }
}
