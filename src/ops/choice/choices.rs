//! The methods of all pairs of a launch.

use std::collections::BTreeMap;

use super::costs::CostTable;
use super::method::{Choice, ConvMethod};
use super::window::Meeting;
use crate::ragged::{DType, Layout, Pairs};
use crate::{Error, Result, host};

/// The size of the cache of choices by the two lengths.
const BEFORE: usize = 1 << 12;

/// The methods of all pairs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choices {
    /// The index in `known` of each pair's choice; empty if every pair is direct.
    of: Vec<u16>,
    /// The possible choices, and the number of pairs of each.
    known: Vec<(Choice, u32)>,
    /// The lengths of all transforms, in increasing order.
    pub lengths: Vec<u32>,
    /// The multiply-adds of all pairs of series, if they were summed while choosing.
    pub work: Option<u64>,
}

impl Choices {
    /// The bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.of[..])
    }

    /// The direct method for every pair.
    pub(crate) fn direct() -> Choices {
        Choices {
            of: Vec::new(),
            known: Vec::new(),
            lengths: Vec::new(),
            work: None,
        }
    }

    /// Chooses a method for every pair. It is an error if an operand is not a batch of series, or if the requested
    /// method cannot convolve a pair.
    pub(crate) fn new(
        dtype: DType,
        (a, b): (&Layout, &Layout),
        pairs: &Pairs,
        method: ConvMethod,
        costs: &CostTable,
    ) -> Result<Choices> {
        a.check_rank(1)?;
        b.check_rank(1)?;
        let Some(mut choosing) = Choosing::new(dtype, method, costs)? else {
            return Ok(Choices::direct());
        };
        // A direct-mapped cache of earlier choices, by the two lengths.
        let mut before = host::filled((0, 0, 0), BEFORE)?;
        choosing.of = host::room(pairs.len())?;
        // The work of whole transforms follows from their counts below; only that of the other choices is summed here.
        let (mut direct, mut blocks) = (0u64, 0u64);
        pairs.try_lengths(a, b, |m, n| {
            let place = m.wrapping_add(n.wrapping_mul(62)) as usize % BEFORE;
            let slot = &mut before[place];
            if (slot.0, slot.1) != (m, n) {
                let choose = || costs.choose(m.into(), n.into(), method);
                *slot = (m, n, choosing.number(m == 0 || n == 0, choose)?);
            }
            let number = slot.2;
            let products = u64::from(m) * u64::from(n);
            direct = direct.saturating_add(if number == 0 { products } else { 0 });
            if number != 0 && number % 2 == 0 {
                let choice = choosing.known[usize::from(number)].0;
                blocks = blocks.saturating_add(costs.work(m.into(), n.into(), choice));
            }
            choosing.push(number);
            Ok(())
        })?;
        let mut choices = choosing.finish();
        let transforms = choices
            .counted()
            .filter_map(|(choice, pairs)| match choice {
                Choice::Fft { .. } => Some(costs.work(1, 1, choice).saturating_mul(pairs as u64)),
                Choice::Direct | Choice::OverlapSave { .. } => None,
            });
        let work = transforms
            .chain([direct, blocks])
            .fold(0, u64::saturating_add);
        choices.work = Some(work);
        Ok(choices)
    }

    /// Like [`new`](Self::new), for boxes, some of whose results are kept.
    pub(crate) fn of_meetings(
        dtype: DType,
        meetings: impl Iterator<Item = Meeting>,
        method: ConvMethod,
        costs: &CostTable,
    ) -> Result<Choices> {
        let Some(mut choosing) = Choosing::new(dtype, method, costs)? else {
            return Ok(Choices::direct());
        };
        // Batches often have one shape, so the last choice is cached.
        let mut before: Option<(Meeting, u16)> = None;
        for meeting in meetings {
            let number = match before {
                Some((other, number)) if other == meeting => number,
                _ => {
                    choosing.number(meeting.is_empty(), || costs.choose_boxes(&meeting, method))?
                }
            };
            before = Some((meeting, number));
            host::reserve(&mut choosing.of, 1)?;
            choosing.push(number);
        }
        Ok(choosing.finish())
    }

    /// The same choices, with the direct method for pairs whose choice does not fit.
    pub(crate) fn directly_unless(mut self, fits: impl Fn(Choice) -> bool) -> Choices {
        for (choice, _) in self.known.iter_mut().filter(|(choice, _)| !fits(*choice)) {
            *choice = Choice::Direct;
            self.work = None;
        }
        self
    }

    /// The index and the cost of every pair of series that is not empty.
    pub(crate) fn with_costs<'a>(
        &'a self,
        a: &'a Layout,
        b: &'a Layout,
        pairs: &'a Pairs,
        costs: &'a CostTable,
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        // The cost of a whole transform does not depend on the lengths.
        let known = self.mapped(|choice| match choice {
            Choice::Fft { .. } => (choice, costs.cost(1, 1, choice)),
            Choice::Direct | Choice::OverlapSave { .. } => (choice, 0.0),
        });
        let numbered = pairs.iter().enumerate();
        numbered.filter_map(move |(pair, (i, j))| {
            let (m, n) = (a.length(i) as u64, b.length(j) as u64);
            let cost = match known(pair) {
                (Choice::Fft { .. }, cost) => cost,
                (choice, _) => costs.cost(m, n, choice),
            };
            (m > 0 && n > 0).then_some((pair, cost))
        })
    }

    /// The totals of these pairs, each given by its index and its cost, for every choice.
    pub(crate) fn totals(
        &self,
        pairs: impl Iterator<Item = (usize, f64)>,
    ) -> BTreeMap<Choice, Total> {
        let known = self.known.iter().map(|(choice, _)| *choice);
        let known = known.chain(self.all_direct().then_some(Choice::Direct));
        let mut totals: Vec<_> = known.map(|choice| (choice, Total::default())).collect();
        for (pair, cost) in pairs {
            let number = self.of.get(pair).map_or(0, |number| usize::from(*number));
            totals[number].1.add(1, cost, cost);
        }
        let mut by_choice = BTreeMap::<Choice, Total>::new();
        for (choice, Total { pairs, cost, most }) in
            totals.into_iter().filter(|(_, total)| total.pairs > 0)
        {
            by_choice.entry(choice).or_default().add(pairs, cost, most);
        }
        by_choice
    }

    /// The choices of some of the pairs, in order.
    pub(crate) fn only(&self, pairs: &[usize]) -> Result<Choices> {
        let mut some = Choices {
            known: self.known.clone(),
            of: host::exact(pairs.iter().map(|&pair| self.of[pair]))?,
            lengths: self.lengths.clone(),
            work: None,
        };
        some.known.iter_mut().for_each(|(_, count)| *count = 0);
        for &number in &some.of {
            some.known[usize::from(number)].1 += 1;
        }
        Ok(some)
    }

    /// The method of a pair.
    pub(crate) fn get(&self, pair: usize) -> Choice {
        let number = self.of.get(pair).map(|number| usize::from(*number));
        number.map_or(Choice::Direct, |number| self.known[number].0)
    }

    /// A lookup that returns `value` of a pair's choice, computed once per distinct choice.
    pub(crate) fn mapped<T: Copy>(&self, value: impl Fn(Choice) -> T) -> impl Fn(usize) -> T {
        let direct = value(Choice::Direct);
        let known: Vec<T> = self
            .known
            .iter()
            .map(|(choice, _)| value(*choice))
            .collect();
        move |pair| match self.of.get(pair) {
            Some(number) => known[usize::from(*number)],
            None => direct,
        }
    }

    /// The distinct choices, with the number of pairs of each; none if all pairs are direct.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Choice, usize)> {
        let counted = self
            .known
            .iter()
            .map(|&(choice, pairs)| (choice, pairs as usize));
        counted.filter(|(_, pairs)| *pairs > 0)
    }

    /// Whether no pair needs a transform.
    pub(crate) fn all_direct(&self) -> bool {
        self.of.is_empty()
    }
}

/// The pairs of one choice, the sum of their costs, and the highest of them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Total {
    pub pairs: usize,
    pub cost: f64,
    pub most: f64,
}

impl Total {
    fn add(&mut self, pairs: usize, cost: f64, most: f64) {
        self.pairs += pairs;
        self.cost += cost;
        self.most = self.most.max(most);
    }
}

/// The choices made so far, pair by pair.
struct Choosing<'a> {
    dtype: DType,
    method: ConvMethod,
    costs: &'a CostTable,
    of: Vec<u16>,
    known: Vec<(Choice, u32)>,
}

impl<'a> Choosing<'a> {
    /// `None` if every pair is direct.
    fn new(dtype: DType, method: ConvMethod, costs: &'a CostTable) -> Result<Option<Choosing<'a>>> {
        let transforms = dtype == DType::F32 && costs.longest() > 0;
        if method == ConvMethod::Direct || (method == ConvMethod::Auto && !transforms) {
            return Ok(None);
        }
        let mut known = vec![(Choice::Direct, 0)];
        for length in costs.transforms() {
            let both = [Choice::Fft { length }, Choice::OverlapSave { length }];
            host::extend(&mut known, both.map(|choice| (choice, 0)))?;
        }
        Ok(Some(Choosing {
            dtype,
            method,
            costs,
            of: Vec::new(),
            known,
        }))
    }

    /// The index in `known` of the choice for the next pair.
    fn number(
        &self,
        empty: bool,
        choose: impl FnOnce() -> Result<(Choice, f64), String>,
    ) -> Result<u16> {
        let chosen = if empty {
            Ok((Choice::Direct, 0.0))
        } else if self.dtype == DType::F32 {
            choose()
        } else {
            Err(format!(
                "values of {} support only the direct method",
                self.dtype
            ))
        };
        let (choice, _) =
            chosen.map_err(|reason| Error::method(self.of.len(), self.method.name(), reason))?;
        Ok(match choice {
            Choice::Direct => 0,
            Choice::Fft { length } => 1 + 2 * self.costs.place(length) as u16,
            Choice::OverlapSave { length } => 2 + 2 * self.costs.place(length) as u16,
        })
    }

    /// Adds the choice of the next pair, for which memory is reserved.
    fn push(&mut self, number: u16) {
        self.known[usize::from(number)].1 += 1;
        self.of.push(number);
    }

    fn finish(self) -> Choices {
        let Choosing { of, known, .. } = self;
        let used = known.iter().filter(|(_, pairs)| *pairs > 0);
        let mut lengths: Vec<u32> = used.filter_map(|(choice, _)| choice.length()).collect();
        lengths.dedup();
        match lengths.is_empty() {
            true => Choices::direct(),
            false => Choices {
                of,
                known,
                lengths,
                work: None,
            },
        }
    }
}
