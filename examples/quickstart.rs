//! Adds and convolves two batches of vectors of different lengths, without padding, and sums each convolution.

use vsla::{Device, Ragged, Result};

fn main() -> Result<()> {
    let device = Device::auto();
    println!("{}", device.info());

    let x = Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![4.0], vec![]])?;
    let y = Ragged::from_rows([vec![0.5f32, 0.5], vec![1.0, -1.0], vec![9.0]])?;
    let (x, y) = (device.upload(&x)?, device.upload(&y)?);
    let z = x.conv(&y)?;

    println!("x + y = {}", x.add(&y)?.download_blocking()?);
    println!("conv(x, y) = {}", z.download_blocking()?);
    println!("sums of conv(x, y) = {}", z.sum()?.download_blocking()?);
    Ok(())
}
