//! Writes WGSL for FFTs that run in the registers and the workgroup memory of one workgroup.
//!
//! T = N / E invocations share a transform of N values, E values each; both are powers of two. Invocation j holds value
//! j + T s in `v[s]` before the transform, between its stages and after it. So loads and stores are contiguous over
//! invocations, and elementwise operations need no exchange. The stages are those of Stockham's algorithm, decimation
//! in time.
//!
//! **Butterflies.** A stage of radix r evaluates a polynomial of r coefficients at r points, the twiddle w times the
//! r-th roots of unity, by repeated halving: p = e + t o and m = e - t o = 2 e - p, six fused multiply-adds for two
//! values. All t are powers of w times constants; w, w², w⁴, .. come from a table computed in f64, so no t is rounded
//! more than twice.
//!
//! **Exchange.** Between stages, invocations exchange values through workgroup memory, real parts first and then
//! imaginary ones, which halves the memory and lets more workgroups run at once. Addresses are XORed with some of their
//! own bits ([`Swizzle`](exchange::Swizzle)), so neither writes nor reads of a warp have bank conflicts, and no memory
//! is spent on padding. Where a little more memory does not matter, padding ([`Generator::padded`]) saves instructions
//! and registers.
//!
//! **Right angle.** `RightAngle` transforms evaluate at the roots of z^N = -i instead of z^N = 1, which changes only
//! the twiddles. The product of two such spectra is the spectrum of the product of the polynomials mod z^N + i. 2 N
//! real values a_k enter as the N complex values a_n - i a_{n + N}, so one transform of N values covers a whole linear
//! convolution of up to 2 N values.
//!
//! Error: each stage rounds as its butterflies do, and the relative 2-norm of the error stays below u (1 + ¼ log2 N).

mod exchange;
mod generator;
mod stage;

/// The kind of transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// X_k = Σ x_n e^(-2πi n k / N).
    Forward,
    /// x_n = Σ X_k e^(2πi n k / N), without the factor 1 / N.
    Inverse,
    /// X_k = Σ x_n e^(-2πi n (k + ¼) / N).
    ForwardRightAngle,
    /// x_n = (1/N) Σ X_k e^(2πi n (k + ¼) / N), with the factor.
    InverseRightAngle,
}

impl Kind {
    fn inverse(self) -> bool {
        matches!(self, Kind::Inverse | Kind::InverseRightAngle)
    }

    /// The shift of the evaluation points, in units of 1 / N of a turn. The inverse is shifted on its results instead.
    fn shift(self) -> f64 {
        if self == Kind::ForwardRightAngle {
            0.25
        } else {
            0.0
        }
    }
}

/// A transform to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transform<'a> {
    /// The WGSL function's name.
    pub name: &'a str,
    pub kind: Kind,
    /// log2 of the radix of each stage, first to last. Their sum is log2 N.
    pub radices: &'a [u32],
    /// log2 of E, the values per invocation; no radix is larger.
    pub held: u32,
    /// Whether complex values are exchanged whole, through an array of `vec2<f32>`, instead of real parts before
    /// imaginary ones.
    pub whole: bool,
    /// Whether the function takes a second array, `h`, and transforms the product v h. Only for inverse transforms.
    pub product: bool,
    /// Whether the function multiplies its input by twiddles, as a pass over the columns of a longer transform needs.
    ///
    /// It then takes `w`: b, g, g², g⁴, .., one power per bit of the first stage, and transforms the values
    /// x_{j + T s} b g^s, T s < N. The radix of the first stage must be E.
    pub twiddled: bool,
    /// log2 of the number of transforms whose values lie side by side in workgroup memory, value a of transform c at
    /// a 2^columns + c; 0 if each transform has N words of its own.
    pub columns: u32,
    /// Whether the last exchange also regroups values, so that neighbouring invocations hold one column. Only with
    /// `columns`.
    ///
    /// The function then also takes `k`, the invocation's number within its new column, and `to`, that column; they
    /// replace `j` and `at` from the last exchange on.
    pub regrouped: bool,
}

impl Transform<'_> {
    /// log2 N.
    fn log_length(&self) -> u32 {
        self.radices.iter().sum()
    }

    /// log2 of the invocations that share the transform.
    fn log_threads(&self) -> u32 {
        self.log_length() - self.held
    }
}

/// log2 of the longest transform with padded exchanges.
const LONGEST_PADDED: u32 = 10;

/// Writes the functions of one kernel, and collects the table of twiddles that they share.
///
/// The functions are `fn NAME(v: ptr<function, array<vec2<f32>, E>>, j: u32, at: u32)`. `j` is the invocation's number
/// among the T of its transform. `at` is the offset in `sh_exchange` of the transform's N words: N (or
/// [`words`](Self::words)) times the transform's number in the workgroup, or that number itself with `columns`. With
/// `product`, `h: ptr<function, array<vec2<f32>, E>>` follows `v`. All invocations of the workgroup must call the
/// function together, since it has barriers. The kernel declares
/// ```wgsl
/// var<workgroup> sh_exchange: array<f32, ..>; // vec2<f32> with `whole`; N words for each transform of the workgroup
/// var<storage, read> twiddles: array<vec2<f32>>; // `Generator::table`
/// ```
/// and includes `shaders/lib/complex.wgsl`. A transform with exchanges begins with a barrier, so transforms may follow
/// each other directly. A transform overwrites `sh_exchange`.
#[derive(Default)]
pub(crate) struct Generator {
    table: Vec<[f32; 2]>,
    padded: bool,
}
