//! The shapes of attention's operands and results.

use super::{Attention, WIDEST};
use crate::ops::strided::extent_of;
use crate::plan::Offset;
use crate::ragged::{DType, Layout};
use crate::{Error, Result, host};

/// The numbers of heads, and of values in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Heads {
    pub heads: usize,
    pub key_heads: usize,
    /// Values in a query or key, per head.
    pub d: usize,
    /// Values in a value vector or a result, per head.
    pub dv: usize,
}

impl Heads {
    /// Query heads that share a key head.
    pub(super) fn group(&self) -> usize {
        self.heads / self.key_heads
    }
}

/// The checked operands, and the layouts of the results.
pub(crate) struct Shapes {
    pub heads: Heads,
    /// The heads of the bias: 1 if all share it.
    pub bias_heads: usize,
    pub o: Layout,
    /// The log-sum-exps, then as many elements for what rounding them has left.
    pub lse: Layout,
}

impl Shapes {
    pub(super) fn new(attention: &Attention, inputs: &[&Layout]) -> Result<Shapes> {
        let (q, k, v) = (inputs[0], inputs[1], inputs[2]);
        if !(2..=3).contains(&q.rank()) {
            return Err(Error::rank("2 or 3", q.rank()));
        }
        k.check_rank_of(q, "the queries")?;
        v.check_rank_of(q, "the queries")?;
        q.check_len(k.len())?;
        q.check_len(v.len())?;
        let of_q = split(q, attention.heads, "query")?;
        let of_k = split(k, attention.key_heads, "key")?;
        let of_v = split(v, attention.key_heads, "value")?;
        if q.is_empty() {
            return Shapes::of_none(attention, q);
        }
        // If no element of an operand has rows, its heads and widths are those that fit the other operands.
        let stated = |heads: usize| (q.rank() == 2).then_some((heads.max(1), 1));
        let vectors = usize::from(attention.alibi) + usize::from(attention.sinks);
        let per_head =
            (vectors > 0).then(|| inputs[3 + usize::from(attention.bias)].total() / vectors);
        let (heads, _) = of_q
            .or(stated(attention.heads))
            .or(per_head.map(|heads| (heads.max(1), 1)))
            .or(of_k)
            .or(of_v)
            .unwrap_or((1, 1));
        let (key_heads, _) = of_k
            .or(stated(attention.key_heads))
            .or(of_v)
            .or(of_q)
            .unwrap_or((1, 1));
        let (_, d) = of_q.or(of_k).unwrap_or((1, 1));
        let (_, of_keys) = of_k.unwrap_or((key_heads, d));
        // If there are queries but no values, the width of the results is unknown.
        let unknown = if q.total() == 0 { d } else { 0 };
        let (value_heads, dv) = of_v.unwrap_or((key_heads, unknown));
        let wide = |what: &str, width: usize| match (1..=WIDEST).contains(&width) {
            true => Ok(()),
            false => {
                let expected = format!("1 to {WIDEST} values in a head of the {what}");
                Err(Error::argument(expected, width))
            }
        };
        wide("queries", d)?;
        wide("values", dv)?;
        if of_keys != d {
            let expected = format!("{d} values in a head of the keys, as in a head of the queries");
            return Err(Error::argument(expected, of_keys));
        }
        if value_heads != key_heads {
            let expected = format!("{key_heads} heads of the values, as many as of the keys");
            return Err(Error::argument(expected, value_heads));
        }
        if !heads.is_multiple_of(key_heads) {
            let expected = format!("a number of query heads that is a multiple of {key_heads}");
            return Err(Error::argument(expected, heads));
        }
        if attention.dtype == DType::F16
            && let Some(odd) = [d, dv].into_iter().find(|width| !width.is_multiple_of(2))
        {
            let what = format!(
                "f16 heads with an odd number of values ({odd}); pad them to an even number"
            );
            return Err(Error::unsupported(what));
        }
        let mut o = Offset::new(q.len())?;
        let mut lse = Offset::new(2 * q.len())?;
        let mut o_extents = host::room(q.rank() * q.len())?;
        let mut lse_extents = host::room(4 * q.len())?;
        for element in 0..q.len() {
            let [queries, keys, values] =
                [q, k, v].map(|attention| extent_of(attention, element, 0));
            let most = 1 << 30;
            if queries.max(keys) > most {
                let what = format!("{} rows of an element", queries.max(keys));
                return Err(Error::size_overflow(what).at(element));
            }
            if keys != values {
                let expected = format!("({keys}, ..) of the values, as many rows as the keys have");
                return Err(Error::shape(element, expected, v.shape(element)));
            }
            o.push(queries * (heads * dv) as u64)?;
            match q.rank() {
                2 => o_extents.extend([queries as u32, (heads * dv) as u32]),
                _ => o_extents.extend([queries as u32, heads as u32, dv as u32]),
            }
        }
        for element in (0..q.len()).chain(0..q.len()) {
            let queries = extent_of(q, element, 0);
            lse.push(queries * heads as u64)?;
            lse_extents.extend([queries as u32, heads as u32]);
        }
        let shapes = Shapes {
            heads: Heads {
                heads,
                key_heads,
                d,
                dv,
            },
            bias_heads: 1,
            o: Layout::unchecked(o.finish(), q.rank(), o_extents),
            lse: Layout::unchecked(lse.finish(), 2, lse_extents),
        };
        shapes.with_others(attention, inputs)
    }

    /// The results of empty batches.
    fn of_none(attention: &Attention, q: &Layout) -> Result<Shapes> {
        Ok(Shapes {
            heads: Heads {
                heads: attention.heads.max(1),
                key_heads: attention.key_heads.max(1),
                d: 1,
                dv: 1,
            },
            bias_heads: 1,
            o: q.clone(),
            lse: Layout::from_shapes(2, [])?,
        })
    }

    /// Checks the bias, the values per head and the blocks of the mask.
    fn with_others(self, attention: &Attention, inputs: &[&Layout]) -> Result<Shapes> {
        let (q, k) = (inputs[0], inputs[1]);
        let mut bias_heads = 1u32;
        if attention.bias {
            let bias = inputs[3];
            q.check_len(bias.len())?;
            if !(2..=3).contains(&bias.rank()) {
                return Err(Error::rank("2 or 3 for the bias", bias.rank()));
            }
            if bias.rank() == 3 {
                bias_heads = self.heads.heads as u32;
            }
            for element in 0..q.len() {
                let (queries, keys) = (extent_of(q, element, 0), extent_of(k, element, 0));
                let got = bias.shape(element);
                let (extents, more) = match got.extents() {
                    [heads, rest @ ..] if bias.rank() == 3 => (rest, Some(*heads)),
                    all => (all, None),
                };
                let fits = more.is_none_or(|heads| heads == bias_heads)
                    && extents == [queries as u32, keys as u32];
                if !fits {
                    let expected = match more {
                        Some(_) => format!("({bias_heads}, {queries}, {keys}) of the bias"),
                        None => format!("({queries}, {keys}) of the bias"),
                    };
                    return Err(Error::shape(element, expected, got));
                }
            }
        }
        let vectors = usize::from(attention.alibi) + usize::from(attention.sinks);
        if vectors > 0 {
            let per_head = inputs[attention.per_head()].total();
            if per_head != vectors * self.heads.heads {
                let expected = format!("{} values, one for each head", self.heads.heads);
                return Err(Error::argument(expected, per_head / vectors));
            }
        }
        if let Some(blocks) = &attention.mask.blocks {
            let [rows, columns] = blocks.shape();
            for element in 0..q.len() {
                let (queries, keys) = (extent_of(q, element, 0), extent_of(k, element, 0));
                if queries > rows as u64 || keys > columns as u64 {
                    let expected = format!(
                        "({rows}, {columns}) of queries and keys or less, as in the mask's topology"
                    );
                    let got = format!("({queries}, {keys})");
                    return Err(Error::shape(element, expected, got));
                }
            }
        }
        Ok(Shapes {
            bias_heads: bias_heads as usize,
            ..self
        })
    }
}

/// The number of heads of an operand and of values in each. For rank 2, the call gives the number of heads. Elements
/// without rows may have any other extents; `None` if no element determines the numbers.
fn split(x: &Layout, heads: usize, what: &str) -> Result<Option<(usize, usize)>> {
    let with_rows = || {
        let all = x.shapes().enumerate();
        all.filter(|(_, shape)| shape.extents()[0] > 0)
    };
    let declared = || {
        x.shapes()
            .position(|shape| !shape.extents()[1..].contains(&0))
    };
    let first = with_rows().next().map(|(element, _)| element);
    let Some(first) = first.or_else(declared) else {
        return Ok(None);
    };
    let of_first = x.shape(first);
    let found = match *of_first.extents() {
        [_, heads, width] => (heads as usize, width as usize),
        [_, width] => {
            let width = width as usize;
            if heads == 0 || !width.is_multiple_of(heads) {
                let expected = format!("a number of {what} heads that divides {width}");
                return Err(Error::argument(expected, heads));
            }
            (heads, width / heads)
        }
        _ => return Err(Error::rank("2 or 3", x.rank())),
    };
    if found.0 == 0 {
        return Err(Error::argument(format!("at least 1 {what} head"), 0));
    }
    for (element, shape) in with_rows() {
        if shape.extents()[1..] != of_first.extents()[1..] {
            let expected = format!("{of_first}, with any number of rows, as in element {first}");
            return Err(Error::shape(element, expected, shape));
        }
    }
    Ok(Some(found))
}
