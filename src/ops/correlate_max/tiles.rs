//! The plan: assigns lags to workgroups, to be searched directly or by transforms.

use crate::ops::choice::{Choice, Choices, ConvMethod};
use crate::ops::conv::{ConvRequest, holds, result_length};
use crate::plan::{Constants, TileList, constants};
use crate::ragged::{Layout, Pairs};
use crate::{Error, Result, host};

/// Invocations of a workgroup that convolves directly, lags per invocation, and lags per workgroup.
const WG: usize = 64;
const R: usize = 7;
const TILE: usize = WG * R;
pub(super) const CUT: Constants = constants![WG, R, TILE];

/// The workgroups that search all lags.
#[derive(Debug)]
pub(super) struct Tiles {
    /// The tiles, if some pair needs more than one, or a transform; otherwise workgroup g searches all of pair g.
    pub list: Option<TileList>,
    /// The number of workgroups of the direct method.
    pub groups: u32,
    /// The number of partial maxima for the finishing dispatch.
    pub partials: u32,
    /// The multiply-adds, including those on staged zeros.
    pub cost: u64,
    /// The pairs that are convolved by transforms: each has one partial maximum.
    pub transformed: Vec<usize>,
}

impl Tiles {
    pub(super) fn new(a: &Layout, b: &Layout, pairs: &Pairs, choices: &Choices) -> Result<Tiles> {
        let mut transformed = Vec::new();
        let mut lengths = host::room(pairs.len())?;
        let mut taps = host::room(pairs.len())?;
        let mut longest = 0;
        let mut cost = 0u64;
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let (m, n) = (a.length(i), b.length(j));
            let lags = result_length(m, n);
            if lags > 0 {
                check_lags(pair, m.max(n))?;
            }
            if m > 0 && n > 0 && choices.get(pair) != Choice::Direct {
                // One tile, for its maximum. Its cost of 0 puts it after all tiles of the direct method.
                host::push(&mut transformed, pair)?;
                lengths.push(1);
                taps.push(0);
                continue;
            }
            longest = longest.max(lags);
            let products = (lags.div_ceil(TILE) * TILE) as u64;
            cost = products
                .saturating_mul(m.min(n) as u64)
                .saturating_add(cost);
            lengths.push(lags as u32);
            taps.push(m.min(n) as u64);
        }
        let list = (longest > TILE || !transformed.is_empty())
            .then(|| TileList::new(&lengths, TILE, |pair| taps[pair]))
            .transpose()?;
        let partials = list.as_ref().map_or(pairs.len() as u32, |list| list.tiles);
        Ok(Tiles {
            list,
            groups: partials - transformed.len() as u32,
            partials,
            cost,
            transformed,
        })
    }
}

/// The methods of all pairs on a GPU: by transforms where they fit one workgroup, otherwise directly.
pub(super) fn choices(
    request: &ConvRequest<'_>,
    a: &Layout,
    b: &Layout,
    pairs: &Pairs,
) -> Result<Choices> {
    let choices = request.choices(a, b, pairs)?;
    let fits = |choice| match choice {
        Choice::Direct => true,
        Choice::Fft { length } => holds(length / 2),
        Choice::OverlapSave { .. } => false,
    };
    if request.method == ConvMethod::Auto {
        return Ok(choices.directly_unless(fits));
    }
    match (0..pairs.len()).find(|&pair| !fits(choices.get(pair))) {
        None => Ok(choices),
        Some(pair) => Err(Error::method(
            pair,
            request.method.name(),
            "this device supports only the direct method, and transforms that fit one workgroup"
                .to_owned(),
        )),
    }
}

/// Checks that all lags fit i32.
fn check_lags(pair: usize, longer: usize) -> Result<()> {
    match longer > 1 << 31 {
        false => Ok(()),
        true => Err(Error::size_overflow(format!(
            "twice the number of lags of series of {longer} values"
        ))
        .at(pair)),
    }
}
