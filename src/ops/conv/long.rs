//! Convolutions that are too long for one workgroup, by multi-pass transforms.
//!
//! A pair whose results fit 2 N values takes right-angle transforms of N complex values: real polynomials modulo x^N =
//! -i, whose product is c_j - i c_{j+N}. The first pass of each operand reads real values, the first inverse pass reads
//! products of spectra, and the last pass writes real values. Pairs run in turns, whose length the scratch buffers
//! limit; an operand that several pairs share is transformed once per turn.

use std::collections::HashMap;

use super::fused::Item;
use crate::ops::multipass::{
    self, BACKWARDS, Long, PLAIN, PRODUCT, Place, RIGHT_ANGLE, back, pass_count, there,
};
use crate::plan::Dispatch;
use crate::{Error, Result, host};

/// The scratch buffers: values between passes, and spectra.
const ASIDE: usize = 0;
const SPECTRA: usize = 1;
pub(super) const SCRATCHES: usize = 2;

/// The largest number of values in a scratch buffer: 128 MiB, which every GPU can bind. Longer batches run in several
/// turns.
const SCRATCH: u32 = 1 << 24;

/// The pairs that run in one turn.
#[derive(Default)]
struct Turn {
    operands: Vec<Long>,
    products: Vec<Long>,
    /// The offset of each spectrum, by the operand's number, its begin and length, and log2 N.
    spectra: HashMap<(usize, u32, u32, u32), u32>,
    /// Values used in each scratch buffer, and the values that products put into `ASIDE` after the operands are done
    /// with it.
    used: [u32; SCRATCHES],
    by_products: u32,
}

/// Allocates 2^log values.
fn take(used: &mut u32, log: u32) -> u32 {
    let at = *used;
    *used += 1 << log;
    at
}

impl Turn {
    fn new() -> Turn {
        Turn { ..Turn::default() }
    }

    /// The offset of an operand's spectrum; adds the transform if this turn does not have it yet.
    fn spectrum(
        &mut self,
        log: u32,
        operand: usize,
        (begin, n): (u32, u32),
        load: u32,
    ) -> Result<u32> {
        let key = (operand, begin, n, log);
        if let Some(&at) = self.spectra.get(&key) {
            return Ok(at);
        }
        let at = take(&mut self.used[SPECTRA], log);
        let spectrum = (Place::Scratch(SPECTRA), at);
        let aside = (Place::Scratch(ASIDE), take(&mut self.used[ASIDE], log));
        let from = (Place::Operand(operand), begin);
        let transform = Long {
            log,
            route: there(pass_count(log, PLAIN), from, spectrum, aside, spectrum),
            load,
            store: PLAIN,
            n,
            factor: 1.0,
            second: 0,
        };
        host::push(&mut self.operands, transform)?;
        host::insert(&mut self.spectra, key, at)?;
        Ok(at)
    }

    fn pair(&mut self, log: u32, pair: &Item) -> Result<()> {
        let load = if pair.reversed {
            BACKWARDS
        } else {
            RIGHT_ANGLE
        };
        let first = self.spectrum(log, 0, (pair.a, pair.m), RIGHT_ANGLE)?;
        let second = self.spectrum(log, 1, (pair.b, pair.n), load)?;
        let aside = (Place::Scratch(ASIDE), take(&mut self.by_products, log));
        // Three passes need one more region; they must not overwrite the spectra, which other pairs may still need.
        let late = match pass_count(log, RIGHT_ANGLE) {
            2 => aside,
            _ => (Place::Scratch(SPECTRA), take(&mut self.used[SPECTRA], log)),
        };
        let from = (Place::Scratch(SPECTRA), first);
        let product = Long {
            log,
            route: back(
                pass_count(log, RIGHT_ANGLE),
                from,
                aside,
                late,
                (Place::Result, pair.c),
            ),
            load: PRODUCT,
            store: RIGHT_ANGLE,
            n: pair.write,
            factor: 1.0 / (1u32 << log) as f32,
            second,
        };
        host::push(&mut self.products, product)
    }
}

/// The dispatches that convolve these pairs, whose `length` is N, and the words of the scratch buffers.
pub(super) fn dispatches(pairs: &[Item]) -> Result<(Vec<Dispatch>, [u64; SCRATCHES])> {
    let mut dispatches = Vec::new();
    let mut words = [0; SCRATCHES];
    let mut turn = Turn::new();
    let mut finish = |turn: &mut Turn| {
        dispatches.extend(multipass::dispatches(&turn.operands)?);
        dispatches.extend(multipass::dispatches(&turn.products)?);
        turn.used[ASIDE] = turn.used[ASIDE].max(turn.by_products);
        for (words, used) in words.iter_mut().zip(turn.used) {
            *words = (2 * u64::from(used)).max(*words);
        }
        *turn = Turn::new();
        Ok::<_, Error>(())
    };
    for pair in pairs {
        let log = pair.length.ilog2();
        // Two spectra, and the intermediate values of three inverse passes.
        let used = turn.used[SPECTRA].max(turn.by_products);
        if used + (3 << log) > SCRATCH {
            finish(&mut turn)?;
        }
        turn.pair(log, pair)?;
    }
    finish(&mut turn)?;
    Ok((dispatches, words))
}
