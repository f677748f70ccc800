//! The exchange between two stages, without bank conflicts within a warp.

use std::fmt::Write;

use super::Transform;

/// Each fold maps an address a to a ^ ((a >> from) & mask) << to.
///
/// This is a permutation, because `from` is above `to + bits of the mask`. It is linear over bits, so constant parts of
/// an address stay constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swizzle {
    folds: [Fold; 2],
}

#[derive(Clone, Copy, Default, Debug)]
struct Fold {
    from: u32,
    mask: u32,
    to: u32,
}

impl Swizzle {
    /// The swizzle after a stage of radix 2^radix that follows `done` bits.
    ///
    /// Its write addresses have the lane bits from `done` on moved up by `radix`. With fewer invocations per transform
    /// than lanes, the remaining lane bits are multiples of N.
    fn new(transform: &Transform<'_>, done: u32, radix: u32) -> Swizzle {
        // 32 banks of one word, or 16 of two words. Columns that lie side by side already fill some of them.
        let banks = if transform.whole { 4u32 } else { 5 }.saturating_sub(transform.columns);
        let lanes = transform.log_threads().min(banks);
        let moved = lanes.saturating_sub(done).min(radix);
        Swizzle {
            folds: [
                // Lane bits above the bank bits are folded onto the bits of the radix.
                Fold {
                    from: (done + radix).max(lanes),
                    mask: (1 << moved) - 1,
                    to: done,
                },
                // The number of the transform is folded onto the bank bits that its few lanes leave free.
                Fold {
                    from: transform.log_length(),
                    mask: match transform.columns {
                        0 => (1 << (banks - lanes)) - 1,
                        _ => 0,
                    },
                    to: lanes,
                },
            ],
        }
    }

    pub(super) fn apply(&self, address: u32) -> u32 {
        self.folds.iter().fold(address, |a, fold| {
            a ^ ((address >> fold.from) & fold.mask) << fold.to
        })
    }

    /// All bits that may be set in swizzled addresses made of these bits.
    fn reach(&self, bits: u32) -> u32 {
        self.folds.iter().fold(bits, |all, fold| {
            all | ((bits >> fold.from) & fold.mask) << fold.to
        })
    }

    fn text(&self, address: &str) -> String {
        let mut text = address.to_owned();
        for fold in self.folds.iter().filter(|fold| fold.mask > 0) {
            let _ = write!(
                text,
                " ^ ((({address} >> {}u) & {}u) << {}u)",
                fold.from, fold.mask, fold.to
            );
        }
        text
    }
}

/// Maps an address a to a + (a >> from) << to.
///
/// The constant part of an address shares no bits with the rest, so the two parts are padded separately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padding {
    from: u32,
    to: u32,
}

impl Padding {
    /// Pads no address.
    const NONE: Padding = Padding { from: 31, to: 0 };

    /// The padding after a stage of radix 2^radix that follows `done` bits.
    fn new(transform: &Transform<'_>, done: u32, radix: u32) -> Padding {
        const LANES: u32 = 5;
        let (from, to) = match transform.log_threads() {
            // Several transforms share a warp. Some bank conflicts remain, but this is fast.
            threads if threads < LANES => (4, 0),
            // Writes are contiguous.
            _ if done >= LANES => return Padding::NONE,
            // Lane bits above the bank bits are added to the bits of the radix.
            _ => (LANES.max(done + radix), done),
        };
        Padding { from, to }
    }

    fn apply(self, address: u32) -> u32 {
        address + ((address >> self.from) << self.to)
    }
}

/// The addresses that an invocation writes its values to and reads them from.
pub(super) struct Exchange {
    pub swizzle: Swizzle,
    /// The padding that replaces the swizzle, if any.
    padding: Option<Padding>,
    whole: bool,
    log_length: u32,
    done: u32,
    radix: u32,
    held: u32,
    log_threads: u32,
    columns: u32,
    regrouped: bool,
}

impl Exchange {
    pub(super) fn after(
        transform: &Transform<'_>,
        done: u32,
        radix: u32,
        padded: bool,
    ) -> Exchange {
        let log_threads = transform.log_threads();
        debug_assert!(
            done <= log_threads || radix == transform.held,
            "{}: the butterflies of one invocation must differ by constants",
            transform.name
        );
        Exchange {
            swizzle: Swizzle::new(transform, done, radix),
            padding: padded.then(|| Padding::new(transform, done, radix)),
            whole: transform.whole,
            log_length: transform.log_length(),
            done,
            radix,
            held: transform.held,
            log_threads,
            columns: transform.columns,
            regrouped: transform.regrouped
                && transform.radices.last() == Some(&(transform.log_length() - done - radix)),
        }
    }

    /// The part of slot `s`'s write address that is the same for all invocations.
    pub(super) fn written(&self, s: u32) -> u32 {
        let butterflies = self.held - self.radix;
        let (q, k) = (s & ((1 << butterflies) - 1), s >> butterflies);
        (k << self.done) | (q << (self.log_threads + self.radix))
    }

    /// The part of the write address that depends on invocation j.
    pub(super) fn writer(&self, j: u32) -> u32 {
        ((j >> self.done) << (self.done + self.radix)) | (j & ((1 << self.done) - 1))
    }

    /// The part of slot `s`'s read address that is the same for all invocations. The other part is j itself.
    pub(super) fn read(&self, s: u32) -> u32 {
        s << self.log_threads
    }

    /// Words of workgroup memory that the exchange needs.
    pub(super) fn words(&self) -> u32 {
        self.place((1 << self.log_length) - 1) + 1
    }

    /// The swizzled or padded address.
    fn place(&self, address: u32) -> u32 {
        match self.padding {
            None => self.swizzle.apply(address),
            Some(padding) => padding.apply(address),
        }
    }

    /// The address of value a of a column in a regrouped exchange, which reads along columns. The column is XORed with
    /// the bits of a that distinguish the lanes of one column, except those that already select different banks.
    #[cfg(feature = "testing")]
    fn spot(&self, address: u32, column: u32) -> u32 {
        let a = self.swizzle.apply(address);
        let [from, mask, to] = self.along();
        (a << self.columns) + (column ^ (((a >> from) & mask) << to))
    }

    fn along(&self) -> [u32; 3] {
        const LANES: u32 = 5;
        let (lanes, from) = (
            self.log_threads.min(LANES),
            LANES.saturating_sub(self.columns),
        );
        [from, (1 << (lanes - from)) - 1, LANES - lanes]
    }

    fn write_regrouped(&self, out: &mut String, writer: &str) {
        let [from, mask, to] = self.along();
        let place = |out: &mut String, name: &str, address: &str, column: &str| {
            let _ = writeln!(
                out,
                "        let {name}a = {address};\n        let {name}b = {};\n        \
                 let {name} = ({name}b << {}u) + ({column} ^ ((({name}b >> {from}u) & {mask}u) << {to}u));",
                self.swizzle.text(&format!("{name}a")),
                self.columns
            );
        };
        let _ = writeln!(out, "    {{");
        for s in 0..1u32 << self.held {
            let put = format!("{writer} + {}u", self.written(s));
            place(out, &format!("put{s}"), &put, "at");
            let got = format!("k + {}u", self.read(s));
            place(out, &format!("got{s}"), &got, "to");
        }
        let parts: &[&str] = if self.whole { &[""] } else { &[".x", ".y"] };
        for part in parts {
            let _ = writeln!(out, "        workgroupBarrier();");
            for s in 0..1u32 << self.held {
                let _ = writeln!(out, "        sh_exchange[put{s}] = (*v)[{s}]{part};");
            }
            let _ = writeln!(out, "        workgroupBarrier();");
            for s in 0..1u32 << self.held {
                let _ = writeln!(out, "        (*v)[{s}]{part} = sh_exchange[got{s}];");
            }
        }
        let _ = writeln!(out, "    }}");
    }

    pub(super) fn write(&self, out: &mut String) {
        let low = (1u32 << self.done) - 1;
        let writer = match self.done {
            0 => format!("(j << {}u)", self.radix),
            _ => format!(
                "((j >> {0}u) << {1}u) + (j & {low}u)",
                self.done,
                self.done + self.radix
            ),
        };
        if self.regrouped {
            return self.write_regrouped(out, &writer);
        }
        // The column is in the lowest bits of an address, which are added after the swizzle.
        let (first, others) = match self.columns {
            _ if self.padding.is_some() => ("", 0),
            0 => ("at + ", !0u32 << self.log_length),
            _ => ("", 0),
        };
        let _ = writeln!(out, "    {{\n        let put = {first}{writer};");
        let _ = writeln!(out, "        let got = {first}j;");
        for name in ["put", "got"] {
            let swizzled = self.swizzle.text(name);
            let _ = match (self.padding, self.columns) {
                (Some(Padding { from, to }), _) => writeln!(
                    out,
                    "        let {name}0 = at + {name} + (({name} >> {from}u) << {to}u);"
                ),
                (None, 0) => writeln!(out, "        let {name}0 = {swizzled};"),
                (None, columns) => writeln!(
                    out,
                    "        let {name}0 = at + (({swizzled}) << {columns}u);"
                ),
            };
        }
        let threads = (1u32 << self.log_threads) - 1;
        let to = self.addresses(out, "put", self.writer(threads) | others, |s| {
            self.written(s)
        });
        let from = self.addresses(out, "got", threads | others, |s| self.read(s));
        let parts: &[&str] = if self.whole { &[""] } else { &[".x", ".y"] };
        for part in parts {
            let _ = writeln!(out, "        workgroupBarrier();");
            for (s, to) in to.iter().enumerate() {
                let _ = writeln!(out, "        sh_exchange[{to}] = (*v)[{s}]{part};");
            }
            let _ = writeln!(out, "        workgroupBarrier();");
            for (s, from) in from.iter().enumerate() {
                let _ = writeln!(out, "        (*v)[{s}]{part} = sh_exchange[{from}];");
            }
        }
        let _ = writeln!(out, "    }}");
    }

    /// An expression for the address of each slot: the invocation's part, XORed with the constant bits that overlap it,
    /// plus the other constant bits.
    fn addresses(
        &self,
        out: &mut String,
        name: &str,
        bits: u32,
        slot: impl Fn(u32) -> u32,
    ) -> Vec<String> {
        if self.padding.is_some() {
            let places = (0..1 << self.held).map(|s| self.place(slot(s)));
            return places.map(|place| format!("{name}0 + {place}u")).collect();
        }
        let variable = self.swizzle.reach(bits);
        let mut bases = vec![0];
        (0..1 << self.held)
            .map(|s| {
                let constant = self.swizzle.apply(slot(s));
                let (swizzled, added) = (constant & variable, constant & !variable);
                if !bases.contains(&swizzled) {
                    let mask = swizzled << self.columns;
                    let _ = writeln!(out, "        let {name}{swizzled} = {name}0 ^ {mask}u;");
                    bases.push(swizzled);
                }
                match added << self.columns {
                    0 => format!("{name}{swizzled}"),
                    added => format!("{name}{swizzled} + {added}u"),
                }
            })
            .collect()
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::ops::butterfly::Kind;

    /// Every exchange of a transform.
    fn exchanges(held: u32, radices: &'static [u32], whole: bool, padded: bool) -> Vec<Exchange> {
        let transform = Transform {
            name: "under_test",
            kind: Kind::Forward,
            radices,
            held,
            whole,
            product: false,
            twiddled: false,
            columns: 0,
            regrouped: false,
        };
        let mut done = 0;
        let inner = &radices[..radices.len() - 1];
        let after = |&radix: &u32| {
            let exchange = Exchange::after(&transform, done, radix, padded);
            done += radix;
            exchange
        };
        inner.iter().map(after).collect()
    }

    #[apply(unit_test)]
    fn values_arrive_and_no_two_lanes_meet_in_a_bank() {
        let plans: [(u32, &[u32]); 12] = [
            (2, &[2, 1]),
            (3, &[1, 3]),
            (3, &[3, 3]),
            (3, &[1, 3, 3]),
            (3, &[3, 3, 1]),
            (3, &[2, 3, 3]),
            (3, &[3, 3, 3]),
            (3, &[1, 3, 3, 3]),
            (4, &[2, 4, 4]),
            (4, &[4, 4, 1]),
            (4, &[3, 4, 4]),
            (4, &[4, 4, 4]),
        ];
        for ((held, radices), whole) in plans.into_iter().flat_map(|p| [(p, false), (p, true)]) {
            let log_length: u32 = radices.iter().sum();
            let log_threads = log_length - held;
            let (threads, slots) = (1u32 << log_threads, 1u32 << held);
            let invocations = 256.max(threads);
            for exchange in exchanges(held, radices, whole, false) {
                let what = format!("{radices:?} of {slots}, whole: {whole}, {}", exchange.done);
                let at = |t: u32| (t >> log_threads) << log_length;
                let write = |t: u32, s: u32| {
                    let j = t & (threads - 1);
                    at(t) | exchange.writer(j) | exchange.written(s)
                };
                let read = |t: u32, s: u32| at(t) | (t & (threads - 1)) | exchange.read(s);
                for access in [&write as &dyn Fn(u32, u32) -> u32, &read] {
                    let mut seen = vec![false; (invocations * slots) as usize];
                    for t in 0..invocations {
                        for s in 0..slots {
                            let address = exchange.swizzle.apply(access(t, s)) as usize;
                            assert!(!seen[address], "{what}: {address} twice");
                            seen[address] = true;
                        }
                    }
                    let banks = if whole { 16 } else { 32 };
                    for warp in (0..invocations).step_by(banks) {
                        for s in 0..slots {
                            let mut used = 0u64;
                            for t in warp..warp + banks as u32 {
                                let address = exchange.swizzle.apply(access(t, s));
                                used |= 1 << (address as usize % banks);
                            }
                            assert_eq!(used.count_ones() as usize, banks, "{what}, slot {s}");
                        }
                    }
                }
            }
        }
    }

    /// Each case is 16 KiB of columns, written side by side and read along the columns.
    #[apply(unit_test)]
    fn columns_are_regrouped_without_meeting() {
        let plans: [(&[u32], u32); 5] = [
            (&[4, 2], 6),
            (&[4, 3], 5),
            (&[4, 4], 4),
            (&[4, 1, 4], 3),
            (&[4, 2, 4], 2),
        ];
        for (radices, columns) in plans {
            let transform = Transform {
                name: "under_test",
                kind: Kind::Forward,
                radices,
                held: 4,
                whole: false,
                product: false,
                twiddled: false,
                columns,
                regrouped: true,
            };
            let inner = &radices[..radices.len() - 1];
            let done: u32 = inner.iter().sum();
            let radix = inner[inner.len() - 1];
            let exchange = Exchange::after(&transform, done - radix, radix, false);
            assert!(exchange.regrouped);
            let (threads, side) = (1u32 << transform.log_threads(), 1u32 << columns);
            let write = |l: u32, s: u32| {
                let (j, c) = (l / side, l % side);
                exchange.spot(exchange.writer(j) | exchange.written(s), c)
            };
            let read =
                |l: u32, s: u32| exchange.spot((l % threads) | exchange.read(s), l / threads);
            for access in [&write as &dyn Fn(u32, u32) -> u32, &read] {
                let mut seen = vec![false; 4096];
                for s in 0..16 {
                    for warp in (0..256).step_by(32) {
                        let mut used = 0u32;
                        for l in warp..warp + 32 {
                            let place = access(l, s);
                            assert!(!seen[place as usize], "{radices:?}: {place} twice");
                            seen[place as usize] = true;
                            used |= 1 << (place % 32);
                        }
                        assert_eq!(used.count_ones(), 32, "{radices:?}, slot {s}");
                    }
                }
            }
        }
    }

    /// For transforms of at least a warp each.
    #[apply(unit_test)]
    fn padding_keeps_lanes_apart() {
        let plans: [(u32, &[u32]); 5] = [
            (3, &[2, 3, 3]),
            (3, &[3, 3, 3]),
            (3, &[1, 3, 3, 3]),
            (4, &[2, 4, 4]),
            (4, &[4, 4, 2]),
        ];
        for (held, radices) in plans {
            let log_length: u32 = radices.iter().sum();
            let threads = 1u32 << (log_length - held);
            for exchange in exchanges(held, radices, false, true) {
                let what = format!("{radices:?}, {}", exchange.done);
                let write = |j: u32, s: u32| (exchange.writer(j), exchange.written(s));
                let read = |j: u32, s: u32| (j, exchange.read(s));
                for access in [&write as &dyn Fn(u32, u32) -> (u32, u32), &read] {
                    let mut seen = vec![false; exchange.words() as usize];
                    for s in 0..1 << held {
                        for warp in (0..threads).step_by(32) {
                            let mut used = 0u32;
                            for j in warp..(warp + 32).min(threads) {
                                let (own, constant) = access(j, s);
                                let place = exchange.place(own) + exchange.place(constant);
                                assert_eq!(place, exchange.place(own | constant), "{what}");
                                assert!(!seen[place as usize], "{what}: {place} twice");
                                seen[place as usize] = true;
                                used |= 1 << (place % 32);
                            }
                            assert_eq!(used.count_ones(), threads.min(32), "{what}, slot {s}");
                        }
                    }
                }
            }
        }
    }
}
