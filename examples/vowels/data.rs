//! Recordings as batches: standardized, each at its own length.

use vsla::{Layout, Ragged, Result, Shape};

use crate::ts::Dataset;

/// The mean and the standard deviation of each channel over all samples of the training recordings.
///
/// In f32, as files store them, so that a network that is read back computes the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub means: Vec<f32>,
    pub deviations: Vec<f32>,
}

impl Scale {
    /// # Errors
    /// If a channel's mean or deviation does not fit f32.
    pub fn of(data: &Dataset) -> std::result::Result<Scale, String> {
        let mut scale = Scale {
            means: Vec::new(),
            deviations: Vec::new(),
        };
        for channel in 0..data.channels {
            let values = || {
                let samples = data.series.iter().flat_map(|s| s.chunks(data.channels));
                samples.map(move |sample| sample[channel])
            };
            let count = values().count() as f64;
            let mean = values().sum::<f64>() / count;
            let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            let (mean, deviation) = (mean as f32, variance.sqrt() as f32);
            if !mean.is_finite() || !deviation.is_finite() {
                let number = channel + 1;
                return Err(format!(
                    "{}: the values of channel {number} are too large",
                    data.name
                ));
            }
            scale.means.push(mean);
            // A channel that is constant in training tells nothing, but must not divide by 0.
            scale
                .deviations
                .push(if deviation > 0.0 { deviation } else { 1.0 });
        }
        Ok(scale)
    }

    /// These series as a batch of matrices, samples × channels, with means of 0 and deviations of 1.
    pub fn batch(&self, data: &Dataset, which: &[usize]) -> Result<Ragged<f32>> {
        let mut shapes = Vec::with_capacity(which.len());
        let mut values = Vec::new();
        for &i in which {
            let series = &data.series[i];
            shapes.push(Shape::new(&[series.len() / data.channels, data.channels])?);
            for sample in series.chunks(data.channels) {
                let scale = self.means.iter().zip(&self.deviations);
                let standardized = sample.iter().zip(scale).map(|(x, (mean, deviation))| {
                    let z = (x - f64::from(*mean)) / f64::from(*deviation);
                    // Far beyond anything in training, but finite: one value must not make all scores NaN.
                    z.clamp(-1e6, 1e6) as f32
                });
                values.extend(standardized);
            }
        }
        Ragged::from_parts(Layout::from_shapes(2, shapes)?, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(series: Vec<Vec<f64>>) -> Dataset {
        Dataset {
            name: "x".to_owned(),
            labels: vec!["a".to_owned()],
            channels: 2,
            classes: vec![0; series.len()],
            series,
        }
    }

    #[test]
    fn each_channel_has_its_own_scale() {
        let data = dataset(vec![vec![1.0, 7.0, 3.0, 7.0], vec![5.0, 7.0, 7.0, 7.0]]);
        let scale = Scale::of(&data).unwrap();
        assert_eq!(scale.means, [4.0, 7.0]);
        assert_eq!(scale.deviations, [5.0f32.sqrt(), 1.0]);
        let batch = scale.batch(&data, &[1, 0, 1]).unwrap();
        assert_eq!(batch.shape(0), Shape::new(&[2, 2]).unwrap());
        assert_eq!(batch.row(0), batch.row(2));
        assert_eq!(
            batch.row(1),
            [-3.0 / 5.0f32.sqrt(), 0.0, -1.0 / 5.0f32.sqrt(), 0.0]
        );
    }

    #[test]
    fn values_stay_finite() {
        let data = dataset(vec![vec![1.0, 2.0, 3.0, 4.0]]);
        let far = dataset(vec![vec![1e300, -1e300]]);
        let scale = Scale::of(&data).unwrap();
        assert_eq!(scale.batch(&far, &[0]).unwrap().values(), [1e6, -1e6]);
        let error = Scale::of(&far).unwrap_err();
        assert_eq!(error, "x: the values of channel 1 are too large");
    }
}
