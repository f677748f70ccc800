//! Attention over sentences of different lengths, and the positions of their rows.

use serde_json::Value;
use vsla::{Device, Layout, Shape, Tensor, Topology, attention::Cache, scalar::Float};

use super::results::{Results, SAME, Shapes, all, each, extents};
use super::{Answer, HEADS, Law, Operation, ROW, Work, batch};
use crate::batch::{Number, read};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Held};
use crate::options as opt;
use crate::request::{Options, size, whole_numbers};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "rotary",
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::HEADS,
            opt::BASE,
            opt::POSITION,
            opt::POSITIONS,
            opt::NEIGHBOURS,
        ],
        ranks: HEADS,
        results: Results {
            operands: "(n, heads · d), or (n, heads, d)",
            about: "the same",
            ..SAME
        },
        about: "rotary position embeddings: pairs of values rotated by the position of their row",
        run: float!(|call, device, args| rotary(&device, &args[0], &call.options)),
        methods: &[
            ("base", "base"),
            ("start", "position"),
            ("starts", "positions"),
        ],
        rank: Some(2),
        law: Law::None,
        ..ROW
    },
    Operation {
        name: "merge",
        args: 4,
        options: &[opt::DTYPE, opt::RANK],
        results: each(
            "for each part of the keys, results s and log-sum-exps t",
            "s and t",
            |_, s| Some(s[..2].to_vec()),
        ),
        about: "{o, lse} of attention over the keys of two parts, from o and lse of the first and of the second, as \
            attention answers them with lse",
        run: float!(|call, device, args| {
            let part = |i: usize| -> Result<_> {
                // Log-sum-exps are f32, whatever the type of the results.
                let lse = args[i + 1].on(&device)?.to::<f32>()?;
                Ok((args[i].on(&device)?, lse))
            };
            let (first, second) = (part(0)?, part(2)?);
            let parts = [(&first.0, &first.1), (&second.0, &second.1)];
            let (o, lse) = vsla::attention::merge(&parts)?;
            Ok(Answer::Fields([("o", o.into()), ("lse", lse.into())]))
        }),
        law: Law::Open,
        ..ROW
    },
    Operation {
        name: "attention",
        args: 3,
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::HEADS,
            opt::KEY_HEADS,
            opt::SCALE_OF_SCORES,
            opt::CAUSAL,
            opt::TOP_LEFT,
            opt::WINDOW_OF_KEYS,
            opt::SOFTCAP,
            opt::CACHED,
            opt::BIAS_OF_SCORES,
            opt::SLOPES,
            opt::SINKS,
            opt::BLOCK,
            opt::BLOCKS_OF_SCORES,
            opt::LSE,
        ],
        ranks: HEADS,
        results: all(
            "(n, heads · d), (m, key heads · d) and (m, key heads · e), or (n, heads, d) and so on",
            "(n, heads · e), or (n, heads, e); and (n, heads) with log-sum-exps",
            attended,
        ),
        about: "softmax(scale q k^T + bias) v for each element and head, of queries, keys and values: matrices of rows \
        of all heads, or rank 3 with an axis of heads",
        run: float!(|call, device, args| attention(&device, args, &call.options)),
        methods: &[
            ("alibi", "slopes"),
            ("attention_over", "cached"),
            ("blocks", "blocks"),
            ("heads", "heads"),
            ("key_heads", "key_heads"),
            ("run_with_lse", "lse"),
            ("sinks", "sinks"),
            ("softcap", "softcap"),
            ("top_left", "top_left"),
            ("with_lengths", "cached"),
        ],
        rank: Some(2),
        law: Law::None,
        work: Work::More,
        ..ROW
    },
];

fn rotary<T: Float + Number>(device: &Device, x: &Arg<T>, options: &Options) -> Result<Answer>
where
    Held: From<Tensor<T>>,
{
    let x = x.on(device)?;
    let mut rotary = x.rotary();
    if let Some(heads) = options.heads("heads")? {
        rotary = rotary.heads(heads);
    }
    rotary = rotary.base(options.double("base")?);
    rotary = rotary.start(options.size("position")?);
    let starts = options.list::<u32>("positions")?;
    let starts = starts.map(|starts| device.upload(&vsla::Ragged::from_rows([starts])?));
    let starts = starts.transpose()?;
    if let Some(starts) = &starts {
        rotary = rotary.starts(starts);
    }
    if options.flag("neighbours")? {
        rotary = rotary.neighbours();
    }
    batch(rotary.run()?)
}

impl Options {
    /// Keys before and after a query's position; null is no limit.
    fn reach(&self) -> Result<Option<(usize, usize)>> {
        let end = |end: &Value| match end {
            Value::Null => Some(usize::MAX),
            _ => size(end),
        };
        self.read("window", |value| match value.as_array()?.as_slice() {
            [before, after] => Some((end(before)?, end(after)?)),
            _ => None,
        })
    }

    fn heads(&self, name: &str) -> Result<Option<usize>> {
        self.read(name, size)
    }
}

/// A row for each query, as wide for each head as one of the values. All elements of a cache have the same width.
fn attended<'a>(options: &'a Options, x: &'a [&'a Layout]) -> Option<Vec<Shapes<'a>>> {
    let heads = options.heads("heads").ok()?.unwrap_or(1);
    let key_heads = options.heads("key_heads").ok()?.unwrap_or(heads);
    let width = |shape: &Shape| shape.extents().last().map_or(0, |&width| width as usize);
    let cached = options
        .has("cached")
        .then(|| x[2].shapes().map(|shape| width(&shape)).max());
    let of = move |i: usize| {
        let width = if i < x[2].len() {
            width(&x[2].shape(i))
        } else {
            0
        };
        let width = cached.flatten().unwrap_or(width);
        match *extents(&x[0].shape(i)) {
            [n, _] => {
                let width = width.checked_div(key_heads)?.checked_mul(heads)?;
                Some([vec![n, width], vec![n, heads]])
            }
            [n, heads, _] => Some([vec![n, heads, width], vec![n, heads]]),
            _ => None,
        }
    };
    let results = if options.flag("lse").ok()? { 2 } else { 1 };
    let result = |k: usize| -> Shapes<'a> {
        Box::new((0..x[0].len()).map(move |i| of(i)?.into_iter().nth(k)))
    };
    Some((0..results).map(result).collect())
}

fn attention<T: Float + Number>(
    device: &Device,
    args: &[Arg<T>],
    options: &Options,
) -> Result<Answer>
where
    Held: From<Tensor<T>>,
{
    let [q, k, v] = [0, 1, 2].map(|i| args[i].on(device));
    let (q, k, v) = (q?, k?, v?);
    let of_heads = |name: &str| -> Result<Option<Tensor<f32>>> {
        let Some(numbers) = options.list::<f32>(name)? else {
            return Ok(None);
        };
        Ok(Some(device.upload(&vsla::Ragged::from_rows([numbers])?)?))
    };
    let bias = match options.get("bias") {
        None => None,
        Some(value) => {
            let bias = read::<T>(value, None).map_err(|failure| Failure {
                element: failure.element,
                ..Failure::request(format!("bias: {}", failure.message))
            })?;
            Some(device.upload(&bias)?)
        }
    };
    let (slopes, sinks) = (of_heads("slopes")?, of_heads("sinks")?);
    let blocks = match options.blocks()? {
        None => None,
        Some(blocks) => {
            // As large as the largest element.
            let most = |i: usize| {
                let rows = args[i].layout().shapes();
                rows.map(|shape| shape.extents()[0] as usize).max()
            };
            let shape = [0, 1].map(|i| most(i).unwrap_or(1).max(1));
            Some(Topology::from_unsorted(shape, options.block()?, blocks)?)
        }
    };
    let cache = options.read("cached", whole_numbers)?;
    let cache = cache.map(|lengths| Cache::with_lengths(k.clone(), v.clone(), &lengths));
    let cache = cache.transpose()?;
    let mut attention = match &cache {
        None => q.attention(&k, &v),
        Some(cache) => q.attention_over(cache),
    };
    if let Some(heads) = options.heads("heads")? {
        attention = attention.heads(heads);
    }
    if let Some(heads) = options.heads("key_heads")? {
        attention = attention.key_heads(heads);
    }
    if let Some(scale) = options.optional("scale")? {
        attention = attention.scale(scale);
    }
    if options.flag("causal")? {
        attention = attention.causal();
    }
    if options.flag("top_left")? {
        attention = attention.top_left();
    }
    if let Some((before, after)) = options.reach()? {
        attention = attention.window(before, after);
    }
    if let Some(cap) = options.optional("softcap")? {
        attention = attention.softcap(cap);
    }
    if let Some(bias) = &bias {
        attention = attention.bias(bias);
    }
    if let Some(slopes) = &slopes {
        attention = attention.alibi(slopes);
    }
    if let Some(sinks) = &sinks {
        attention = attention.sinks(sinks);
    }
    if let Some(blocks) = &blocks {
        attention = attention.blocks(blocks);
    }
    if !options.flag("lse")? {
        return batch(attention.run()?);
    }
    let (o, lse) = attention.run_with_lse()?;
    Ok(Answer::Fields([("o", o.into()), ("lse", lse.into())]))
}
