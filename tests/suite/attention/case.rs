//! A case of attention: its operands, how to run it, and its results in f64.

use vsla::attention::Attention;
use vsla::scalar::DType;
use vsla::scalar::{Float, Scalar};
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, Topology, f16};

use crate::support::corpus::rng;
use crate::support::operation::upload;

/// A type that attention computes on.
pub trait Value: Float + Into<f32> {
    fn rounded(x: f32) -> Self;
    /// The error of rounding a result.
    fn half_ulp(x: f64) -> f64;
}

impl Value for f32 {
    fn rounded(x: f32) -> f32 {
        x
    }
    fn half_ulp(_: f64) -> f64 {
        0.0
    }
}

impl Value for f16 {
    fn rounded(x: f32) -> f16 {
        f16::from_f32(x)
    }
    fn half_ulp(x: f64) -> f64 {
        x.abs() * 2f64.powi(-11) + 2f64.powi(-25)
    }
}

#[derive(Clone, Debug)]
pub struct Case {
    /// Queries and keys of each element.
    pub sizes: Vec<(usize, usize)>,
    pub heads: usize,
    pub key_heads: usize,
    pub d: usize,
    pub dv: usize,
    /// Whether operands have an axis of heads.
    pub axis: bool,
    pub scale: Option<f32>,
    pub causal: bool,
    pub top_left: bool,
    pub window: Option<(usize, usize)>,
    /// Whether each head has its own bias.
    pub bias: Option<bool>,
    pub alibi: bool,
    pub sinks: bool,
    pub softcap: Option<f32>,
    pub blocks: Option<Topology>,
    /// The size of queries.
    pub amplitude: f32,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            sizes: vec![(5, 5)],
            heads: 1,
            key_heads: 1,
            d: 16,
            dv: 16,
            axis: false,
            scale: None,
            causal: false,
            top_left: false,
            window: None,
            bias: None,
            alibi: false,
            sinks: false,
            softcap: None,
            blocks: None,
            amplitude: 1.0,
        }
    }
}

/// Values of a case on the host.
#[derive(Clone)]
pub struct Operands<T: Scalar> {
    pub q: Ragged<T>,
    pub k: Ragged<T>,
    pub v: Ragged<T>,
    pub bias: Option<Ragged<T>>,
    pub slopes: Ragged<f32>,
    pub sinks: Ragged<f32>,
}

/// Results in f64, and how far from them each may be.
pub struct Expected {
    pub o: Vec<Vec<(f64, f64)>>,
    pub lse: Vec<Vec<(f64, f64)>>,
}

impl Case {
    fn rows(&self, rows: impl Iterator<Item = usize>, heads: usize, width: usize) -> Layout {
        let shapes = rows.map(|n| match self.axis {
            true => Shape::new(&[n, heads, width]).unwrap(),
            false => Shape::new(&[n, heads * width]).unwrap(),
        });
        let rank = if self.axis { 3 } else { 2 };
        Layout::from_shapes(rank, shapes).unwrap()
    }

    pub fn operands<T: Value>(&self, seed: u64) -> Operands<T> {
        let mut rng = rng(&format!("attention {seed}"));
        let mut random = |layout: &Layout, size: f32| {
            Ragged::from_fn(layout, |_, _| T::rounded((rng.f32() * 2.0 - 1.0) * size)).unwrap()
        };
        let queries = self.sizes.iter().map(|size| size.0);
        let keys = || self.sizes.iter().map(|size| size.1);
        let q = random(&self.rows(queries, self.heads, self.d), self.amplitude);
        let k = random(&self.rows(keys(), self.key_heads, self.d), 1.0);
        let v = random(&self.rows(keys(), self.key_heads, self.dv), 1.0);
        let bias = self.bias.map(|own| {
            let shapes = self.sizes.iter().map(|&(n, m)| match own {
                true => Shape::new(&[self.heads, n, m]).unwrap(),
                false => Shape::new(&[n, m]).unwrap(),
            });
            let rank = if own { 3 } else { 2 };
            random(&Layout::from_shapes(rank, shapes).unwrap(), 2.0)
        });
        let each = Layout::from_lengths([self.heads]).unwrap();
        let slopes = Ragged::from_fn(&each, |_, h| 0.5f32.powi(h as i32 + 1)).unwrap();
        let sinks = Ragged::from_fn(&each, |_, h| h as f32 * 0.75 - 1.0).unwrap();
        Operands {
            q,
            k,
            v,
            bias,
            slopes,
            sinks,
        }
    }

    /// Operands whose later keys have larger products with all queries.
    pub fn growing<T: Value>(&self, seed: u64) -> Operands<T> {
        let mut of = self.operands::<T>(seed);
        let wide = |x: T| -> f32 { x.into() };
        let width = self.key_heads * self.d;
        of.q =
            Ragged::from_fn(of.q.layout(), |e, i| T::rounded(wide(of.q.row(e)[i]).abs())).unwrap();
        of.k = Ragged::from_fn(of.k.layout(), |e, i| {
            T::rounded(wide(of.k.row(e)[i]).abs() * (i / width) as f32 / 64.0)
        })
        .unwrap();
        of
    }

    /// The results on a device.
    pub fn run<T: Value>(
        &self,
        device: &Device,
        of: &Operands<T>,
    ) -> Result<(Ragged<T>, Ragged<f32>)> {
        let [q, k, v] = [&of.q, &of.k, &of.v].map(|x| upload(device, x));
        let bias = of.bias.as_ref().map(|bias| upload(device, bias));
        let (slopes, sinks) = (upload(device, &of.slopes), upload(device, &of.sinks));
        let (o, lse) = self
            .configured(&q, &k, &v, bias.as_ref(), [&slopes, &sinks])
            .run_with_lse()?;
        Ok((o.download_blocking()?, lse.download_blocking()?))
    }

    pub fn configured<'a, T: Value>(
        &'a self,
        q: &'a Tensor<T>,
        k: &'a Tensor<T>,
        v: &'a Tensor<T>,
        bias: Option<&'a Tensor<T>>,
        per_head: [&'a Tensor<f32>; 2],
    ) -> Attention<'a, T> {
        self.options(q.attention(k, v), bias, per_head)
    }

    pub fn options<'a, T: Value>(
        &'a self,
        mut attention: Attention<'a, T>,
        bias: Option<&'a Tensor<T>>,
        [slopes, sinks]: [&'a Tensor<f32>; 2],
    ) -> Attention<'a, T> {
        if !self.axis {
            attention = attention.heads(self.heads).key_heads(self.key_heads);
        }
        if let Some(scale) = self.scale {
            attention = attention.scale(scale);
        }
        if self.causal {
            attention = attention.causal();
        }
        if self.top_left {
            attention = attention.top_left();
        }
        if let Some((before, after)) = self.window {
            attention = attention.window(before, after);
        }
        if let Some(cap) = self.softcap {
            attention = attention.softcap(cap);
        }
        if let Some(bias) = bias {
            attention = attention.bias(bias);
        }
        if self.alibi {
            attention = attention.alibi(slopes);
        }
        if self.sinks {
            attention = attention.sinks(sinks);
        }
        match &self.blocks {
            Some(blocks) => attention.blocks(blocks),
            None => attention,
        }
    }

    /// Whether a query attends to a key of an element.
    pub fn sees(&self, (queries, keys): (usize, usize), query: usize, key: usize) -> bool {
        let at = query as i64
            + if self.top_left {
                0
            } else {
                keys as i64 - queries as i64
            };
        let (before, after) = self.window.unwrap_or((usize::MAX, usize::MAX));
        let distance = key as i64 - at;
        let within = match distance < 0 {
            true => distance.unsigned_abs() as usize <= before,
            false => distance as usize <= after,
        };
        within
            && !(self.causal && distance > 0)
            && self.blocks.as_ref().is_none_or(|blocks| {
                let [high, wide] = blocks.block();
                let place = ((query / high) as u32, (key / wide) as u32);
                blocks.blocks().any(|block| block == place)
            })
    }

    /// The score of a query and a key, and the sum of the sizes of its parts.
    pub fn score<T: Value>(
        &self,
        of: &Operands<T>,
        element: usize,
        head: usize,
        (query, key): (usize, usize),
    ) -> (f64, f64) {
        let (n, m) = self.sizes[element];
        let key_head = head * self.key_heads / self.heads;
        let wide = |x: T| f64::from(x.into());
        let q = &of.q.row(element)[(query * self.heads + head) * self.d..][..self.d];
        let k = &of.k.row(element)[(key * self.key_heads + key_head) * self.d..][..self.d];
        let products = || q.iter().zip(k).map(|(q, k)| wide(*q) * wide(*k));
        let scale = f64::from(self.scale.unwrap_or(1.0 / (self.d as f32).sqrt()));
        let mut s = scale * products().sum::<f64>();
        let mut size = scale.abs() * products().map(f64::abs).sum::<f64>();
        if let Some(cap) = self.softcap.map(f64::from) {
            s = cap * (s / cap).tanh();
        }
        if let Some(bias) = &of.bias {
            let matrix = if self.bias == Some(true) { head * n } else { 0 };
            let bias = wide(bias.row(element)[(matrix + query) * m + key]);
            s += bias;
            size += bias.abs();
        }
        if self.alibi {
            let at = query as i64
                + if self.top_left {
                    0
                } else {
                    m as i64 - n as i64
                };
            let less = f64::from(of.slopes.row(0)[head]) * (at - key as i64).abs() as f64;
            s -= less;
            size += less;
        }
        (s, size)
    }

    /// The derivative of the cap.
    pub fn capped_by<T: Value>(
        &self,
        of: &Operands<T>,
        element: usize,
        head: usize,
        place: (usize, usize),
    ) -> f64 {
        let Some(cap) = self.softcap.map(f64::from) else {
            return 1.0;
        };
        let uncapped = Case {
            softcap: None,
            bias: None,
            alibi: false,
            ..self.clone()
        };
        let of = Operands {
            bias: None,
            ..of.clone()
        };
        let (s, _) = uncapped.score(&of, element, head, place);
        1.0 - (s / cap).tanh().powi(2)
    }

    pub fn expected<T: Value>(&self, of: &Operands<T>) -> Expected {
        let mut expected = Expected {
            o: Vec::new(),
            lse: Vec::new(),
        };
        for (element, &(n, _)) in self.sizes.iter().enumerate() {
            let rows = (0..n).flat_map(|i| (0..self.heads).map(move |h| (i, h)));
            let rows = rows.map(|(query, head)| self.row(of, element, query, head));
            let (o, lse): (Vec<_>, Vec<_>) = rows.unzip();
            expected.o.push(o.concat());
            expected.lse.push(lse);
        }
        expected
    }

    /// The results of one row, and its log-sum-exp.
    fn row<T: Value>(
        &self,
        of: &Operands<T>,
        element: usize,
        query: usize,
        head: usize,
    ) -> (Vec<(f64, f64)>, (f64, f64)) {
        let (n, m) = self.sizes[element];
        let unit = 2f64.powi(-24);
        let key_head = head * self.key_heads / self.heads;
        let seen = || (0..m).filter(|key| self.sees((n, m), query, *key));
        let scores: Vec<(usize, f64, f64)> = seen()
            .map(|key| {
                let (s, size) = self.score(of, element, head, (query, key));
                (key, s, size)
            })
            .collect();
        let sink = self.sinks.then(|| f64::from(of.sinks.row(0)[head]));
        let all = || scores.iter().map(|score| score.1).chain(sink);
        let most = all().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all().map(|s| (s - most).exp()).sum();
        let size = scores.iter().map(|score| score.2).fold(0.0, f64::max);
        let slack = unit * ((self.d as f64 + 8.0) * size + m as f64 + 32.0);
        let total = most + sum.ln();
        let finite = if total.is_finite() { total.abs() } else { 0.0 };
        let lse = (total, slack + unit * finite);
        let of_column = |column: usize| {
            let value = |key: usize| {
                let at = (key * self.key_heads + key_head) * self.dv + column;
                f64::from(of.v.row(element)[at].into())
            };
            let weighted = scores
                .iter()
                .map(|&(key, s, _)| (s - most).exp() * value(key));
            let y = match scores.is_empty() {
                true => 0.0,
                false => weighted.sum::<f64>() / sum,
            };
            let largest = seen().map(|key| value(key).abs()).fold(0.0, f64::max);
            (y, 2.0 * slack * largest + T::half_ulp(y))
        };
        ((0..self.dv).map(of_column).collect(), lse)
    }

    /// The largest value of an element, by size.
    pub fn largest<T: Value>(&self, of: &Operands<T>, element: usize) -> f64 {
        let values = of.v.row(element).iter().map(|x| f64::from((*x).into()));
        values.map(f64::abs).fold(0.0, f64::max)
    }

    /// How much f16 weights add to the bounds of an element's results on cooperative matrices.
    fn of_rounded_weights<T: Value>(
        &self,
        device: &Device,
        of: &Operands<T>,
        element: usize,
    ) -> f64 {
        if T::DTYPE != DType::F16 || device.info().matrices.is_none() {
            return 0.0;
        }
        let keys = self.sizes[element].1 as f64;
        2f64.powi(-10) * (1.0 + keys * 2f64.powi(-14)) * self.largest(of, element)
    }

    /// Runs the case, and compares results with f64.
    pub fn check<T: Value>(&self, device: &Device, seed: u64) {
        self.check_queries(device, &self.operands::<T>(seed), |_, _| true);
    }

    /// The same with these operands, for the queries of an element that a condition admits.
    pub fn check_queries<T: Value>(
        &self,
        device: &Device,
        of: &Operands<T>,
        is_checked: impl Fn(usize, usize) -> bool,
    ) {
        let (o, lse) = self
            .run(device, of)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"));
        for (element, &(n, _)) in self.sizes.iter().enumerate() {
            assert_eq!(o.row(element).len(), n * self.heads * self.dv, "{self:?}");
            let more = self.of_rounded_weights(device, of, element);
            for query in (0..n).filter(|query| is_checked(element, *query)) {
                for head in 0..self.heads {
                    let at = query * self.heads + head;
                    let (values, total) = self.row(of, element, query, head);
                    let got = o.row(element)[at * self.dv..][..self.dv].iter();
                    let got = got.map(|x| f64::from((*x).into())).zip(&values);
                    let results = got.map(|(got, (value, bound))| (got, *value, bound + more));
                    let total = (f64::from(lse.row(element)[at]), total.0, total.1);
                    for (column, (got, value, bound)) in results.chain([total]).enumerate() {
                        let what = if column == self.dv { "lse" } else { "o" };
                        assert!(
                            got == value || (got - value).abs() <= bound,
                            "{what} of query {query}, head {head}, column {column} of element {element} of {} \
                             {self:?}: {got}, expected {value} within {bound}",
                            T::DTYPE
                        );
                    }
                }
            }
        }
    }
}
