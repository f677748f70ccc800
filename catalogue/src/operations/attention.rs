//! Attention over sentences of different lengths, and the positions of their rows.

use serde_json::Value;
use vsla::{Device, Tensor, Topology, attention::Cache, scalar::Float};

use super::{Answer, Call, Law, Operation, ROW, Work, batch, within};
use crate::batch::{Number, read};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Held};
use crate::request::{Options, unexpected, whole_numbers, wrong};

pub const ROWS: &[Operation] = &[
    ROTARY
        .for_methods(&[
            ("base", "base"),
            ("start", "position"),
            ("starts", "positions"),
        ])
        .of_rank(2)
        .by_shape(),
    MERGE.respecting(Law::Open),
    Operation {
        name: "attention",
        args: 3,
        options: &[
            "dtype",
            "rank",
            "heads",
            "key_heads",
            "scale",
            "causal",
            "top_left",
            "window",
            "softcap",
            "cached",
            "bias",
            "slopes",
            "sinks",
            "block",
            "blocks",
            "lse",
        ],
        about: "softmax(scale q k^T + bias) v for each element and head, of queries, keys and values: matrices of rows \
        of all heads, or rank 3 with an axis of heads (f32 or f16)",
        run: |call| {
            limit(call)?;
            float!(call, |device, args| attention(&device, args, &call.options))
        },
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

const ROTARY: Operation = Operation {
    name: "rotary",
    options: &[
        "dtype",
        "rank",
        "heads",
        "base",
        "position",
        "positions",
        "neighbours",
    ],
    about: "rotary position embeddings: pairs of values rotated by the position of their row (f32 or f16)",
    run: |call| {
        float!(call, |device, args| rotary(
            &device,
            &args[0],
            &call.options
        ))
    },
    ..ROW
};

const MERGE: Operation = Operation {
    name: "merge",
    args: 4,
    options: &["dtype", "rank"],
    about: "{o, lse} of attention over the keys of two parts, from o and lse of the first and of the second (f32 or \
        f16): as attention answers them with lse",
    run: |call| {
        float!(call, |device, args| {
            let part = |i: usize| -> Result<_> {
                // Log-sum-exps are f32, whatever the type of the results.
                let lse = args[i + 1].on(&device)?.to::<f32>()?;
                Ok((args[i].on(&device)?, lse))
            };
            let (first, second) = (part(0)?, part(2)?);
            let parts = [(&first.0, &first.1), (&second.0, &second.1)];
            let (o, lse) = vsla::attention::merge(&parts)?;
            Ok(Answer::Fields([("o", o.into()), ("lse", lse.into())]))
        })
    },
    ..ROW
};

fn rotary<T: Float + Number>(device: &Device, x: &Arg<T>, options: &Options) -> Result<Answer>
where
    Held: From<Tensor<T>>,
{
    let x = x.on(device)?;
    let mut rotary = x.rotary();
    if let Some(heads) = options.heads("heads")? {
        rotary = rotary.heads(heads);
    }
    if let Some(base) = options.optional_double("base")? {
        rotary = rotary.base(base);
    }
    if let Some(start) = options.heads("position")? {
        rotary = rotary.start(start);
    }
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
        let Some(value) = self.0.get("window") else {
            return Ok(None);
        };
        let end = |end: &Value| match end {
            Value::Null => Some(usize::MAX),
            _ => usize::try_from(end.as_u64()?).ok(),
        };
        let ends = value.as_array().map(Vec::as_slice);
        let both = ends.and_then(|ends| match ends {
            [before, after] => Some((end(before)?, end(after)?)),
            _ => None,
        });
        let expected = "[before, after], each a number of keys or null";
        both.map(Some)
            .ok_or_else(|| unexpected("window", expected, value))
    }

    fn heads(&self, name: &str) -> Result<Option<usize>> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let heads = value.as_u64().and_then(|heads| usize::try_from(heads).ok());
        heads.map(Some).ok_or_else(|| wrong(name, value))
    }
}

/// Refuses an answer above the limit: a row for each query, which for each head is as wide as one of the values.
fn limit(call: &Call<'_>) -> Result<()> {
    let (q, v) = (call.layout(0), call.layout(2));
    let heads = call.options.heads("heads")?.unwrap_or(1);
    let key_heads = call.options.heads("key_heads")?.unwrap_or(heads).max(1);
    let sizes = q.shapes().zip(v.shapes()).map(|(q, v)| {
        let wide = match (q.extents(), v.extents()) {
            (&[_, _], &[_, width]) => heads.saturating_mul(width as usize) / key_heads,
            (&[_, heads, _], &[_, _, width]) => heads as usize * (1 + width as usize),
            // The library refuses other ranks.
            _ => 0,
        };
        let rows = q.extents().first().map_or(0, |&rows| u64::from(rows));
        rows.saturating_mul((1 + heads).saturating_add(wide) as u64)
    });
    within(call.max_values, &mut { sizes })
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
    let bias = match options.0.get("bias") {
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
    let cache = match options.0.get("cached") {
        None => None,
        Some(value) => {
            let lengths = whole_numbers(value);
            let lengths = lengths.ok_or_else(|| wrong("cached", value))?;
            Some(Cache::with_lengths(k.clone(), v.clone(), &lengths)?)
        }
    };
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
