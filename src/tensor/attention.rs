//! Attention: its builder, and the merge of partial results.

use super::run::{Call, check_planned};
use super::{Cache, Tensor};
use crate::error::Named;
use crate::host;
use crate::ops::attention::slopes::Slopes;
use crate::ops::attention::{self, LOWEST, Mask, OP, Side, Stats, UNBOUNDED};
use crate::ragged::{DType, Float, Layout, Scalar, Shape, Topology};
use crate::{Error, Result};

/// A builder for attention, `softmax(scale · q kᵀ) v` for each element and head. Made by [`Tensor::attention`]. [The
/// guide](crate::pages::attention) has examples.
///
/// Query i of a head gives o_i = Σ_j p_ij v_j with p_ij = exp(s_ij) / Σ_l exp(s_il), where s_ij is the score of query i
/// and key j, and sums are over the keys that no mask excludes. A score is computed in this order:
///
/// 1. the product q_i · k_j times [`scale`](Self::scale), 1 / √d by default;
/// 2. with [`softcap`](Self::softcap) c, s becomes c tanh(s / c);
/// 3. [`bias`](Self::bias) is added, and the penalty of [`alibi`](Self::alibi) is subtracted;
/// 4. [`causal`](Self::causal), [`window`](Self::window) and [`blocks`](Self::blocks) exclude keys. A query attends to
///    a key if none of them excludes it.
///
/// # Shapes
/// For each element, queries are (n, heads, d), keys (m, key heads, d) and values (m, key heads, dv). n and m may
/// differ from element to element; the other extents may not, except that those of an element without rows are ignored.
/// The result is (n, heads, dv). Operands of rank 2 hold the heads side by side, (n, heads · d) and so on, as linear
/// layers produce them; [`heads`](Self::heads) then sets their number, and the result is (n, heads · dv). If there are
/// fewer key heads than heads, consecutive heads share a key head ([`key_heads`](Self::key_heads)). d and dv are from 1
/// to 256; for f16, both are even.
///
/// # What is promised
/// - Elements are independent. The bits of an element's results do not depend on the other elements of its batch, and
///   are the same in every run on a device.
/// - An element without queries has no results. If a query has no keys, because the element has none or because masks
///   exclude all of them, its result is 0 and its log-sum-exp is −∞.
/// - A NaN or an infinity in a query reaches its own row. A NaN or an infinity in a key or value reaches the queries
///   that attend to it; in a value, it may not if its score is more than 87 below the largest one. An excluded key has
///   no effect, whatever it holds. Only on cooperative matrices may a NaN or an infinity in the *value row* of an
///   excluded key reach other queries in a tile, because its weight is 0, and 0 · NaN is NaN; the same holds for
///   gradients.
/// - f16 is computed in f32, and each result is rounded once; on cooperative matrices, weights are rounded to f16, too.
/// - Attention does not respect equivalence: a row of zeros at the end of the keys is an additional key.
///
/// # Errors of results
/// The error of o is at most 2⁻²³ max|v| ((d + 8) S + m + 32), where S is the largest Σ_l |scale q_l k_l| + |bias| +
/// |slope · distance| of the row's keys, max|v| is over the values of these keys, and m is the number of keys of the
/// element; for f16, add half a unit in the last place, and on cooperative matrices (heads of up to 128 values, or 64
/// if matrices are 8 × 8, in multiples of 8) also 2⁻¹⁰ (1 + m 2⁻¹⁴) max|v| for the rounding of weights. The error of
/// the log-sum-exp is at most half of the first bound without max|v|, plus 2⁻²⁴ of its magnitude.
///
/// # Cost
/// 2 (d + dv) floating-point operations for each score, except where a whole stage of keys (16 or 32) is masked. Scores
/// are never stored. A row is a query with one of the heads that share a key head: keys and values are read once for
/// every 1 to 64 rows, depending on the number of rows of the element. Queries are read once, and results are written
/// once. There is one dispatch for each kind of tile, and one more if elements have at most 16 rows and more than 512
/// keys, because several workgroups then share the keys. On a GPU, views that do not begin at a multiple of 16 bytes
/// are copied.
///
/// ```
/// use vsla::{Device, Ragged, Shape};
///
/// let device = Device::cpu();
/// // Two sentences of 3 and 1 tokens; two heads of 2 values, side by side.
/// let rows = [Shape::new(&[3, 4])?, Shape::new(&[1, 4])?];
/// let x = device.upload(&Ragged::from_shapes((0..16).map(|i| (i % 5) as f32).collect(), 2, rows)?)?;
/// let y = x.attention(&x, &x).heads(2).causal().run()?.download_blocking()?;
/// // The first token of each sentence attends only to itself.
/// assert_eq!(y.row(0)[..4], [0.0, 1.0, 2.0, 3.0]);
/// assert_eq!(y.row(1), [2.0, 3.0, 4.0, 0.0]);
/// # Ok::<(), vsla::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "does nothing until `run` is called"]
pub struct Attention<'a, T: Float> {
    q: &'a Tensor<T>,
    k: &'a Tensor<T>,
    v: &'a Tensor<T>,
    heads: usize,
    key_heads: Option<usize>,
    scale: Option<f32>,
    softcap: Option<f32>,
    window: Option<(usize, usize)>,
    causal: bool,
    top_left: bool,
    blocks: Option<&'a Topology>,
    bias: Option<&'a Tensor<T>>,
    lengths: Option<&'a Tensor<u32>>,
    alibi: Option<&'a Tensor<f32>>,
    sinks: Option<&'a Tensor<f32>>,
}

impl<T: Float> Tensor<T> {
    /// Attention of these queries over keys and values, element by element: see [`Attention`] for the formula, shapes,
    /// options and guarantees.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let of = |values: Vec<f32>, n| Ragged::from_shapes(values, 3, [Shape::new(&[n, 1, 2])?]);
    /// let q = device.upload(&of(vec![100.0, 0.0], 1)?)?;
    /// let k = device.upload(&of(vec![0.0, 1.0, 1.0, 0.0], 2)?)?;
    /// let v = device.upload(&of(vec![1.0, 2.0, 3.0, 4.0], 2)?)?;
    /// // The query is like the second key.
    /// assert_eq!(q.attention(&k, &v).run()?.download_blocking()?.values(), [3.0, 4.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn attention<'a>(&'a self, keys: &'a Tensor<T>, values: &'a Tensor<T>) -> Attention<'a, T> {
        Attention {
            q: self,
            k: keys,
            v: values,
            heads: 1,
            key_heads: None,
            scale: None,
            softcap: None,
            window: None,
            causal: false,
            top_left: false,
            blocks: None,
            bias: None,
            lengths: None,
            alibi: None,
            sinks: None,
        }
    }
}

impl<T: Float> Tensor<T> {
    /// Attention of these queries over the rows that a cache holds: [`attention`](Self::attention) over tensors of
    /// these rows alone, without copying them. Query i of n is at position i + length − n. See [`Cache`] for an example
    /// and the cost.
    ///
    /// All options compose with a cache, except [`bias`](Attention::bias). There are no gradients.
    pub fn attention_over<'a>(&'a self, cache: &'a Cache<T>) -> Attention<'a, T> {
        Attention {
            lengths: Some(&cache.lengths),
            ..self.attention(&cache.keys, &cache.values)
        }
    }
}

impl<'a, T: Float> Attention<'a, T> {
    /// The number of heads that operands of rank 2 hold side by side; 1 by default. Operands of rank 3 have an axis of
    /// heads.
    pub fn heads(mut self, heads: usize) -> Self {
        self.heads = heads;
        self
    }

    /// The number of heads of keys and values of rank 2, which must divide the number of query heads; by default, both
    /// are equal. Query head h attends to key head ⌊h · key heads / heads⌋.
    pub fn key_heads(mut self, heads: usize) -> Self {
        self.key_heads = Some(heads);
        self
    }

    /// The factor by which products are multiplied; 1 / √d by default.
    pub fn scale(mut self, scale: f32) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Bounds scores smoothly by ± `cap`: s becomes cap · tanh(s / cap).
    pub fn softcap(mut self, cap: f32) -> Self {
        self.softcap = Some(cap);
        self
    }

    /// Excludes the keys after each query's position. The last query is at the position of the last key: query i
    /// attends to keys j ≤ i + m − n, which also holds when earlier keys come from a cache.
    ///
    /// PyTorch's `is_causal` and masks made by `tril` align the first query with the first key instead
    /// ([`top_left`](Self::top_left)); for n = m both are the same.
    pub fn causal(mut self) -> Self {
        self.causal = true;
        self
    }

    /// Puts query i at the position of key i, instead of aligning the last query with the last key, for all masks and
    /// for [`alibi`](Self::alibi).
    pub fn top_left(mut self) -> Self {
        self.top_left = true;
        self
    }

    /// Excludes keys more than `before` positions before a query's position, or more than `after` positions after it:
    /// both ends belong to the window. Use `usize::MAX` for no limit.
    ///
    /// ```
    /// # use vsla::{Device, Ragged, Shape};
    /// # let device = Device::cpu();
    /// let zeros = device.upload(&Ragged::from_shapes(vec![0.0f32; 4], 2, [Shape::new(&[4, 1])?])?)?;
    /// let v = device.upload(&Ragged::from_shapes(vec![2.0f32, 4.0, 6.0, 8.0], 2, [Shape::new(&[4, 1])?])?)?;
    /// // Means over the last two values.
    /// let y = zeros.attention(&zeros, &v).window(1, 0).run()?.download_blocking()?;
    /// assert_eq!(y.values(), [2.0, 3.0, 5.0, 7.0]);
    /// # Ok::<(), vsla::Error>(())
    /// ```
    pub fn window(mut self, before: usize, after: usize) -> Self {
        self.window = Some((before, after));
        self
    }

    /// Excludes the keys outside the blocks of a topology, whose rows are queries and whose columns are keys. The
    /// topology is the same for all elements and heads; elements may be smaller than the topology.
    pub fn blocks(mut self, topology: &'a Topology) -> Self {
        self.blocks = Some(topology);
        self
    }

    /// Adds a bias to the scores: an element of shape (n, m) for all heads, or (heads, n, m). A bias of −∞ excludes a
    /// key, whatever their product is.
    pub fn bias(mut self, bias: &'a Tensor<T>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Subtracts slope · |distance| from the scores, where the distance is that of a key from a query's position (Press
    /// et al., 2022). `slopes` is one vector, with a slope for each head; slopes have no gradient.
    pub fn alibi(mut self, slopes: &'a Tensor<f32>) -> Self {
        self.alibi = Some(slopes);
        self
    }

    /// Adds exp(sink) to the denominator of each row, as a key with the score `sink` and the value 0 would. `sinks` is
    /// one vector, with a sink for each head.
    pub fn sinks(mut self, sinks: &'a Tensor<f32>) -> Self {
        self.sinks = Some(sinks);
        self
    }

    /// Runs the attention. In programs, it has gradients with respect to queries, keys, values and bias, and also to
    /// sinks unless ALiBi slopes are given. Those have no gradients themselves.
    ///
    /// # Errors
    /// Before any work: [`Rank`](Error::Rank), [`BatchSize`](Error::BatchSize) and [`Shape`](Error::Shape) with the
    /// first element that does not fit; [`Argument`](Error::Argument) for heads that do not divide the width or the
    /// number of heads, for heads of 0 or more than 256 values, for a cap or scale that is not
    /// finite or a cap that is not positive, and for a number of slopes or sinks other than the number of heads;
    /// [`Unsupported`](Error::Unsupported) for f16 with an odd number of values in a head;
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`TooLarge`](Error::TooLarge), [`WorkLimit`](Error::WorkLimit),
    /// [`OutOfMemory`](Error::OutOfMemory), [`DeviceLost`](Error::DeviceLost).
    pub fn run(self) -> Result<Tensor<T>> {
        Ok(self.run_with_parts()?.0)
    }

    /// Runs the attention, and returns the log-sum-exps of the scores, too: log Σ_j exp(s_ij) for each query and head,
    /// (n, heads) for each element, in f32. [`merge`] combines those of parts of the keys.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_with_lse(self) -> Result<(Tensor<T>, Tensor<f32>)> {
        let elements = 0..self.q.len();
        let (o, lse) = self.run_with_parts()?;
        Ok((o, lse.elements(elements)?))
    }

    /// The results, and both parts of the log-sum-exps.
    fn run_with_parts(self) -> Result<(Tensor<T>, Tensor<f32>)> {
        let Attention { q, k, v, .. } = self;
        q.check_device(k).named(OP)?;
        q.check_device(v).named(OP)?;
        let argument = |expected: &str, got: String| Err(Error::argument(expected, got).named(OP));
        let with_rows = q.layout().shapes().find(|shape| shape.extents()[0] > 0);
        let width = match with_rows.as_ref().map(Shape::extents) {
            Some([_, _, width]) => *width as usize,
            Some([_, width]) => *width as usize / self.heads.max(1),
            _ => 1,
        };
        let scale = self.scale.unwrap_or(1.0 / (width as f32).sqrt());
        if !scale.is_finite() && width > 0 {
            return argument("a finite scale", scale.to_string());
        }
        // No cap is 0.
        let cap = self.softcap.unwrap_or(0.0);
        if self.softcap.is_some() && !(cap.is_finite() && cap > 0.0) {
            return argument("a positive, finite cap of the scores", cap.to_string());
        }
        let (before, after) = self.window.unwrap_or((usize::MAX, usize::MAX));
        let bounded = |keys: usize| keys.min(UNBOUNDED as usize) as u32;
        let mask = Mask {
            before: bounded(before),
            after: if self.causal { 0 } else { bounded(after) },
            top_left: self.top_left,
            blocks: self.blocks.cloned(),
        };
        let mut operands = vec![q.operand(), k.operand(), v.operand()];
        if let Some(lengths) = self.lengths {
            if self.bias.is_some() {
                return Err(Error::unsupported(
                    "a bias over a cache; attend to tensors of keys and values instead",
                )
                .named(OP));
            }
            operands.push(lengths.operand());
        }
        if let Some(bias) = self.bias {
            q.check_device(bias).named(OP)?;
            operands.push(bias.operand());
        }
        for of in [self.alibi, self.sinks].into_iter().flatten() {
            q.check_device(of).named(OP)?;
            if (of.layout().rank(), of.len()) != (1, 1) {
                return argument(
                    "one vector of a value for each head",
                    format!("{:?}", of.layout()),
                );
            }
        }
        let both_layout = match (self.alibi, self.sinks) {
            (Some(slopes), Some(sinks)) => {
                let totals = [slopes, sinks].map(|of| of.layout().total());
                if totals[0] != totals[1] {
                    let got = format!("{} and {}", totals[0], totals[1]);
                    return argument("as many slopes as sinks", got);
                }
                Some(Layout::from_lengths([totals[0] + totals[1]])?)
            }
            (one, other) => {
                operands.extend(one.or(other).map(Tensor::operand));
                None
            }
        };
        let is_for_matrices = self.lengths.is_none() && T::DTYPE == DType::F16;
        let matrices = q.device.matrices().filter(|_| is_for_matrices);
        let op = attention::Attention {
            dtype: T::DTYPE,
            matrices,
            heads: self.heads,
            key_heads: self.key_heads.unwrap_or(self.heads),
            mask,
            capped: cap > 0.0,
            cached: self.lengths.is_some(),
            bias: self.bias.is_some(),
            alibi: self.alibi.is_some(),
            sinks: self.sinks.is_some(),
        };
        // Kernels load whole units. Others would compute other bits, so views with another alignment are copied.
        let unit = attention::unit(T::DTYPE);
        let views = [q, k, v].map(|x| q.device.is_gpu() && !x.begins_at(unit));
        if views.contains(&true) || both_layout.is_some() {
            let mut layouts: Vec<&Layout> = operands.iter().map(|operand| operand.layout).collect();
            layouts.extend(&both_layout);
            check_planned(&q.device, op.clone(), &layouts)?;
        }
        let both = match (self.alibi, self.sinks) {
            (Some(slopes), Some(sinks)) => {
                let both = slopes.concat(sinks, 0);
                Some(both.named(OP)?)
            }
            _ => None,
        };
        operands.extend(both.as_ref().map(Tensor::operand));
        let mut copies = [None, None, None];
        for ((copy, x), _) in copies
            .iter_mut()
            .zip([q, k, v])
            .zip(views)
            .filter(|(_, view)| *view)
        {
            *copy = Some(x.copy().named(OP)?);
        }
        for (operand, copy) in operands.iter_mut().zip(&copies) {
            if let Some(copy) = copy {
                *operand = copy.operand();
            }
        }
        let inverse = if cap > 0.0 { 1.0 / cap } else { 0.0 };
        let scalars = [scale, cap, inverse].map(f32::to_bits);
        Call {
            scalars: &scalars,
            ..Call::new(&q.device, op, &operands)
        }
        .two()
    }
}

/// Combines attention over disjoint parts of the keys: results and log-sum-exps of
/// [`run_with_lse`](Attention::run_with_lse), in any number, into those of all keys.
///
/// With w_p = exp(lse_p − max lse), o = Σ w_p o_p / Σ w_p and lse = max lse + log Σ w_p, for each query and head. A
/// part without keys has the log-sum-exp −∞ and no weight; if no part has keys, the results are 0 and −∞. Add sinks to
/// one part only; each part takes the bias of its own keys. f16 is computed in f32 and rounded once. Error: the errors
/// of the parts' results and log-sum-exps, with the same weights, plus (2 parts + 8) 2⁻²⁴ max|o_p|. A log-sum-exp is
/// one number here, so that its rounding alone is worth 2⁻²³ max|lse_p| max|o_p|: beyond 10⁷, weights say nothing.
///
/// Cost: a few dispatches, which read every part once.
///
/// ```
/// use vsla::{Device, Ragged, Shape, attention};
///
/// let device = Device::cpu();
/// let rows = |n: usize| Shape::new(&[n, 2]);
/// let q = device.upload(&Ragged::from_shapes(vec![1.0f32, 0.0], 2, [rows(1)?])?)?;
/// let keys = device.upload(&Ragged::from_shapes(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 2, [rows(3)?])?)?;
/// let (first, last) = (keys.slice(&[0, 0], &[2, 2])?, keys.slice(&[2, 0], &[3, 2])?);
/// let parts = [q.attention(&first, &first).run_with_lse()?, q.attention(&last, &last).run_with_lse()?];
/// let [(a, a_lse), (b, b_lse)] = &parts;
/// let (whole, _) = attention::merge(&[(a, a_lse), (b, b_lse)])?;
/// let expected = q.attention(&keys, &keys).run()?.download_blocking()?;
/// for (got, expected) in whole.download_blocking()?.values().iter().zip(expected.values()) {
///     assert!((got - expected).abs() < 1e-5);
/// }
/// # Ok::<(), vsla::Error>(())
/// ```
///
/// # Errors
/// [`Argument`](Error::Argument) without parts; [`BatchSize`](Error::BatchSize), [`Rank`](Error::Rank) and
/// [`Shape`](Error::Shape) for parts of different shapes, with the element; [`DeviceMismatch`](Error::DeviceMismatch);
/// those of [`Tensor::add`].
pub fn merge<T: Float>(parts: &[(&Tensor<T>, &Tensor<f32>)]) -> Result<(Tensor<T>, Tensor<f32>)> {
    let op = "merge";
    let Some(&(first, first_lse)) = parts.first() else {
        return Err(Error::argument("one part or more", 0).named(op));
    };
    let named = |error: Error| error.named(op);
    first.layout().check_len(first_lse.len()).named(op)?;
    for &(o, lse) in parts {
        first.check_device(o).named(op)?;
        first.check_device(lse).named(op)?;
        for (layout, like) in [
            (o.layout(), first.layout()),
            (lse.layout(), first_lse.layout()),
        ] {
            layout.check_rank_of(like, "the first part").named(op)?;
            like.check_len(layout.len()).named(op)?;
            layout.check_shapes(like).named(op)?;
        }
    }
    let rows = Layout::from_lengths(first_lse.layout().lengths())?;
    let most = parts[1..]
        .iter()
        .try_fold(first_lse.clone(), |most, (_, lse)| most.maximum(*lse));
    // −∞ − (−∞) would be NaN.
    let most = most
        .map_err(named)?
        .clamp(LOWEST, f32::INFINITY)
        .map_err(named)?;
    let mut sums: Option<(Tensor<f32>, Tensor<f32>)> = None;
    for &(o, lse) in parts {
        let matrices = lse
            .layout()
            .lengths()
            .zip(o.layout().lengths())
            .map(|(rows, values)| Shape::new(&[rows, values.checked_div(rows).unwrap_or(0)]));
        let matrices = Layout::from_shapes(2, host::try_collect(matrices).named(op)?)?;
        let weight = lse.sub(&most)?.exp()?.reshape(&rows)?;
        let o = o
            .to::<f32>()?
            .reshape(&matrices)?
            .hadamard(weight.along(0))?;
        sums = Some(match sums {
            None => (o, weight),
            Some((all, weights)) => (all.add(&o)?, weights.add(&weight)?),
        });
    }
    let Some((o, weights)) = sums else {
        return Err(Error::argument("one part or more", 0).named(op));
    };
    // The largest weight is 1, unless all are 0.
    let divisor = weights.clamp(f32::MIN_POSITIVE, f32::INFINITY)?;
    let o = o
        .div(divisor.along(0))?
        .reshape(first.layout())?
        .to::<T>()?;
    let lse = weights.log()?.reshape(first_lse.layout())?.add(&most)?;
    Ok((o, lse))
}

/// The operands and attributes of an attention, for its gradients.
pub(crate) struct Attended<'a, T: Float> {
    pub of: &'a attention::Attention,
    pub q: Tensor<T>,
    pub k: Tensor<T>,
    pub v: Tensor<T>,
    pub bias: Option<Tensor<T>>,
    /// The ALiBi slopes and the sinks, in the form in which the operation takes them.
    pub per_head: Option<Tensor<f32>>,
    pub scalars: &'a [u32],
}

impl<T: Float> Attended<'_, T> {
    /// For each query and head: the log-sum-exp in two parts, the value δ that is subtracted from the cotangents of
    /// weights, and the ALiBi slope. `lse` and `of_lse` are the second result of the attention and its cotangent.
    pub(crate) fn stats(
        &self,
        (g, o): (&Tensor<T>, &Tensor<T>),
        (lse, of_lse): (&Tensor<f32>, Option<&Tensor<f32>>),
    ) -> Result<Tensor<f32>> {
        let slopes = self.per_head.as_ref().filter(|_| self.of.alibi);
        let op = Stats {
            dtype: T::DTYPE,
            of_lse: of_lse.is_some(),
            alibi: slopes.is_some(),
        };
        let mut operands = vec![g.operand(), o.operand(), lse.operand()];
        operands.extend(of_lse.map(Tensor::operand));
        operands.extend(slopes.map(Tensor::operand));
        Call::new(&self.q.device, op, &operands).one()
    }

    /// The cotangent of the result, copied if the kernels cannot read it where it lies.
    pub(crate) fn aligned(&self, g: &Tensor<T>) -> Result<Tensor<T>> {
        match self.of.matrices.is_some() && !g.begins_at(attention::unit(T::DTYPE)) {
            true => g.copy(),
            false => Ok(g.clone()),
        }
    }

    /// The gradient with respect to one operand, given the cotangent of the result.
    pub(crate) fn slopes<R: Scalar>(
        &self,
        side: Side,
        g: &Tensor<T>,
        stats: &Tensor<f32>,
    ) -> Result<Tensor<R>> {
        let of = self.of.clone();
        let op = Slopes { of, side };
        let Attended { q, k, v, .. } = self;
        let mut operands = vec![
            q.operand(),
            k.operand(),
            v.operand(),
            g.operand(),
            stats.operand(),
        ];
        operands.extend(self.bias.as_ref().map(Tensor::operand));
        Call {
            scalars: self.scalars,
            ..Call::new(&self.q.device, op, &operands)
        }
        .one()
    }
}
