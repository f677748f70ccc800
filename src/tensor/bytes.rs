//! Integers that the host holds as bytes.

use super::run::{Call, check_planned};
use super::{Device, Tensor};
use crate::machine::Wait;
use crate::ops::Op;
use crate::ops::bytes::{Bytes, words_of};
use crate::ragged::{Integer, Ragged};
use crate::{Error, Result, host};

impl Device {
    /// Copies a batch of bytes to the device, where it becomes a batch of u32: images of up to 256 colours, labels or
    /// text, as most files hold them.
    ///
    /// The values are the bytes, from 0 to 255. A quarter as many bytes are transferred as [`upload`](Self::upload)
    /// transfers for a batch of u32, and nothing is converted on the host. Operations compute with integers of 32 bits;
    /// [`to`](Tensor::to) converts to other types. An empty batch gives an empty batch. A GPU records the copy and the
    /// conversion. Cost: bytes transferred, then read once, and values written once.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// let colours: Vec<u8> = vec![0, 255, 7, 9];
    /// let images = Ragged::from_shapes(colours, 2, [Shape::new(&[1, 3])?, Shape::new(&[1, 1])?])?;
    /// let x = Device::cpu().upload_u8(&images)?;
    /// assert_eq!(x.download_blocking()?.values(), [0u32, 255, 7, 9]);
    /// let back = x.rot90(1)?.download_u8_blocking()?;
    /// assert_eq!(back.to_vecs()?, [vec![7u8, 255, 0], vec![9]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TooLarge`](Error::TooLarge) above the device's binding limit, with the first element that does not fit;
    /// [`OutOfMemory`](Error::OutOfMemory), [`WorkLimit`](Error::WorkLimit), [`DeviceLost`](Error::DeviceLost).
    pub fn upload_u8(&self, batch: &Ragged<u8>) -> Result<Tensor<u32>> {
        const OP: &str = "upload_u8";
        let uploaded = || {
            let words = words_of(batch.layout().total())?;
            let unpack = Op::Bytes(Bytes::Unpack(batch.layout().clone()));
            check_planned(self, &unpack, &[&words])?;
            let packed: Tensor<u32> = self.upload_bytes(&words, batch.values())?;
            Call::new(self, unpack, &[packed.operand()]).one()
        };
        uploaded().map_err(|error: Error| error.named(OP))
    }
}

impl<T: Integer> Tensor<T> {
    /// Copies the batch to the host as bytes, after all work recorded on it: the counterpart of
    /// [`upload_u8`](Device::upload_u8).
    ///
    /// A value above 255 becomes 255, and a negative one 0: [`to`](Self::to) saturates in the same way. i32 and u32.
    /// Every device gives the same bytes. An empty batch gives an empty batch. Cost: values read once, and a quarter as
    /// many bytes written and transferred as [`download`](Self::download) transfers.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, -1, 300], vec![], vec![255]])?)?;
    /// # pollster::block_on(async {
    /// assert_eq!(x.download_u8().await?.to_vecs()?, [vec![1u8, 0, 255], vec![], vec![255]]);
    /// # Ok::<(), vsla::Error>(()) })?;
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`WorkLimit`](Error::WorkLimit), [`NotComputed`](Error::NotComputed),
    /// [`DeviceLost`](Error::DeviceLost).
    pub async fn download_u8(&self) -> Result<Ragged<u8>> {
        self.bytes_on_host(Wait::Elsewhere).await
    }

    /// The blocking form of [`download_u8`](Self::download_u8).
    ///
    /// # Errors
    /// Those of [`download_u8`](Self::download_u8); on a GPU in a browser, [`Unsupported`](Error::Unsupported).
    pub fn download_u8_blocking(&self) -> Result<Ragged<u8>> {
        pollster::block_on(self.bytes_on_host(Wait::Here))
    }

    async fn bytes_on_host(&self, wait: Wait) -> Result<Ragged<u8>> {
        const OP: &str = "download_u8";
        self.check_readable(OP)?;
        let mut values = host::zeroed(OP, self.layout.total())?;
        let pack = Op::Bytes(Bytes::Pack(T::DTYPE));
        let packed: Tensor<u32> = Call::new(&self.device, pack, &[self.operand()]).one()?;
        packed.read_bytes(OP, &mut values, wait).await?;
        Ragged::from_parts(self.layout.clone(), values)
    }
}
