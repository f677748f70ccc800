//! FFTs that one workgroup makes in registers and workgroup memory, written out as WGSL.
//!
//! A transform of N values is shared by T = N / E invocations of E values each, both powers of two. Invocation j holds
//! in `v[s]` value j + T s, before the transform, between its stages and after it: so loads and stores are contiguous
//! over invocations, and what is done value by value needs no exchange. Stages are those of Stockham's algorithm,
//! decimation in time.
//!
//! **Butterflies.** A stage of radix r evaluates a polynomial of r coefficients at the r points that its twiddle w
//! turns to, halving it again and again: p = e + t o and m = e - t o = 2 e - p, six fused multiply-adds for two values.
//! All t are powers of w turned by constants; w, w², w⁴, .. come from a table made in f64, so that none is rounded more
//! than twice.
//!
//! **Exchange.** Between stages values change hands through workgroup memory, real parts first and then imaginary ones,
//! which halves the memory and lets more workgroups run at once. Addresses are XORed with bits of their own
//! ([`Swizzle`](exchange::Swizzle)): neither writes nor reads of a warp meet in a bank, and no memory is spent on
//! padding. Where a little more memory does not matter, padding ([`Generator::padded`]) saves instructions and
//! registers.
//!
//! **Right angle.** `RightAngle` transforms evaluate at the roots of z^N = -i in place of z^N = 1, which only changes
//! twiddles. The product of two such spectra belongs to the product of the polynomials mod z^N + i, and 2 N real values
//! a_k enter as the N complex values a_n - i a_{n + N}: one transform of N makes a whole linear convolution of up to 2
//! N values.
//!
//! Error: each stage rounds as its butterflies do, and the relative 2-norm of the error stays below u (1 + ¼ log2 N).

mod exchange;
mod stage;

use std::fmt::Write;

use exchange::Exchange;
use stage::Stage;

/// Which transform.
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

    /// How far the points evaluated are shifted, in steps of 1 / N turn. The inverse's shift is on its results.
    fn shift(self) -> f64 {
        if self == Kind::ForwardRightAngle {
            0.25
        } else {
            0.0
        }
    }
}

/// One transform to be written out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transform<'a> {
    /// The WGSL function's name.
    pub name: &'a str,
    pub kind: Kind,
    /// log2 of the radix of each stage, first to last. Their sum is log2 N.
    pub radices: &'a [u32],
    /// log2 of E, the values of an invocation; no radix is larger.
    pub held: u32,
    /// Whether complex values are exchanged whole, through an array of `vec2<f32>`, and not part after part.
    pub whole: bool,
    /// Whether the function takes a second array, `h`, and transforms v h. Only inverse transforms do.
    pub product: bool,
    /// Whether the function takes `w`: b, g, g², g⁴, .. for as many powers as the first stage has bits, and transforms
    /// the values x_{j + T s} b g^s, T s < N. The first stage's radix is then E. This is what a pass over columns of a
    /// longer transform needs.
    pub turned: bool,
    /// log2 of the transforms whose values lie side by side in workgroup memory, value a of transform c at a 2^columns
    /// + c; 0 where each transform has N words of its own.
    pub columns: u32,
    /// Whether the last exchange also hands the values of a column to neighbouring invocations: the function takes `k`
    /// and `to`, the number of the invocation among those of its column and that column, from there on, in place of `j`
    /// and `at`. Only with `columns`.
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

/// log2 of the longest transform whose exchanges are padded.
const LONGEST_PADDED: u32 = 10;

/// Writes the functions of one kernel, and collects the table of twiddles that they share.
///
/// The functions are `fn NAME(v: ptr<function, array<vec2<f32>, E>>, j: u32, at: u32)`: `j` is the invocation's number
/// among the T of its transform, and `at` is where the transform's N words of `sh_exchange` begin, N (or
/// [`words`](Self::words)) times its number in the workgroup, or that number itself where there are `columns`. With
/// `product` there is `h: ptr<function, array<vec2<f32>, E>>` after `v`. All invocations of the workgroup must call the
/// function together: it has barriers. The kernel declares
/// ```wgsl
/// var<workgroup> sh_exchange: array<f32, ..>; // vec2<f32> with `whole`; N words for each transform of the workgroup
/// var<storage, read> twiddles: array<vec2<f32>>; // `Generator::table`
/// ```
/// and includes `shaders/lib/complex.wgsl`. A transform begins with a barrier if it exchanges at all, so transforms may
/// follow each other, and loads of `sh_exchange` must not be expected to survive one.
#[derive(Default)]
pub(crate) struct Generator {
    table: Vec<[f32; 2]>,
    padded: bool,
}

impl Generator {
    pub(crate) fn new() -> Generator {
        Generator::default()
    }

    /// One whose short transforms keep lanes out of each other's banks by padding: a place is then a constant from the
    /// invocation's own, where a swizzle costs an instruction and a register for each slot. Long ones would not leave
    /// room for as many workgroups. Transforms must not have `columns` nor be exchanged `whole`.
    pub(crate) fn padded() -> Generator {
        Generator {
            padded: true,
            ..Generator::default()
        }
    }

    /// The words of `sh_exchange` that a transform of this generator takes.
    pub(crate) fn words(&self, transform: &Transform<'_>) -> u32 {
        let words = self.exchanges(transform).map(|exchange| exchange.words());
        words.fold(1 << transform.log_length(), u32::max)
    }

    /// What follows each stage but the last.
    fn exchanges(&self, transform: &Transform<'_>) -> impl Iterator<Item = Exchange> {
        let padded = self.padded && transform.log_length() <= LONGEST_PADDED;
        let inner = &transform.radices[..transform.radices.len() - 1];
        inner.iter().scan(0, move |done, &radix| {
            let exchange = Exchange::after(transform, *done, radix, padded);
            *done += radix;
            Some(exchange)
        })
    }

    /// The twiddles of every function written so far: (re, im) as bits.
    ///
    /// Table and functions fit when one generator has written the same transforms in the same order.
    pub(crate) fn into_table(self) -> Vec<u32> {
        let words = self.table.as_flattened().iter();
        words.map(|value| value.to_bits()).collect()
    }

    /// The WGSL function of a transform.
    pub(crate) fn function(&mut self, transform: &Transform<'_>) -> String {
        let held = 1u32 << transform.held;
        let array = format!("ptr<function, array<vec2<f32>, {held}>>");
        let second = if transform.product {
            format!(", h: {array}")
        } else if transform.turned {
            let powers = transform.radices[0] + 1;
            format!(", w: ptr<function, array<vec2<f32>, {powers}>>")
        } else {
            String::new()
        };
        let regrouped = if transform.regrouped {
            ", k: u32, to: u32"
        } else {
            ""
        };
        let mut out = String::new();
        let _ = writeln!(
            out,
            "fn {}(v: {array}{second}, j: u32, at: u32{regrouped}) {{",
            transform.name
        );
        let mut done = 0;
        let mut exchange = String::new();
        let mut exchanges = self.exchanges(transform).collect::<Vec<_>>().into_iter();
        for (i, &radix) in transform.radices.iter().enumerate() {
            let stage = Stage {
                transform,
                done,
                radix,
                first: i == 0,
                last: i + 1 == transform.radices.len(),
            };
            stage.write(&mut out, &mut self.table, &exchange);
            exchange.clear();
            if let Some(next) = exchanges.next() {
                next.write(&mut exchange);
            }
            done += radix;
        }
        out.push_str("}\n");
        out
    }
}
