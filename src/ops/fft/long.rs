//! Transforms that are too long for one workgroup, in several passes.
//!
//! A power of two takes passes, operand → scratch → result. Any other length n takes Bluestein's algorithm: with
//! w_k = e^(-πi k² / n), X_k = w_k Σ_j (x_j w_j) conj(w_{k-j}), a convolution by three transforms of a power of two M ≥
//! 2 n − 1. Elements of one length share the spectrum of conj(w). An even number of real values is transformed as half
//! as many complex ones: the first pass of an inverse builds them from the spectrum, and the last pass of a forward
//! transform takes them apart.
//!
//! If the elements together need too much scratch, they run in several turns of at least one element each.

use std::collections::HashMap;

use super::items::{Item, Modes};
use crate::ops::multipass::{
    self, CHIRP, FILTER, Long, PAIRED, PLAIN, PRODUCT, Place, REAL, back, pass_count, there,
};
use crate::plan::Dispatch;
use crate::{Error, Result, host};

/// log2 of the longest transform, and of the longest transform inside Bluestein's algorithm.
pub(super) const LOG_LONGEST: u32 = multipass::LOG_LONGEST;
pub(super) const LOG_LONGEST_CONVOLVED: u32 = 23;

/// The scratch buffers: values between passes, and spectra.
const ASIDE: usize = 1;
const SPECTRA: usize = 2;
const SCRATCHES: usize = 3;

/// The elements that run in one turn.
#[derive(Default)]
struct Turn {
    /// The transforms that run first, and those that depend on them.
    first: Vec<Long>,
    then: Vec<Long>,
    /// The offset of the spectrum of conj(w), by n.
    filters: HashMap<u32, u32>,
    /// Values used in each scratch buffer.
    used: [u32; SCRATCHES],
}

impl Turn {
    fn new() -> Turn {
        Turn { ..Turn::default() }
    }

    fn take(&mut self, scratch: usize, log: u32) -> u32 {
        let at = self.used[scratch];
        self.used[scratch] += 1 << log;
        at
    }

    /// The words of all scratch buffers if an element with passes of 2^log values is added.
    fn words_with(&self, log: u32, n: u32, modes: Modes) -> u64 {
        let parts = if n.is_power_of_two() {
            1 + u32::from(modes.store & REAL != 0 && pass_count(log, modes.store) > 2)
        } else {
            2 + 2 * u32::from(!self.filters.contains_key(&n))
        };
        let used: u64 = self.used.iter().map(|&used| u64::from(used)).sum();
        2 * (used + (u64::from(parts) << log))
    }

    /// Adds a transform of 2^log values.
    fn power(&mut self, log: u32, item: Item, modes: Modes) -> Result<()> {
        let [from, to, n, factor] = item;
        let aside = (Place::Scratch(ASIDE), self.take(ASIDE, log));
        // The first of three passes writes to the result, unless it holds real values, which may begin at any word.
        let early = match modes.store & REAL {
            0 => (Place::Result, to),
            _ if pass_count(log, modes.store) == 2 => aside,
            _ => (Place::Scratch(SPECTRA), self.take(SPECTRA, log)),
        };
        let plain = |mode, plain: bool| if mode == 0 && plain { PLAIN } else { mode };
        let factor = f32::from_bits(factor);
        let transform = Long {
            log,
            route: there(
                pass_count(log, modes.store),
                (Place::Operand(0), from),
                early,
                aside,
                (Place::Result, to),
            ),
            load: plain(modes.load, true),
            store: plain(modes.store, factor == 1.0),
            n,
            factor,
            second: 0,
        };
        host::push(&mut self.first, transform)
    }

    /// Adds a transform of any length, by transforms of 2^log values.
    fn convolved(&mut self, log: u32, item: Item, modes: Modes) -> Result<()> {
        let [from, to, n, factor] = item;
        let aside = (Place::Scratch(ASIDE), self.take(ASIDE, log));
        let all = |route| Long {
            log,
            route,
            load: PLAIN,
            store: PLAIN,
            n,
            factor: 1.0,
            second: 0,
        };
        let filter = match self.filters.get(&n) {
            Some(&at) => at,
            None => {
                let at = self.take(SPECTRA, log);
                let spectrum = (Place::Scratch(SPECTRA), at);
                // A separate region, because the elements of this length use theirs at the same time.
                let aside = (Place::Scratch(ASIDE), self.take(ASIDE, log));
                let passes = pass_count(log, PLAIN);
                let from = (Place::Operand(0), 0);
                let filter = Long {
                    load: FILTER,
                    ..all(there(passes, from, spectrum, aside, spectrum))
                };
                host::push(&mut self.first, filter)?;
                host::insert(&mut self.filters, n, at)?;
                at
            }
        };
        let spectrum = (Place::Scratch(SPECTRA), self.take(SPECTRA, log));
        let (passes, from) = (pass_count(log, PLAIN), (Place::Operand(0), from));
        let forward = Long {
            load: modes.load | CHIRP,
            ..all(there(passes, from, spectrum, aside, spectrum))
        };
        host::push(&mut self.first, forward)?;
        let (passes, to) = (pass_count(log, modes.store), (Place::Result, to));
        let product = Long {
            load: PRODUCT,
            store: modes.store | CHIRP,
            factor: f32::from_bits(factor),
            second: filter,
            ..all(back(passes, spectrum, aside, spectrum, to))
        };
        host::push(&mut self.then, product)
    }
}

/// The dispatches of these elements, each with log2 of the power of two that its passes transform, and the words of the
/// scratch buffers.
pub(super) fn dispatches(
    elements: &[(u32, Item)],
    modes: Modes,
    scratch: u64,
) -> Result<(Vec<Dispatch>, Vec<u64>)> {
    let mut dispatches = Vec::new();
    let mut words = [0; SCRATCHES];
    let mut turn = Turn::new();
    let mut finish = |turn: &mut Turn| {
        dispatches.extend(multipass::dispatches(&turn.first)?);
        dispatches.extend(multipass::dispatches(&turn.then)?);
        for (words, used) in words.iter_mut().zip(turn.used) {
            *words = (2 * u64::from(used)).max(*words);
        }
        *turn = Turn::new();
        Ok::<_, Error>(())
    };
    for &(log, item) in elements {
        let [from, to, n, factor] = item;
        let halved = modes.are_real() && n % 2 == 0;
        let item = [from, to, n >> u32::from(halved), factor];
        let modes = match halved {
            true => Modes {
                load: modes.load | PAIRED,
                store: modes.store | PAIRED,
            },
            false => modes,
        };
        if turn.used[ASIDE] > 0 && turn.words_with(log, item[2], modes) > scratch {
            finish(&mut turn)?;
        }
        match n.is_power_of_two() {
            true => turn.power(log, item, modes)?,
            false => turn.convolved(log, item, modes)?,
        }
    }
    finish(&mut turn)?;
    Ok((dispatches, words.into()))
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ops::operation::SCRATCH;

    /// 2²⁶ complex values, or twice as many real ones, fill the scratch exactly.
    #[apply(unit_test)]
    fn what_fits_has_one_turn() {
        let complex = Modes { load: 0, store: 0 };
        let real = Modes { load: 1, store: 2 };
        for (log, passes) in [(14, 2), (17, 2), (19, 2), (24, 3)] {
            let count = 1 << (26 - log);
            for modes in [complex, real] {
                let halved = u32::from(modes.are_real());
                let item = [0, 0, 1 << (log + halved), 0];
                let planned = dispatches(&vec![(log, item); count], modes, SCRATCH);
                let (dispatches, words) = planned.unwrap();
                assert_eq!(dispatches.len(), passes);
                assert_eq!(words, [0, SCRATCH, 0]);
                let one_more = vec![(log, item); count + 1];
                assert_eq!(
                    super::dispatches(&one_more, modes, SCRATCH)
                        .unwrap()
                        .0
                        .len(),
                    2 * passes
                );
            }
        }
    }
}
