//! The choice of a method for each pair, by predicted cost.

use super::costs::CostTable;
use super::method::{Choice, ConvMethod};
use super::window::{Along, Meeting, results};
use crate::Result;

/// Below this ratio of the lengths, one transform is shorter than all blocks of overlap-save together.
const SAVE_RATIO: u64 = 4;

/// Up to this many taps, Auto is direct whatever the costs: both methods are bound by memory, and convolutions with
/// `[1]` stay exact.
const ALWAYS_DIRECT: u64 = 4;

impl CostTable {
    /// The method for operands of m and n values, both above 0, and its cost in nanoseconds; or the reason why the
    /// requested method cannot convolve them.
    pub(crate) fn choose(
        &self,
        m: u64,
        n: u64,
        method: ConvMethod,
    ) -> Result<(Choice, f64), String> {
        let none = |values: u64, what: &str, longest: usize| match longest {
            0 => "this device supports no transforms".to_owned(),
            longest => {
                format!("{what} needs a transform of {values} values, but the longest is {longest}")
            }
        };
        match method {
            ConvMethod::Auto => Ok(self.cheapest(m, n)),
            ConvMethod::Direct => Ok((Choice::Direct, self.direct(m, n))),
            ConvMethod::Fft => {
                let whole = self.whole(m, n);
                whole.ok_or_else(|| none(results(m, n), "it", self.longest()))
            }
            ConvMethod::OverlapSave => {
                let (blocks, longest) = (self.blocks_of(m, n), self.longest_block() as usize);
                blocks.ok_or_else(|| none(m.min(n).saturating_mul(2), "a block", longest))
            }
        }
    }

    /// The method for two boxes with at least one kept result, and its cost; or the reason why the requested method
    /// cannot convolve them.
    pub(crate) fn choose_boxes(
        &self,
        meeting: &Meeting,
        method: ConvMethod,
    ) -> Result<(Choice, f64), String> {
        if let Some(axis) = meeting.vectors().filter(|_| !self.is_cpu()) {
            return self.choose_part(meeting, axis, method);
        }
        let flat = meeting.flat();
        let copies = self.copies(meeting);
        let fits = results(flat.m, flat.n) <= u64::from(u32::MAX);
        let transformed = |method| {
            let chosen = match fits {
                true => self.choose(flat.m, flat.n, method),
                false => {
                    Err("its vectors have more values than 32-bit indices can address".to_owned())
                }
            };
            chosen.map(|(choice, cost)| (choice, cost + copies))
        };
        let direct = (Choice::Direct, self.direct_boxes(meeting));
        match method {
            ConvMethod::Direct => Ok(direct),
            ConvMethod::Fft | ConvMethod::OverlapSave => transformed(method),
            ConvMethod::Auto => {
                let (m, n) = meeting.sizes();
                if m.min(n) <= ALWAYS_DIRECT || !fits {
                    return Ok(direct);
                }
                let best = self.cheaper((Choice::Direct, direct.1 - copies), flat.m, flat.n);
                Ok((best.0, best.1 + copies))
            }
        }
    }

    /// The method for vectors if a GPU computes only their kept results. A transform in one workgroup need only be long
    /// enough that no result that wraps around reaches a kept one; only blocks that contain kept results are computed.
    fn choose_part(
        &self,
        meeting: &Meeting,
        axis: Along,
        method: ConvMethod,
    ) -> Result<(Choice, f64), String> {
        let (m, n) = (u64::from(axis.m), u64::from(axis.n));
        let short = self.transform(axis.pitch());
        let short = short.filter(|(length, _)| *length <= self.longest_block());
        let transformed = |method| match short {
            Some((length, cost)) => Ok((Choice::Fft { length }, cost)),
            None => {
                let (choice, cost) = self.choose(m, n, method)?;
                Ok((choice, cost + self.copies(meeting)))
            }
        };
        let in_blocks = |(choice, cost): (Choice, f64)| (choice, cost * share(axis));
        let direct = (Choice::Direct, self.direct_boxes(meeting));
        match method {
            ConvMethod::Direct => Ok(direct),
            ConvMethod::Fft => transformed(method),
            ConvMethod::OverlapSave => self.choose(m, n, method).map(in_blocks),
            ConvMethod::Auto if m.min(n) <= ALWAYS_DIRECT => Ok(direct),
            ConvMethod::Auto => {
                let blocks = self.blocks_of(m, n).map(in_blocks);
                let all = [transformed(ConvMethod::Fft).ok(), blocks];
                let cheaper = |best: (Choice, f64), next: (Choice, f64)| match next.1 < best.1 {
                    true => next,
                    false => best,
                };
                Ok(all.into_iter().flatten().fold(direct, cheaper))
            }
        }
    }

    /// The cheapest method for m and n values, both above 0.
    fn cheapest(&self, m: u64, n: u64) -> (Choice, f64) {
        let direct = (Choice::Direct, self.direct(m, n));
        match m.min(n) <= ALWAYS_DIRECT {
            true => direct,
            false => self.cheaper(direct, m, n),
        }
    }

    /// The given direct choice, or transforms if they cost less.
    fn cheaper(&self, direct: (Choice, f64), m: u64, n: u64) -> (Choice, f64) {
        let (longer, shorter) = (m.max(n), m.min(n));
        let mut best = direct;
        let whole = self.whole(m, n);
        if let Some(whole) = whole
            && whole.1 < best.1
        {
            best = whole;
        }
        let longest = |(choice, _): (Choice, f64)| choice.length() > Some(self.longest_block());
        if (longer / SAVE_RATIO >= shorter || whole.is_none_or(longest))
            && let Some(save) = self.blocks_of(m, n)
            && save.1 < best.1
        {
            best = save;
        }
        best
    }

    fn whole(&self, m: u64, n: u64) -> Option<(Choice, f64)> {
        let (length, cost) = self.transform(results(m, n))?;
        Some((Choice::Fft { length }, cost))
    }

    /// The cheapest overlap-save.
    fn blocks_of(&self, m: u64, n: u64) -> Option<(Choice, f64)> {
        let mut best: Option<(Choice, f64)> = None;
        for (length, cost) in self.blocks(m.min(n)) {
            let Some(cost) = self.save(m, n, length, cost) else {
                continue;
            };
            if best.is_some_and(|(_, least)| cost >= least) {
                // Longer blocks only cost more from here.
                break;
            }
            best = Some((Choice::OverlapSave { length }, cost));
        }
        best
    }
}

/// The share of kept results.
fn share(axis: Along) -> f64 {
    let all = results(axis.m.into(), axis.n.into());
    (axis.kept as f64 / all as f64).min(1.0)
}

impl CostTable {
    /// The cost of the direct method for boxes. Every result counts as many multiply-adds as the costliest one takes.
    fn direct_boxes(&self, meeting: &Meeting) -> f64 {
        let numbers = self.numbers();
        let results = meeting.results() as f64;
        numbers.item + results * (numbers.result + meeting.terms() as f64 * numbers.multiply_add)
    }

    /// The cost of laying out boxes as vectors, and of copying the kept results from their convolution.
    fn copies(&self, meeting: &Meeting) -> f64 {
        let flat = meeting.flat();
        let values = flat.m as f64 + flat.n as f64 + meeting.results() as f64;
        values * self.numbers().result
    }

    /// The share of a choice's transforms that a GPU computes for the kept results of vectors; `None` if it computes
    /// all results and copies those that are kept.
    fn part(&self, meeting: &Meeting, choice: Choice) -> Option<f64> {
        let axis = meeting.vectors().filter(|_| !self.is_cpu())?;
        match choice {
            Choice::OverlapSave { .. } => Some(share(axis)),
            Choice::Fft { length } => (length <= self.longest_block()).then_some(1.0),
            Choice::Direct => None,
        }
    }

    /// The cost of a choice for boxes with at least one kept result.
    pub(crate) fn cost_of_boxes(&self, meeting: &Meeting, choice: Choice) -> f64 {
        match choice {
            Choice::Direct => self.direct_boxes(meeting),
            Choice::Fft { .. } | Choice::OverlapSave { .. } => {
                let flat = meeting.flat();
                let cost = self.cost(flat.m, flat.n, choice);
                match self.part(meeting, choice) {
                    Some(share) => cost * share,
                    None => cost + self.copies(meeting),
                }
            }
        }
    }

    /// The multiply-adds of a choice for boxes with at least one kept result, plus the values that it copies;
    /// saturates.
    pub(crate) fn work_of_boxes(&self, meeting: &Meeting, choice: Choice) -> u64 {
        match choice {
            Choice::Direct => meeting.products(),
            Choice::Fft { .. } | Choice::OverlapSave { .. } => {
                let flat = meeting.flat();
                let work = self.work(flat.m, flat.n, choice);
                if let Some(share) = self.part(meeting, choice) {
                    return (work as f64 * share) as u64;
                }
                let copied = flat
                    .m
                    .saturating_add(flat.n)
                    .saturating_add(meeting.results());
                work.saturating_add(copied)
            }
        }
    }

    /// The cost of a choice for operands of m and n values, in nanoseconds of one worker.
    pub(crate) fn cost(&self, m: u64, n: u64, choice: Choice) -> f64 {
        match choice {
            Choice::Direct => self.direct(m, n),
            Choice::Fft { length } => self.transform(length.into()).map_or(0.0, |(_, cost)| cost),
            Choice::OverlapSave { length } => {
                let cost = self.transform(length.into());
                let cost = cost.and_then(|(_, cost)| self.save(m, n, length, cost));
                cost.unwrap_or_default()
            }
        }
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::super::Choices;
    use super::*;
    use crate::Pairing;
    use crate::ragged::{DType, Layout, Pairs};

    fn auto(costs: &CostTable, m: u64, n: u64) -> Choice {
        costs.choose(m, n, ConvMethod::Auto).unwrap().0
    }

    #[apply(unit_test)]
    fn short_operands_are_direct_and_long_ones_are_transformed() {
        let cpu = CostTable::cpu();
        for (m, n) in [(1, 1), (8, 8), (32, 32), (100_000, 3), (3, 100_000)] {
            assert_eq!(auto(&cpu, m, n), Choice::Direct, "{m} {n}");
        }
        assert_eq!(auto(&cpu, 100, 100), Choice::Fft { length: 216 });
        assert_eq!(
            auto(&cpu, 1_000_000, 1_000_000),
            Choice::Fft { length: 1 << 21 }
        );
        assert!(matches!(
            auto(&cpu, 1_000_000, 1000),
            Choice::OverlapSave {
                length: 4096..=32_768
            }
        ));
    }

    /// A GPU transforms in one workgroup, in blocks, or in several passes; where no transform is long enough, in blocks
    /// of both operands.
    #[apply(unit_test)]
    fn gpus_transform_too() {
        let gpu = CostTable::gpu();
        for (m, n) in [(1, 1), (8, 8), (1, 16), (9, 8), (100_000, 3)] {
            assert_eq!(auto(&gpu, m, n), Choice::Direct, "{m} {n}");
        }
        for (m, n, length) in [
            (16, 16, 64),
            (17, 17, 64),
            (32, 33, 64),
            (64, 65, 128),
            (142, 142, 512),
            (456, 456, 1024),
            (4096, 4097, 8192),
            (8192, 8193, 1 << 14),
            (16_384, 16_384, 1 << 15),
            (1_000_000, 1_000_000, 1 << 21),
        ] {
            assert_eq!(auto(&gpu, m, n), Choice::Fft { length }, "{m} {n}");
        }
        for (m, n) in [
            (10_000, 200),
            (3000, 1_000_000),
            (5000, 5000),
            (8_000_000, 8_000_000),
        ] {
            assert!(
                matches!(auto(&gpu, m, n), Choice::OverlapSave { .. }),
                "{m} {n}"
            );
        }
        let long = 1 << 22;
        let refused = gpu.choose(long, long + 2, ConvMethod::Fft).unwrap_err();
        assert_eq!(
            refused,
            "it needs a transform of 8388609 values, but the longest is 8388608"
        );
        let refused = gpu.choose(1 << 30, 1 << 30, ConvMethod::OverlapSave);
        assert_eq!(
            refused.unwrap_err(),
            "a block needs a transform of 2147483648 values, but the longest is 8192"
        );
    }

    /// The predicted cost is the lowest of all methods, and does not depend on the order of the operands.
    #[apply(unit_test)]
    fn the_choice_is_the_cheapest_of_all() {
        let cpu = CostTable::cpu();
        let lengths = [1, 2, 7, 15, 40, 64, 142, 456, 1000, 4097, 100_000];
        for (m, n) in lengths.iter().flat_map(|&m| lengths.map(|n| (m, n))) {
            let (choice, cost) = cpu.choose(m, n, ConvMethod::Auto).unwrap();
            assert_eq!(cpu.choose(n, m, ConvMethod::Auto).unwrap(), (choice, cost));
            assert_eq!(cpu.cost(m, n, choice), cost);
            for method in [ConvMethod::Direct, ConvMethod::Fft] {
                let (forced, other) = cpu.choose(m, n, method).unwrap();
                assert_eq!(forced.method(), method);
                assert!(
                    other >= cost || m.min(n) <= ALWAYS_DIRECT,
                    "{m} {n}: {forced:?} at {other}, {choice:?} at {cost}"
                );
                assert_eq!(cpu.cost(m, n, forced), other);
            }
            let (forced, other) = cpu.choose(m, n, ConvMethod::OverlapSave).unwrap();
            assert_eq!(cpu.cost(m, n, forced), other);
            assert!(forced.length().unwrap() as u64 > m.min(n), "{forced:?}");
        }
    }

    #[apply(unit_test)]
    fn a_transform_is_long_enough_and_not_much_longer() {
        let cpu = CostTable::cpu();
        for need in (1..5000).chain([65_537, 1_999_999, 1 << 30]) {
            let (length, cost) = cpu.transform(need).unwrap();
            assert!(u64::from(length) >= need && cost > 0.0);
            assert!(
                f64::from(length) <= (need as f64 * 1.34).max(8.0),
                "{need}: {length}"
            );
            let odd = length >> length.trailing_zeros();
            assert!(
                length.is_multiple_of(4) && (5 * 3u64.pow(20)).is_multiple_of(u64::from(odd)),
                "{length}"
            );
        }
        assert_eq!(cpu.transform((1 << 31) + 1), None);
    }

    /// A pair has the same choice alone and within a batch.
    #[apply(unit_test)]
    fn a_pair_is_chosen_for_by_itself() {
        let costs = CostTable::cpu();
        let all = Layout::from_lengths([3, 500, 0, 70_000]).unwrap();
        let pairs = Pairs::new(&all, &all, Pairing::AllToAll).unwrap();
        let choices_of = |a: &Layout, b: &Layout, pairs: &Pairs| {
            Choices::new(DType::F32, (a, b), pairs, ConvMethod::Auto, &costs).unwrap()
        };
        let together = choices_of(&all, &all, &pairs);
        for (pair, (i, j)) in pairs.iter().enumerate() {
            let (a, b) = (all.range(i..i + 1).unwrap(), all.range(j..j + 1).unwrap());
            let alone = choices_of(&a, &b, &Pairs::elementwise(&a, &b).unwrap());
            assert_eq!(together.get(pair), alone.get(0), "{i} {j}");
        }
        assert!(together.lengths.is_sorted() && together.lengths.len() > 1);
    }

    #[apply(unit_test)]
    fn what_a_method_cannot_serve_is_said() {
        let layout = Layout::from_lengths([0, 3, 5]).unwrap();
        let pairs = Pairs::elementwise(&layout, &layout).unwrap();
        let refused = |dtype, method, costs: &CostTable| {
            let both = (&layout, &layout);
            let choices = Choices::new(dtype, both, &pairs, method, costs);
            choices.unwrap_err().named("conv").to_string()
        };
        assert_eq!(
            refused(DType::I32, ConvMethod::Fft, &CostTable::cpu()),
            "conv: pair 1: the method fft does not support this pair: values of i32 support only the direct method; use auto \
             or direct"
        );
        let short: CostTable = "cpu workers=1 launch=0 item=1 multiply_add=1 result=1 fft="
            .parse()
            .unwrap();
        assert_eq!(
            refused(DType::F32, ConvMethod::OverlapSave, &short),
            "conv: pair 1: the method overlap_save does not support this pair: this device supports no transforms; use \
             auto or direct"
        );
        let reason = CostTable::cpu()
            .choose(1 << 31, 2, ConvMethod::Fft)
            .unwrap_err();
        assert_eq!(
            reason,
            "it needs a transform of 2147483649 values, but the longest is 2147483648"
        );
    }

    #[apply(unit_test)]
    fn names_are_read_back() {
        for method in ConvMethod::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        assert!("overlap-save".parse::<ConvMethod>().is_err());
    }
}
