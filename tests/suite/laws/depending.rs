//! Operations whose results depend on the shapes of elements, each with an example.

use vsla::batch::Side;
use vsla::image::{Components, Neighbours};
use vsla::{Layout, Pairing, Ragged, Shape, Tensor, conv::ConvMode};

use super::operands::*;
use super::{Run, floats, integers};
use crate::support::operation::run;

/// π rounded to `f32`.
const PI: f64 = std::f32::consts::PI as f64;
const FRAC_PI_2: f64 = std::f32::consts::FRAC_PI_2 as f64;

/// An operation that depends on the shapes of elements, and an example that shows it: two equivalent operands on each
/// side, one of which may occur twice.
pub struct Depending {
    pub name: &'static str,
    pub a: [&'static [i32]; 2],
    pub b: [&'static [i32]; 2],
    pub gives: [&'static [f64]; 2],
    pub run: Run,
}

macro_rules! depending {
    ($($name:literal, $a:expr, $b:expr => $gives:expr, $run:expr;)*) => {
        /// Every operation that does not respect equivalence, or respects it only on the other side.
        pub const DEPENDING: &[Depending] = &[$(Depending {
            name: $name,
            a: $a,
            b: $b,
            gives: $gives,
            run: $run,
        }),*];
    };
}

depending! {
    "pow", [&[0], &[0, 0]], [&[0], &[0, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, y| x.pow(y));
    "atan2", [&[1], &[1, 0]], [&[0, -1], &[0, -1]] => [&[FRAC_PI_2, 0.], &[FRAC_PI_2, PI]],
        |d, a, b| floats(d, a, b, |x, y| x.atan2(y));
    "maximum", [&[-1], &[-1, 0]], [&[-2, -3], &[-2, -3]] => [&[-1., -3.], &[-1., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.maximum(y));
    "minimum", [&[1], &[1, 0]], [&[2, 3], &[2, 3]] => [&[1., 3.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.minimum(y));
    "equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.equal(y));
    "less_equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.less_equal(y));
    "greater_equal", [&[1], &[1, 0]], [&[1], &[1, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.greater_equal(y));
    "exp", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.exp());
    "exp2", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.exp2());
    "cos", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.cos());
    "sigmoid", [&[0], &[0, 0]], [&[], &[]] => [&[0.5], &[0.5, 0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.sigmoid());
    "log", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[0., f64::NEG_INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.log());
    "log2", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[0., f64::NEG_INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.log2());
    "rsqrt", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., f64::INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.rsqrt());
    "reciprocal", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., f64::INFINITY]],
        |d, a, b| floats(d, a, b, |x, _| x.reciprocal());
    "softplus", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| x.softplus()?.ceil()?.clamp(0.0, 1.0));
    "bit_not", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[0., -1.]],
        |d, a, b| integers(d, a, b, |x, _| x.bit_not());
    "mean", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean());
    "mean_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean_axis(0));
    "var", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.var());
    "var_axis", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.var_axis(0));
    "std", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.std());
    "std_axis", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.std_axis(0));
    "log_sum_exp", [&[-2], &[-2, 0]], [&[], &[]] => [&[-200.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_sum_exp());
    "log_sum_exp_axis", [&[-2], &[-2, 0]], [&[], &[]] => [&[-200.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_sum_exp_axis(0));
    "softmax", [&[0], &[0, 0]], [&[], &[]] => [&[1.], &[0.5, 0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.softmax(0));
    "log_softmax", [&[-2], &[-2, 0]], [&[], &[]] => [&[0.], &[-200., 0.]],
        |d, a, b| floats(d, a, b, |x, _| x.scale(100.0)?.log_softmax(0));
    "cumsum", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[2., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cumsum(0));
    "cummax", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[2., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cummax(0));
    "cummin", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[-2., -2.]],
        |d, a, b| integers(d, a, b, |x, _| x.cummin(0));
    "diff", [&[2], &[2, 0]], [&[], &[]] => [&[], &[-2.]],
        |d, a, b| integers(d, a, b, |x, _| x.diff(0));
    "sort", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0., 2.]],
        |d, a, b| integers(d, a, b, |x, _| x.sort(0));
    "sort_descending", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[0., -2.]],
        |d, a, b| integers(d, a, b, |x, _| x.sort_descending(0));
    "argsort", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.argsort(0));
    "argsort_descending", [&[-2], &[-2, 0]], [&[], &[]] => [&[0.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.argsort_descending(0));
    "top_k", [&[-2], &[-2, 0]], [&[], &[]] => [&[-2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| Ok(x.top_k(1, 0)?.0));
    "top_k_at_most", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| Ok(x.top_k_at_most(2, 0)?.1));
    "quantile", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.quantile(0.5));
    "quantile_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.quantile_axis(0.5, 0));
    "median", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.median());
    "median_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.median_axis(0));
    "histogram", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.histogram(2, 0..=1)?.to::<i32>());
    "histogram_edges", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.histogram_edges(&[0, 1, 9])?.to::<i32>());
    "attention", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| floats(d, a, b, |x, _| {
            // All keys count alike.
            let column = Layout::uniform(1, Shape::new(&[x.layout().length(0), 1])?)?;
            let of = x.reshape(&column)?;
            of.attention(&of, &of).scale(0.0).run()?.reshape(x.layout())
        });
    // Twice the cosine and sine of 1, rounded: values half a row apart are a pair.
    "rotary", [&[1, 0], &[1, 0, 0, 0]], [&[], &[]] => [&[1., 2.], &[1., 0., 2., 0.]],
        |d, a, b| floats(d, a, b, |x, _| {
            let row = Layout::uniform(1, Shape::new(&[1, x.layout().length(0)])?)?;
            x.reshape(&row)?.rotary().start(1).run()?.scale(2.0)?.round()?.reshape(x.layout())
        });
    "layer_norm", [&[2], &[2, 0]], [&[], &[]] => [&[0.], &[0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.layer_norm(0, 3.0));
    "standardize", [&[5, 0], &[5, 0, 0, 0, 0]], [&[], &[]] => [&[1., -1.], &[2., -0.5, -0.5, -0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.standardize(0.0));
    "group_norm", [&[5, 0], &[5, 0, 0, 0, 0]], [&[], &[]] => [&[1., -1.], &[2., -0.5, -0.5, -0.5, -0.5]],
        |d, a, b| floats(d, a, b, |x, _| x.group_norm(1, 0.0));
    "rms_norm", [&[2], &[2, 0, 0, 0]], [&[], &[]] => [&[1.], &[2., 0., 0., 0.]],
        |d, a, b| floats(d, a, b, |x, _| x.rms_norm(0, 0.0));
    "strided_slice", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.strided_slice(&[(None, None, -1)]));
    "label", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let row = Layout::uniform(1, Shape::new(&[1, x.layout().length(0)])?)?;
            let components = Components::of_equal_values().background(9);
            let (labels, _) = x.reshape(&row)?.label(components)?;
            labels.reshape(x.layout())?.to::<i32>()
        });
    "one_hot", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.one_hot::<f32>(2)?.sum_axis(0));
    "embedding", [&[1], &[1, 0]], [&[], &[]] => [&[7.], &[7., 5.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let table = Ragged::from_shapes(vec![5.0f32, 7.0], 2, [Shape::new(&[2, 1])?])?;
            let rows = d.upload(&table)?.embedding(&x.to::<u32>()?)?;
            rows.reshape(x.layout())?.to::<i32>()
        });
    "cross_entropy", [&[0], &[0, 0]], [&[], &[]] => [&[0.], &[std::f32::consts::LN_2 as f64]],
        |d, a, b| floats(d, a, b, |x, _| x.cross_entropy(&x.argmin()?));
    "max_pool", [&[1], &[1, 0]], [&[], &[]] => [&[], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.max_pool(&[2]));
    "mean_pool", [&[2], &[2, 0]], [&[], &[]] => [&[], &[1.]],
        |d, a, b| floats(d, a, b, |x, _| x.mean_pool(&[2]));
    "max", [&[-1], &[-1, 0]], [&[], &[]] => [&[-1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.max());
    "max_axis", [&[-1], &[-1, 0]], [&[], &[]] => [&[-1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.max_axis(0));
    "min_axis", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, _| x.min_axis(0));
    "min", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.min());
    "argmax", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmax());
    "prod", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.prod());
    "prod_axis", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.prod_axis(0));
    "all", [&[2], &[2, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.all()?.to::<i32>());
    "all_axis", [&[2], &[2, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.to::<u32>()?.all_axis(0)?.to::<i32>());
    "argmax_axis", [&[-1], &[-1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmax_axis(0)?.to::<i32>());
    "argmin_axis", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmin_axis(0)?.to::<i32>());
    "argmin", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[1.]],
        |d, a, b| integers(d, a, b, |x, _| x.argmin());
    "flip", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.flip(&[0]));
    "concat", [&[1], &[1, 0]], [&[2], &[2]] => [&[1., 2.], &[1., 0., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.concat(y, 0));
    "block_diag", [&[1], &[1, 0]], [&[2], &[2]] => [&[1., 2.], &[1., 0., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.block_diag(y));
    "broadcast", [&[5], &[5, 0]], [&[], &[]] => [&[5., 5.], &[5., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.broadcast(&Layout::from_lengths([2])?));
    "reshape", [&[1, 2, 3, 0], &[1, 2, 3, 0, 0, 0]], [&[], &[]] => [&[1., 3.], &[1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            // The first column of two rows.
            let shape = Shape::new(&[2, x.layout().length(0) / 2])?;
            x.reshape(&Layout::uniform(1, shape)?)?.slice(&[0, 0], &[2, 1])?.reshape(&Layout::from_lengths([2])?)
        });
    "packed", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| x.join(&[x])?.packed());
    "unpacked", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| {
            let rows = x.join(&[x])?.packed()?;
            rows.unpacked(rows.layout())
        });
    "mode", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[1., 3.], &[1., 3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Same).conv()
        });
    "causal_mode", [&[1], &[1, 0]], [&[1, 2], &[1, 2]] => [&[1.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Causal).side(Side::Left).conv()
        });
    "valid", [&[1, 2], &[1, 2, 0]], [&[1, 1], &[1, 1]] => [&[3.], &[3., 2.]],
        |d, a, b| integers(d, a, b, |x, y| {
            x.pair(y, Pairing::Elementwise)?.convolution().mode(ConvMode::Valid).conv()
        });
    "eval", [&[1], &[1]], [&[2], &[2, 0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| x.eval(y));
    "correlate", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[0., 3., 6.]],
        |d, a, b| integers(d, a, b, |x, y| x.correlate(y));
    "causal", [&[1], &[1, 0]], [&[1, 2], &[1, 2]] => [&[1.], &[1., 2.]],
        // By transforms, which are rounded.
        |d, a, b| {
            let causal = |x: &Tensor<f32>, y: &Tensor<f32>| {
                x.pair(y, Pairing::Elementwise)?.conv_plan()?.causal(x)
            };
            floats(d, a, b, causal).cast(f64::round).unwrap()
        };
    "correlate_max", [&[-1], &[-1, 0]], [&[1], &[1]] => [&[-1.], &[0.]],
        |d, a, b| floats(d, a, b, |x, y| Ok(x.correlate_max(y)?.value));
    "sbd", [&[-1], &[-1, 0]], [&[1], &[1]] => [&[2.], &[1.]],
        |d, a, b| floats(d, a, b, |x, y| Ok(x.sbd(y)?.distance));
    "kron", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[3., 0., 6., 0.]],
        |d, a, b| integers(d, a, b, |x, y| x.kron(y));
    "kron_matmul", [&[1, 2], &[1, 2]], [&[3], &[3, 0]] => [&[3., 6.], &[3., 0., 6., 0.]],
        |d, a, b| integers(d, a, b, |x, y| {
            row_of(x)?.kron_matmul(&column_of(y)?)?.entries().copy()
        });
    "fft", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.fft());
    "rfft", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| {
            let [a, b] = [a, b].map(|x| x.cast(|value| value as f32).unwrap());
            run(d, &a, &b, |x, _| x.rfft()).cast(|z| f64::from(z.re.round())).unwrap()
        };
    "ifft", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.ifft());
    "fft2", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.reshape(&one_row(x.layout())?)?.fft2()?.reshape(x.layout()));
    "ifft2", [&[2], &[2, 0]], [&[], &[]] => [&[2.], &[1., 1.]],
        |d, a, b| spectra(d, a, b, |x| x.reshape(&one_row(x.layout())?)?.ifft2()?.reshape(x.layout()));
    "irfft", [&[6], &[6, 0]], [&[], &[]] => [&[6.], &[2., 2., 2.]],
        |d, a, b| halves_of_spectra(d, a, b, |x| x.irfft(&odd(x.layout())?));
    "rfft2", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[1., 1.]],
        |d, a, b| {
            let [a, b] = [a, b].map(|x| x.cast(|value| value as f32).unwrap());
            run(d, &a, &b, |x, _| x.reshape(&one_row(x.layout())?)?.rfft2()?.reshape(x.layout()))
                .cast(|z| f64::from(z.re.round())).unwrap()
        };
    "irfft2", [&[6], &[6, 0]], [&[], &[]] => [&[6.], &[2., 2., 2.]],
        |d, a, b| halves_of_spectra(d, a, b, |x| {
            let values = odd(x.layout())?;
            x.reshape(&one_row(x.layout())?)?.irfft2(&one_row(&values)?)?.reshape(&values)
        });
    "rot90", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.rot90(2)));
    "anti_transpose", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.anti_transpose()));
    "tile", [&[1], &[1, 0]], [&[], &[]] => [&[1., 1.], &[1., 0., 1., 0.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.tile(&[[1, 2]])));
    "translate", [&[1], &[1, 0]], [&[], &[]] => [&[0.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.translate(&[[0, 1]], 0)));
    "dilate", [&[-1], &[-1, 0]], [&[], &[]] => [&[-1.], &[0., 0.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.dilate(Neighbours::Four)));
    "erode", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 0.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| x.erode(Neighbours::Eight)));
    "lookup", [&[0], &[0, 0]], [&[7], &[7]] => [&[7.], &[7., 7.]],
        |d, a, b| integers(d, a, b, |x, y| x.lookup(y));
    "bincount", [&[1], &[1, 0]], [&[], &[]] => [&[0., 1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.bincount(2)?.to::<i32>());
    "most_common", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.most_common());
    "least_common", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, _| x.least_common());
    "palette", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[0., 1.]],
        |d, a, b| integers(d, a, b, |x, _| x.palette_blocking());
    "equal_elements", [&[1], &[1, 0]], [&[1], &[1]] => [&[1.], &[0.]],
        |d, a, b| integers(d, a, b, |x, y| x.equal_elements(y)?.to::<i32>());
    "period", [&[1], &[1, 0]], [&[], &[]] => [&[1.], &[2.]],
        |d, a, b| integers(d, a, b, |x, _| x.period(0)?.to::<i32>());
    "draw_boxes", [&[1], &[1, 0]], [&[], &[]] => [&[5.], &[5., 5.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| {
            let boxes = d.upload(&Ragged::from_rows(vec![[0u32, 0, 1, 2]; x.len()])?)?;
            x.draw_boxes(&boxes, &d.upload(&Ragged::from_rows(vec![[5]; x.len()])?)?)
        }));
    "draw_lines", [&[1], &[1, 0]], [&[], &[]] => [&[5.], &[5., 5.]],
        |d, a, b| integers(d, a, b, |x, _| of_one_row(x, |x| {
            let values = d.upload(&Ragged::from_rows(vec![[5]; x.len()])?)?;
            x.draw_lines(&Ragged::from_rows(vec![[0, 0, 0, 1]; x.len()])?, &values)
        }));
    "match_template", [&[0], &[0, 0]], [&[0], &[0]] => [&[1.], &[1., 1.]],
        |d, a, b| integers(d, a, b, |x, y| {
            let small = y.reshape(&one_row(y.layout())?)?;
            of_one_row(x, |x| x.match_template(&small)?.to::<i32>())
        });
    "sort_by_length", [&[7], &[7, 0, 0]], [&[1, 2], &[1, 2]] => [&[7.], &[1., 2.]],
        |d, a, b| integers(d, a, b, |x, y| x.join(&[y])?.sort_by_length()?.0.elements(0..1));
}
