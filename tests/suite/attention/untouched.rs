//! What is refused leaves the device as it was: nothing is copied, allocated or dispatched before the error.

use vsla::attention::Cache;
use vsla::device::Memory;
use vsla::scalar::Float;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, Topology, f16};

#[cfg(feature = "gpu")]
use crate::support::bench::opened_for_one;
use crate::support::operation::upload;

/// A device whose memory nobody else uses, and which refuses what takes more multiply-adds than this.
fn own(device: &Device, most: u64) -> Device {
    let own = match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => opened_for_one(|_| ()),
        _ => Device::cpu(),
    };
    own.with_work_limit(most)
}

fn of<T: Float>(device: &Device, rows: &[&[usize]]) -> Tensor<T> {
    let shapes = rows.iter().map(|shape| Shape::new(shape).unwrap());
    let layout = Layout::from_shapes(rows[0].len(), shapes).unwrap();
    upload(device, &Ragged::<T>::zeros(&layout).unwrap())
}

/// What calls change on a device: bytes of tensors and of what is cached, plans, and copies to it.
fn state(device: &Device) -> (Memory, u64, u64) {
    let counters = device.counters();
    (device.memory(), counters.plans, counters.uploads)
}

/// The call fails with an error of this kind, and changes nothing.
fn refused<R>(device: &Device, kind: &str, call: impl FnOnce() -> Result<R>) {
    // What a call takes and gives back would stay in the pool.
    device.trim();
    let before = state(device);
    let (result, profile) = device.profile_blocking(call).unwrap();
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(profile.kernels, [], "{error}");
    let after = state(device);
    assert_eq!(
        (after.0.live, after.0.cached),
        (before.0.live, before.0.cached),
        "{error}"
    );
    assert_eq!(after.0.leaving, before.0.leaving, "{error}");
    assert_eq!(
        (after.2, after.0.peak),
        (before.2, before.0.peak),
        "{error}"
    );
    // A plan that is too much work is kept all the same, on the host.
    if kind != "work_limit" {
        assert_eq!(after.1, before.1, "{error}");
    }
}

/// The second half of a tensor of as many halves and 3 more values, which begins at no quad of words.
fn view<T: Float>(x: &Tensor<T>) -> Tensor<T> {
    let lengths = [3].into_iter().chain(x.layout().lengths());
    let lengths: Vec<usize> = lengths.collect();
    let all = upload(
        x.device(),
        &Ragged::<T>::zeros(&Layout::from_lengths(lengths.iter().copied()).unwrap()).unwrap(),
    );
    let rest = all.elements(1..lengths.len()).unwrap();
    rest.reshape(x.layout()).unwrap()
}

pub fn attention(device: &Device) {
    of_type::<f32>(device);
    of_type::<f16>(device);
}

fn of_type<T: Float>(device: &Device) {
    let device = &own(device, 100_000);
    let refused = |kind: &str, call: &dyn Fn() -> Result<Tensor<T>>| {
        refused(device, kind, call);
    };
    let q: Tensor<T> = view(&of(device, &[&[3, 12], &[5, 12]]));
    let k: Tensor<T> = view(&of(device, &[&[3, 8], &[5, 8]]));
    refused("argument", &|| q.attention(&q, &q).heads(5).run());
    refused("argument", &|| {
        q.attention(&q, &q).heads(4).key_heads(6).run()
    });
    refused("argument", &|| {
        q.attention(&k, &k).heads(3).key_heads(2).run()
    });
    refused("argument", &|| q.attention(&q, &q).softcap(-1.0).run());
    refused("argument", &|| q.attention(&q, &q).scale(f32::NAN).run());
    let wide: Tensor<T> = view(&of(device, &[&[1, 258]]));
    refused("argument", &|| wide.attention(&wide, &wide).run());
    let fewer: Tensor<T> = view(&of(device, &[&[3, 12]]));
    refused("batch_size", &|| q.attention(&fewer, &fewer).run());
    let longer: Tensor<T> = view(&of(device, &[&[3, 12], &[6, 12]]));
    refused("shape", &|| q.attention(&longer, &q).run());
    let other: Tensor<T> = view(&of(device, &[&[3, 12], &[5, 14]]));
    refused("shape", &|| q.attention(&other, &other).run());
    let vectors: Tensor<T> = of(device, &[&[3], &[5]]);
    refused("rank", &|| q.attention(&vectors, &vectors).run());
    let bias: Tensor<T> = of(device, &[&[3, 3], &[5, 4]]);
    refused("shape", &|| q.attention(&q, &q).bias(&bias).run());
    let two: Tensor<f32> = of(device, &[&[2]]);
    let three: Tensor<f32> = of(device, &[&[3]]);
    let matrix: Tensor<f32> = of(device, &[&[3, 3]]);
    refused("argument", &|| {
        q.attention(&q, &q).heads(3).alibi(&two).run()
    });
    refused("argument", &|| {
        q.attention(&q, &q).heads(3).sinks(&matrix).run()
    });
    refused("argument", &|| {
        q.attention(&q, &q).heads(3).alibi(&three).sinks(&two).run()
    });
    // As many, but not as many as heads.
    refused("argument", &|| {
        q.attention(&q, &q).heads(3).alibi(&two).sinks(&two).run()
    });
    let small = Topology::block_diagonal([4, 8], [8, 8]).unwrap();
    refused("shape", &|| q.attention(&q, &q).blocks(&small).run());
    let (one, many): (Tensor<f32>, Tensor<T>) =
        (of(device, &[&[1]]), view(&of(device, &[&[600, 4]])));
    refused("work_limit", &|| many.attention(&many, &many).run());
    refused("work_limit", &|| {
        many.attention(&many, &many).alibi(&one).sinks(&one).run()
    });
    let positions = upload(device, &Ragged::from_rows([[1u32]]).unwrap());
    refused("argument", &|| q.rotary().heads(3).starts(&positions).run());
    if device.is_gpu() {
        let elsewhere: Tensor<T> = of(&Device::cpu(), &[&[3, 12], &[5, 12]]);
        refused("device_mismatch", &|| q.attention(&elsewhere, &q).run());
        refused("device_mismatch", &|| q.attention(&q, &elsewhere).run());
        let slopes: Tensor<f32> = of(&Device::cpu(), &[&[3]]);
        refused("device_mismatch", &|| {
            q.attention(&q, &q)
                .heads(3)
                .alibi(&slopes)
                .sinks(&three)
                .run()
        });
    }
}

pub fn halves(device: &Device) {
    let device = &own(device, u64::MAX);
    let odd: Tensor<f16> = of(device, &[&[2, 3]]);
    refused(device, "unsupported", || odd.attention(&odd, &odd).run());
    refused(device, "unsupported", || {
        Cache::<f16>::new(device, odd.layout(), odd.layout())
    });
    refused(device, "unsupported", || {
        Cache::with_lengths(odd.clone(), odd.clone(), &[1])
    });
}

/// Caches whose memory clones hold, so that appending would copy it.
pub fn caches(device: &Device) {
    let device = &own(device, 2_000);
    let room: Tensor<f32> = of(device, &[&[4, 6], &[500, 6]]);
    let mut cache = Cache::with_lengths(room.clone(), room.clone(), &[1, 1]).unwrap();
    let held = cache.clone();
    let new = |rows: &[&[usize]]| -> Tensor<f32> { of(device, rows) };
    let fits = new(&[&[1, 6], &[1, 6]]);
    let mut append = |kind: &str, keys: &Tensor<f32>, values: &Tensor<f32>| {
        refused(device, kind, || cache.append(keys, values));
        assert_eq!(cache.counts(), [1, 1]);
    };
    let full = new(&[&[4, 6], &[1, 6]]);
    append("shape", &full, &full);
    let wide = new(&[&[1, 6], &[1, 5]]);
    append("shape", &wide, &wide);
    append("shape", &fits, &new(&[&[1, 6], &[0, 6]]));
    let vectors = new(&[&[1], &[1]]);
    append("rank", &vectors, &vectors);
    let one = new(&[&[1, 6]]);
    append("batch_size", &one, &one);
    let many = new(&[&[0, 6], &[400, 6]]);
    append("work_limit", &many, &many);
    if device.is_gpu() {
        let elsewhere: Tensor<f32> = of(&Device::cpu(), &[&[1, 6], &[1, 6]]);
        append("device_mismatch", &elsewhere, &fits);
        append("device_mismatch", &fits, &elsewhere);
    }
    let attended = |kind: &str, call: &dyn Fn() -> Result<Tensor<f32>>| refused(device, kind, call);
    let bias = new(&[&[1, 4], &[1, 500]]);
    attended("unsupported", &|| {
        fits.attention_over(&held).bias(&bias).run()
    });
    attended("argument", &|| fits.attention_over(&held).heads(4).run());
    attended("batch_size", &|| one.attention_over(&held).run());
    attended("work_limit", &|| full.attention_over(&held).run());
    let (two, three) = (new(&[&[2]]), new(&[&[3]]));
    attended("argument", &|| {
        fits.attention_over(&held)
            .heads(3)
            .alibi(&two)
            .sinks(&two)
            .run()
    });
    attended("argument", &|| {
        fits.attention_over(&held)
            .heads(3)
            .alibi(&three)
            .sinks(&two)
            .run()
    });

    let other = new(&[&[4, 6], &[400, 6]]);
    let made = |kind: &str, keys: &Tensor<f32>, values: &Tensor<f32>, lengths: &[usize]| {
        refused(device, kind, || {
            Cache::with_lengths(keys.clone(), values.clone(), lengths)
        });
    };
    made("shape", &room, &other, &[1, 1]);
    made("shape", &room, &room, &[5, 1]);
    made("element_count", &room, &room, &[1]);
    made("batch_size", &room, &one, &[1, 1]);
    made("rank", &vectors, &vectors, &[1, 1]);
    refused(device, "shape", || {
        Cache::<f32>::new(device, room.layout(), other.layout())
    });
    refused(device, "rank", || {
        Cache::<f32>::new(device, vectors.layout(), vectors.layout())
    });
}
