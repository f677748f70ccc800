//! Writes whole transforms.

use std::fmt::Write;

use super::exchange::Exchange;
use super::stage::Stage;
use super::{Generator, LONGEST_PADDED, Transform};

impl Generator {
    pub(crate) fn new() -> Generator {
        Generator::default()
    }

    /// A generator whose short transforms avoid bank conflicts by padding.
    ///
    /// With padding, the addresses of an invocation differ by constants, whereas a swizzle costs an instruction and a
    /// register per slot. Long transforms are not padded: fewer workgroups would fit. Transforms must not have
    /// `columns` or be exchanged `whole`.
    pub(crate) fn padded() -> Generator {
        Generator {
            padded: true,
            ..Generator::default()
        }
    }

    /// The words of `sh_exchange` that a transform of this generator needs.
    pub(crate) fn words(&self, transform: &Transform<'_>) -> u32 {
        let words = self.exchanges(transform).map(|exchange| exchange.words());
        words.fold(1 << transform.log_length(), u32::max)
    }

    /// The exchanges, one after each stage but the last.
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
    /// The table also serves another generator's functions if both generators wrote the same transforms in the same
    /// order.
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
        } else if transform.twiddled {
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
