use vsla::{Pairing, Result, Tensor};

/// The bin of each recording's strongest frequency after a filter, and the spectrum's values.
pub fn peaks(recordings: &Tensor<f32>, filter: &Tensor<f32>) -> Result<(Tensor<u32>, Tensor<f32>)> {
    let z = ((recordings - recordings.mean()?.each())? / recordings.std()?.each())?;
    let filtered = z.pair(filter, Pairing::AllToOne)?.correlate()?;
    let spectrum = filtered.rfft()?.abs()?;
    Ok((spectrum.argmax()?, spectrum))
}
