use vsla::{Pairing::AllToAll, Result, Tensor, conv::ConvMode};

/// One value per image and filter: the mean over the pooled map of a convolution layer.
///
/// Channels are the first axis of both images and filters. Images and filters have the same number of channels, so the
/// mode `Valid` leaves one position along this axis: every result has one channel.
pub fn features(images: &Tensor<f32>, filters: &Tensor<f32>) -> Result<Tensor<f32>> {
    let pairs = images
        .pair(filters, AllToAll)?
        .convolution()
        .mode(ConvMode::Valid);
    let maps = pairs.correlate()?.relu()?.max_pool(&[2, 2])?;
    let rows = maps
        .mean()?
        .stack_groups(&vec![filters.len(); images.len()], None)?;
    rows.transpose(&[1, 0])
}
