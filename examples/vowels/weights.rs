//! Files of weights: a `.vsla` file with one batch of matrices, the scale of the channels and then the weights.

use std::error::Error;
use std::path::Path;

use vsla::{Layout, Ragged, Shape};

use crate::data::Scale;
use crate::net::Net;

/// Writes the scale and the weights.
pub fn save(path: &Path, scale: &Scale, weights: &Ragged<f32>) -> vsla::Result<()> {
    let values = [&scale.means, &scale.deviations, weights.values()].map(<[f32]>::to_vec);
    let channels = scale.means.len();
    let shapes = std::iter::once(Shape::new(&[2, channels])?).chain(weights.layout().shapes());
    Ragged::from_shapes(values.concat(), 2, shapes)?.write(path)
}

/// Reads what [`save`] wrote.
///
/// # Errors
/// If the file is damaged, or has the weights of another network.
pub fn load(path: &Path, net: Net) -> Result<(Scale, Ragged<f32>), Box<dyn Error>> {
    let file = path.display();
    let all = Ragged::<f32>::read(path).map_err(|error| format!("{file}: {error}"))?;
    let layout = net.layout()?;
    let scale = Shape::new(&[2, net.channels])?;
    let expected = std::iter::once(scale).chain(layout.shapes());
    if all.layout() != &Layout::from_shapes(2, expected)? {
        let Net { channels, classes } = net;
        return Err(format!(
            "{file}: not the weights of this network (channels: {channels}, classes: {classes})"
        )
        .into());
    }
    let values = all.values();
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(format!("{file}: a weight is {value}").into());
    }
    let (means, rest) = values.split_at(net.channels);
    let (deviations, weights) = rest.split_at(net.channels);
    if deviations.iter().any(|&deviation| deviation <= 0.0) {
        return Err(format!("{file}: a deviation is not above 0").into());
    }
    let scale = Scale {
        means: means.to_vec(),
        deviations: deviations.to_vec(),
    };
    Ok((scale, Ragged::from_parts(layout, weights.to_vec())?))
}
