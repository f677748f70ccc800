//! What attention refuses, and why.

use vsla::{Device, Error, Layout, Ragged, Shape, Topology, f16};

use crate::support::operation::upload;

pub fn all(device: &Device) {
    let of = |shapes: &[&[usize]]| {
        let all = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        let layout = Layout::from_shapes(shapes[0].len(), all).unwrap();
        upload(device, &Ragged::<f32>::zeros(&layout).unwrap())
    };
    let q = of(&[&[3, 12], &[5, 12]]);
    let argument = |result: vsla::Result<_>, text: &str| {
        let error: Error = result.map(|_: vsla::Tensor<f32>| ()).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    };
    argument(q.attention(&q, &q).heads(5).run(), "divides 12");
    argument(q.attention(&q, &q).heads(0).run(), "divides 12");
    argument(
        q.attention(&q, &q).heads(4).key_heads(6).run(),
        "3 values in a head of the keys",
    );
    argument(
        q.attention(&q, &q).heads(3).key_heads(2).run(),
        "4 values in a head of the keys",
    );
    let k = of(&[&[3, 8], &[5, 8]]);
    argument(
        q.attention(&k, &k).heads(3).key_heads(2).run(),
        "multiple of 2",
    );
    argument(
        q.attention(&q, &q).softcap(-1.0).run(),
        "positive, finite cap",
    );
    argument(
        q.attention(&q, &q).softcap(0.0).run(),
        "positive, finite cap",
    );
    argument(
        q.attention(&q, &q).softcap(f32::NAN).run(),
        "positive, finite cap",
    );
    argument(
        q.attention(&q, &q).scale(f32::INFINITY).run(),
        "finite scale",
    );
    let wide = of(&[&[1, 257]]);
    argument(
        wide.attention(&wide, &wide).run(),
        "1 to 256 values in a head of the queries",
    );
    let fewer = of(&[&[3, 12]]);
    argument(q.attention(&fewer, &fewer).run(), "2");
    let longer = of(&[&[3, 12], &[6, 12]]);
    argument(q.attention(&longer, &q).run(), "element 1");
    let other = of(&[&[3, 12], &[5, 13]]);
    argument(q.attention(&other, &other).run(), "element 1");
    let vectors = of(&[&[3], &[5]]);
    argument(q.attention(&vectors, &vectors).run(), "rank");
    let bias = of(&[&[3, 3], &[5, 4]]);
    argument(
        q.attention(&q, &q).bias(&bias).run(),
        "the shape (5, 5) of the bias, got (5, 4)",
    );
    let slopes = of(&[&[2]]);
    argument(
        q.attention(&q, &q).heads(3).alibi(&slopes).run(),
        "3 values",
    );
    argument(q.attention(&q, &q).heads(3).sinks(&q).run(), "one vector");
    let small = Topology::block_diagonal([4, 8], [8, 8]).unwrap();
    argument(
        q.attention(&q, &q).blocks(&small).run(),
        "the shape (4, 8) of queries and keys or less",
    );
    let odd = upload(
        device,
        &Ragged::<f16>::zeros(&Layout::uniform(1, Shape::new(&[2, 3]).unwrap()).unwrap()).unwrap(),
    );
    let error = odd.attention(&odd, &odd).run().unwrap_err();
    assert_eq!(error.kind(), "unsupported");
    let cpu = Device::cpu();
    if device.is_gpu() {
        let elsewhere = upload(&cpu, &Ragged::<f32>::zeros(q.layout()).unwrap());
        argument(q.attention(&elsewhere, &q).run(), "device");
    }
}
