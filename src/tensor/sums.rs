//! Sums across the elements of a batch.

use std::cmp::Reverse;

use super::Tensor;
use crate::error::Named;
use crate::ragged::{Layout, MAX_RANK, Number, PairList, Shape};
use crate::{Error, Pairing, Result, host};

impl<T: Number> Tensor<T> {
    /// The sum of all elements: a batch of one element, of the smallest shape that contains all of them.
    ///
    /// Missing entries are zero, as in [`add`](Self::add). A batch without elements gives an empty element. Any rank.
    /// Integers wrap. NaN and infinity stay at their index. Respects equivalence: trailing zeros add zeros. The order
    /// of additions follows from the shapes alone. Error bound of each value: |error| ≤ γ_h Σ|x| with h = ⌈log₂ n⌉ for
    /// n elements, where Σ|x| is over the values at its index; f16 is rounded at each of these h steps, so γ is that of
    /// f16. Cost: about log₂ n launches, which together move about 5 times the batch's values, and log₂ n times those
    /// of the largest element; on the host, a few words for each element.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![], vec![10, 20, 30]])?)?;
    /// assert_eq!(x.sum_batch()?.download_blocking()?.to_vecs()?, [vec![11, 22, 30]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SizeOverflow`](Error::SizeOverflow) if the sum does not fit; [`TooLarge`](Error::TooLarge),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn sum_batch(&self) -> Result<Tensor<T>> {
        let op = "sum_batch";
        let groups = host::filled(0, self.len()).named(op)?;
        self.sums(&groups, 1).named(op)
    }

    /// The sums of groups of elements: element g of the result is the sum of all elements i with `groups[i] == g`, of
    /// the smallest shape that contains them.
    ///
    /// There are `count` groups; a group without elements gives an empty element. Otherwise it behaves like
    /// [`sum_batch`](Self::sum_batch), with the number of elements of the largest group as n.
    ///
    /// ```
    /// # use vsla::{Device, Ragged};
    /// let x = Device::cpu().upload(&Ragged::from_rows([vec![1, 2], vec![5], vec![10, 20, 30]])?)?;
    /// let sums = x.sum_groups(&[0, 2, 0], 3)?.download_blocking()?;
    /// assert_eq!(sums.to_vecs()?, [vec![11, 22, 30], vec![], vec![5]]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ElementCount`](Error::ElementCount) unless `groups` has one entry per element; [`Index`](Error::Index) with
    /// the first group that is not below `count`; those of [`sum_batch`](Self::sum_batch).
    pub fn sum_groups(&self, groups: &[u32], count: usize) -> Result<Tensor<T>> {
        let op = "sum_groups";
        if groups.len() != self.len() {
            return Err(Error::element_count(self.len(), groups.len()).named(op));
        }
        if let Some(position) = groups.iter().position(|&group| group as usize >= count) {
            return Err(Error::index(None, position, groups[position] as usize, count).named(op));
        }
        self.sums(groups, count).named(op)
    }

    /// Adds the elements of each group in pairs of similar length, then these sums, and so on.
    fn sums(&self, groups: &[u32], count: usize) -> Result<Tensor<T>> {
        let op = "sum_groups";
        let layout = self.layout();
        let mut members = host::collect(0..groups.len() as u32).named(op)?;
        members.sort_unstable_by_key(|&i| {
            let element = i as usize;
            (groups[element], Reverse(layout.length(element)), i)
        });
        let mut sizes = host::zeroed::<u32>(count).named(op)?;
        groups.iter().for_each(|&group| sizes[group as usize] += 1);
        // Groups whose sums are not complete, each with its number of remaining members.
        let mut open = host::collect((0u32..).zip(sizes)).named(op)?;
        // Each batch of sums ends with an empty element, which takes the place of a missing partner.
        let nothing = Layout::uniform(1, Shape::new(&[0; MAX_RANK][..layout.rank()])?)?;
        let nothing = self.device().full(&nothing, T::default())?;
        let mut batch = self.join(&[&nothing])?;
        // Complete sums of each step, and the place of each group among all of them.
        let mut complete: Vec<Tensor<T>> = Vec::new();
        let mut places = host::zeroed::<u32>(count).named(op)?;
        let mut place = 0;
        loop {
            let empty = batch.len() as u32 - 1;
            let (mut rest, mut members_left) = (Vec::new(), &members[..]);
            let (mut chosen, mut pairs) = (Vec::new(), Vec::new());
            for &(group, size) in &open {
                let (own, others) = members_left.split_at(size as usize);
                members_left = others;
                if size > 1 {
                    let both = own.chunks(2);
                    let both = both.map(|both| (both[0], *both.get(1).unwrap_or(&empty)));
                    host::extend(&mut pairs, both).named(op)?;
                    host::push(&mut rest, (group, size.div_ceil(2))).named(op)?;
                } else {
                    host::push(&mut chosen, *own.first().unwrap_or(&empty)).named(op)?;
                    places[group as usize] = place;
                    place += 1;
                }
            }
            if !chosen.is_empty() || count == 0 {
                complete.push(batch.select(&chosen)?);
            }
            if pairs.is_empty() {
                break;
            }
            members.truncate(pairs.len());
            members
                .iter_mut()
                .zip(0..)
                .for_each(|(member, i)| *member = i);
            host::push(&mut pairs, (empty, empty)).named(op)?;
            let pairs = PairList::new(pairs)?;
            batch = batch.pair(&batch, Pairing::List(&pairs))?.add()?;
            open = rest;
        }
        let others: Vec<&Tensor<T>> = complete.iter().skip(1).collect();
        let all = complete[0].join(&others)?;
        match places.is_sorted() {
            true => Ok(all),
            false => all.select(&places),
        }
    }
}
