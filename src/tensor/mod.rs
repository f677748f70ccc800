//! Ragged batches on devices, and the operations on them.

mod attention;
mod cache;
mod calibrate;
mod complex;
mod complex_products;
mod components;
mod constants;
mod conv_plan;
mod convert;
mod convolution_options;
mod convolutions;
mod create;
mod crops;
mod cross_entropy;
mod cumulations;
mod device;
mod display;
mod elements;
mod embedding;
mod figures;
mod frames;
mod functions;
mod geometry;
mod histograms;
mod imaging;
mod indexing;
mod kron;
mod lags;
mod lines;
mod maps;
mod methods;
mod minimal;
mod morphology;
mod occurrences;
mod operand;
mod operators;
mod paired;
mod period;
mod places;
mod polynomials;
mod pooling;
mod product_options;
mod products;
mod profile;
mod random;
mod reductions;
mod rotary;
mod run;
mod shape_matrix;
mod shapes;
mod sorting;
mod sparse;
mod spread;
mod stacking;
mod sums;
mod trace;
mod transfer;
mod transforms;
mod values;
mod written;

use std::ops::Range;
use std::sync::Arc;

pub(crate) use attention::Attended;
pub use attention::{Attention, merge};
pub use cache::Cache;
pub(crate) use cache::{Kept, grown_by};
pub use components::{Components, Regions};
pub use conv_plan::ConvPlan;
pub use convolution_options::Convolution;
pub(crate) use device::Backend;
pub use device::{Counters, Device, DeviceInfo, DeviceKind, DeviceLimits};
pub(crate) use frames::frames_of;
pub(crate) use functions::{of_two, of_two_over};
pub use geometry::Factors;
pub use imaging::{
    Calibration, Image, ImageOperand, ImageProgram, ImageReport, LabelBy, Machine, Place, Recorder,
    Results,
};
pub use lags::{CorrelateMax, Sbd};
pub(crate) use operand::Operand;
pub use paired::Paired;
pub use pooling::Pooling;
pub use product_options::Product;
pub use products::RightFactor;
pub use profile::{KernelTime, Profile};
pub use random::Seed;
pub use rotary::Rotary;
pub(crate) use run::planned;
pub use shape_matrix::ShapeMatrix;
pub use sparse::BsrTensor;
pub use spread::{IntoSpread, Spread};
pub use stacking::Remainder;
pub(crate) use trace::{Graph, Node, Origin, Source, Trace, ValueId};
pub use written::{Map1, Map2};

use crate::Result;
use crate::cpu::CpuBuffer;
#[cfg(feature = "gpu")]
use crate::gpu::GpuBuffer;
use crate::ops::strided::View;
use crate::ragged::{Layout, Scalar};

/// A ragged batch on a device: values packed end to end, with a shared layout.
///
/// A tensor is cheap to clone, immutable, and safe to use from several threads. Operations are methods; each one
/// validates its input before any work starts and returns a new tensor. A GPU records operations and runs them when a
/// result is read, when enough work has accumulated, or on [`Device::flush`].
///
/// ```
/// use vsla::{Device, Ragged};
///
/// let device = Device::auto();
/// let x = device.upload(&Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![1.0]])?)?;
/// let y = device.upload(&Ragged::from_rows([vec![4.0f32, 5.0], vec![0.0, 1.0]])?)?;
/// let sum = x.add(&y)?.download_blocking()?;
/// assert_eq!(sum.to_vecs()?, [vec![5.0, 7.0, 3.0], vec![1.0, 1.0]]);
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// # Methods by topic
///
/// - **Two batches, value by value, or a batch and a scalar**: [`add`](Tensor::add), [`sub`](Tensor::sub),
///   [`hadamard`](Tensor::hadamard), [`div`](Tensor::div), [`remainder`](Tensor::remainder), [`pow`](Tensor::pow),
///   [`atan2`](Tensor::atan2), [`maximum`](Tensor::maximum), [`minimum`](Tensor::minimum),
///   [`mul_add`](Tensor::mul_add); comparisons: [`equal`](Tensor::equal), [`not_equal`](Tensor::not_equal),
///   [`less`](Tensor::less), [`less_equal`](Tensor::less_equal), [`greater`](Tensor::greater),
///   [`greater_equal`](Tensor::greater_equal); a choice by a mask: [`if_else`](Tensor::if_else); operands that are
///   repeated: [`each`](Tensor::each), [`along`](Tensor::along), [`scale_by`](Tensor::scale_by); other pairs of
///   elements: [`pair`](Tensor::pair).
/// - **Each value**: [`scale`](Tensor::scale), [`add_scalar`](Tensor::add_scalar), [`neg`](Tensor::neg),
///   [`exp`](Tensor::exp), [`log`](Tensor::log), [`sqrt`](Tensor::sqrt), [`abs`](Tensor::abs),
///   [`sign`](Tensor::sign), [`square`](Tensor::square), [`clamp`](Tensor::clamp), [`tanh`](Tensor::tanh),
///   [`sigmoid`](Tensor::sigmoid), [`relu`](Tensor::relu), [`gelu`](Tensor::gelu); types: [`to`](Tensor::to); bits:
///   [`bit_and`](Tensor::bit_and); functions of your own: [`Device::map1`](crate::Device::map1),
///   [`Device::map2`](crate::Device::map2).
/// - **Each element, or along an axis**: [`sum`](Tensor::sum), [`mean`](Tensor::mean), [`max`](Tensor::max),
///   [`min`](Tensor::min), [`argmax`](Tensor::argmax), [`argmin`](Tensor::argmin), [`median`](Tensor::median),
///   [`quantile`](Tensor::quantile), [`std`](Tensor::std), [`norm2`](Tensor::norm2),
///   [`histogram`](Tensor::histogram); along an axis: [`sum_axis`](Tensor::sum_axis),
///   [`mean_axis`](Tensor::mean_axis), [`max_axis`](Tensor::max_axis), [`softmax`](Tensor::softmax),
///   [`log_softmax`](Tensor::log_softmax), [`layer_norm`](Tensor::layer_norm), [`standardize`](Tensor::standardize),
///   [`cumsum`](Tensor::cumsum), [`diff`](Tensor::diff), [`sort`](Tensor::sort), [`argsort`](Tensor::argsort),
///   [`top_k`](Tensor::top_k).
/// - **Elements**: [`select`](Tensor::select), [`elements`](Tensor::elements), [`split`](Tensor::split),
///   [`reorder`](Tensor::reorder), [`join`](Tensor::join), [`sort_by_length`](Tensor::sort_by_length); slices of
///   elements that a mask keeps: [`compact`](Tensor::compact).
/// - **Shapes and places**: [`reshape`](Tensor::reshape), [`resize`](Tensor::resize), [`slice`](Tensor::slice),
///   [`strided_slice`](Tensor::strided_slice), [`pad`](Tensor::pad), [`flip`](Tensor::flip),
///   [`transpose`](Tensor::transpose), [`concat`](Tensor::concat), [`block_diag`](Tensor::block_diag),
///   [`broadcast`](Tensor::broadcast), [`packed`](Tensor::packed), [`unpacked`](Tensor::unpacked),
///   [`stack`](Tensor::stack), [`unstack`](Tensor::unstack), [`gather`](Tensor::gather),
///   [`scatter_add`](Tensor::scatter_add), [`lookup`](Tensor::lookup), [`embedding`](Tensor::embedding),
///   [`one_hot`](Tensor::one_hot).
/// - **Convolution and transforms**: [`conv`](Tensor::conv), [`correlate`](Tensor::correlate),
///   [`correlate_max`](Tensor::correlate_max), [`sbd`](Tensor::sbd), [`max_pool`](Tensor::max_pool),
///   [`mean_pool`](Tensor::mean_pool), [`rfft`](Tensor::rfft), [`irfft`](Tensor::irfft), [`fft`](Tensor::fft),
///   [`ifft`](Tensor::ifft), [`stft`](Tensor::stft), [`eval`](Tensor::eval).
/// - **Products**: [`matmul`](Tensor::matmul), [`product`](Tensor::product), [`dot`](Tensor::dot),
///   [`outer`](Tensor::outer), [`kron`](Tensor::kron), [`attention`](Tensor::attention),
///   [`cross_entropy`](Tensor::cross_entropy).
/// - **Images**: [`label`](Tensor::label), [`regions`](Tensor::regions), [`fill_holes`](Tensor::fill_holes),
///   [`dilate`](Tensor::dilate), [`erode`](Tensor::erode), [`crop`](Tensor::crop), [`trim`](Tensor::trim),
///   [`upscale`](Tensor::upscale), [`downscale`](Tensor::downscale), [`tile`](Tensor::tile),
///   [`rot90`](Tensor::rot90), [`translate`](Tensor::translate), [`draw_boxes`](Tensor::draw_boxes).
/// - **Transfer**: [`Device::upload`](crate::Device::upload), [`download`](Tensor::download),
///   [`download_blocking`](Tensor::download_blocking), [`to_device`](Tensor::to_device), [`export`](Tensor::export).
///
/// [Operands and results](crate::pages::shapes) has a table of all, with their types and shapes.
///
/// # Complex numbers
///
/// [`add`](Tensor::add), [`sub`](Tensor::sub), [`hadamard`](Tensor::hadamard) and [`div`](Tensor::div), their operators
/// and pairings take complex numbers, too. Each part of a sum or difference is rounded once. In the following, u is a
/// unit in the last place of |x| |y|, or of |x| / |y|. A GPU may flush parts of operands below 2⁻¹²⁶ to zero, and also
/// products and results, which adds up to 2⁻¹²⁵.
///
/// - A product is `(ac − bd) + (ad + bc) i` for x = a + bi and y = c + di, with an error of at most 3 u in each part.
///   It overflows where |x| |y| does, or nearly does. Infinite parts have no special treatment: they mostly give NaN.
/// - A quotient is x ȳ / |y|², with an error of at most 10 u in each part. x and y are first scaled by powers of two;
///   the CPU computes in f64 instead. So nothing overflows or underflows in between. On a GPU, a y whose parts are both
///   below 2⁻¹²⁶ counts as zero. Special cases are the same on every device:
///   - If any part of x or y is NaN, both parts of the quotient are, and so they are for 0 / 0 and ∞ / ∞, where an
///     infinite number is one with an infinite part.
///   - A finite x divided by an infinite y is 0.
///   - Any other quotient with a zero y or an infinite x has infinite parts. Their signs are those of the quotient in
///     which ±1 stands for each infinite part of x and 0 for its other part, or ±1 for a zero y, by the sign of its
///     real part; where a part of that quotient is 0, the result is NaN. So 1 / 0 is ∞ + NaN i, as in NumPy.
///
/// ```
/// # use vsla::{Complex32, Device, Ragged};
/// # let device = Device::cpu();
/// let x = device.upload(&Ragged::from_rows([[1.0f32, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]])?)?;
/// let kernel = device.upload(&Ragged::from_rows([[1.0f32, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]])?)?;
/// let spectra = (&x.rfft()? * &kernel.rfft()?)?;
/// let y = spectra.irfft(x.layout())?.download_blocking()?;
/// let expected = [1.0, 2.0, 3.0, 0.0, 2.0, 4.0, 6.0, 0.0];
/// assert!(y.row(0).iter().zip(expected).all(|(y, expected)| (y - expected).abs() < 1e-5));
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor<T: Scalar> {
    device: Device,
    storage: Storage,
    /// Where the values begin in the storage, counted in 32-bit words (for complex values too), in half-words for f16,
    /// or in bytes for u8.
    base: usize,
    layout: Layout,
    element: std::marker::PhantomData<T>,
}

#[derive(Clone)]
pub(crate) enum Storage {
    Cpu(Arc<CpuBuffer>),
    #[cfg(feature = "gpu")]
    Gpu(Arc<GpuBuffer>),
    /// A value of a recording, which has no memory yet.
    Traced(trace::Traced),
}

impl<T: Scalar> Tensor<T> {
    pub(crate) fn new(device: &Device, storage: Storage, base: usize, layout: Layout) -> Tensor<T> {
        Tensor {
            device: device.clone(),
            storage,
            base,
            layout,
            element: std::marker::PhantomData,
        }
    }

    /// The device that holds the tensor.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The shapes of the elements.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Returns a range of the elements as a batch: a view that copies no values.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1.0f32], vec![2.0, 3.0], vec![4.0]])?)?;
    /// assert_eq!(x.elements(1..3)?.download_blocking()?.to_vecs()?, [vec![2.0, 3.0], vec![4.0]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ElementRange`](crate::Error::ElementRange) when the range does not lie within the batch.
    pub fn elements(&self, range: Range<usize>) -> Result<Tensor<T>> {
        let view = View::Elements(range.start, range.end);
        self.unary(view, &[])
    }

    /// The byte offset at which the values begin in the storage.
    fn begin(&self) -> usize {
        self.base * T::DTYPE.unit()
    }

    /// Checks that both operands of a binary operation are on the same device.
    fn check_device<U: Scalar>(&self, other: &Tensor<U>) -> Result<()> {
        self.device.check_same(&other.device)
    }
}

impl<T: Scalar> std::fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tensor")
            .field("dtype", &T::DTYPE)
            .field("device", &self.device.name())
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
