//! Submissions that fail for an internal reason, which no caller can cause: these tests record invalid commands.
//!
//! Also tests how long dispatches are split.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::gpu::poll::Delivery;
use crate::gpu::{GpuOptions, open};
use crate::machine::Wait;
use crate::ops::limits::launched;
use crate::ops::linear;
use crate::ragged::DType;

static TABLE: Table = Table {
    name: "test",
    make: || vec![7; 5],
};

/// Opens a GPU, or returns `None` if there is none and tests may be skipped.
fn gpu() -> Option<Gpu> {
    match pollster::block_on(open(&GpuOptions::default())) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            let required = std::env::var("VSLA_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "{error}");
            None
        }
    }
}

fn filled(gpu: &Gpu, layout: &Layout, value: f32) -> Arc<GpuBuffer> {
    let full = linear::Full {
        dtype: DType::F32,
        layout: layout.clone(),
    };
    let results = gpu.run(
        &launched(full, &[]).unwrap(),
        &Prepared::default(),
        &[],
        &[value.to_bits()],
    );
    results.unwrap().remove(0).0
}

fn scaled(gpu: &Gpu, buffer: &Arc<GpuBuffer>, layout: &Layout) -> Result<Arc<GpuBuffer>> {
    let input = GpuInput {
        buffer,
        base: 0,
        layout,
    };
    let scale = linear::Linear {
        kind: linear::Kind::Scale,
        dtype: DType::F32,
    };
    let launch = launched(scale, &[layout])?;
    let results = gpu.run(&launch, &Prepared::default(), &[input], &[2.0f32.to_bits()])?;
    Ok(results.into_iter().next().unwrap().0)
}

fn read(gpu: &Gpu, buffer: &GpuBuffer, words: usize) -> Result<Vec<u32>> {
    let mut values = vec![0u32; words];
    let bytes = bytemuck::cast_slice_mut(&mut values);
    pollster::block_on(gpu.read_into("download", buffer, 0, bytes, Wait::Here))?;
    Ok(values)
}

/// Results of a failed submission are lost, and every use of them is an error.
///
/// Work submitted before and work recorded afterwards is correct, even where it needs copies of layouts, plans and
/// tables that were lost.
#[apply(unit_test)]
fn a_submission_takes_nothing_else_with_it() {
    let Some(gpu) = gpu() else { return };
    let layout = Layout::from_lengths([3, 0, 2]).unwrap();
    let before = filled(&gpu, &layout, 1.0);
    gpu.flush().unwrap();
    for round in 0..3 {
        // These need their copies here for the first time; the table does so only in the first round.
        let other = Layout::from_lengths([40, 1]).unwrap();
        let words = PlanBuffer::new(vec![9; 6]);
        let table = || gpu.table("test", &gpu.place_of(&TABLE), &TABLE).unwrap();
        let place = gpu.copies.of(words.identity());
        let copied = || gpu.words("test", &place, &words).unwrap();
        let meta = || {
            let place = gpu.copies.of(other.identity());
            gpu.meta("test", &place, &other).unwrap()
        };
        let first = table();
        let mut lost = vec![
            scaled(&gpu, &before, &layout).unwrap(),
            filled(&gpu, &layout, 5.0),
            gpu.upload("upload", &layout, DType::F32, &[1; 20]).unwrap(),
            copied(),
            meta(),
        ];
        if round == 0 {
            lost.push(first);
        }
        gpu.spoil();
        let error = match round {
            0 => gpu.flush().unwrap_err(),
            // A read of another buffer triggers the failing submission.
            _ => read(&gpu, &before, 5).unwrap_err(),
        };
        assert_eq!(error.kind(), "gpu", "{error}");
        for lost in &lost {
            for error in [
                scaled(&gpu, lost, &layout).err().unwrap(),
                read(&gpu, lost, 5).unwrap_err(),
            ] {
                assert_eq!(error.kind(), "not_computed", "{error}");
                assert!(error.to_string().contains("spoilt"), "{error}");
            }
        }
        assert_eq!(gpu.health.check("test"), Ok(()));
        assert_eq!(read(&gpu, &before, 5), Ok(vec![1.0f32.to_bits(); 5]));
        let double = scaled(&gpu, &before, &layout).unwrap();
        assert_eq!(read(&gpu, &double, 5), Ok(vec![2.0f32.to_bits(); 5]));
        let later = filled(&gpu, &other, 3.0);
        let later = scaled(&gpu, &later, &other).unwrap();
        assert_eq!(read(&gpu, &later, 41), Ok(vec![6.0f32.to_bits(); 41]));
        for (copy, value) in [(copied(), 9), (table(), 7)] {
            assert_eq!(read(&gpu, &copy, 5), Ok(vec![value; 5]));
        }
        assert_eq!(read(&gpu, &meta(), 3), Ok(vec![0, 40, 41]));
    }
}

/// A browser reports the errors of a call later: everything recorded since may depend on what the call should have
/// made. Reads wait for the reports.
#[apply(unit_test)]
fn late_errors_take_what_was_recorded_since() {
    let Some(gpu) = gpu() else { return };
    let layout = Layout::from_lengths([3, 0, 2]).unwrap();
    let before = filled(&gpu, &layout, 1.0);
    gpu.flush().unwrap();
    let lost = filled(&gpu, &layout, 2.0);
    let ((good, no_error), (bad, error)) = (Delivery::new(), Delivery::new());
    gpu.health.reported_late("test", Box::pin(good));
    gpu.health.reported_late("test", Box::pin(bad));
    gpu.flush().unwrap();
    let after = scaled(&gpu, &lost, &layout).unwrap();

    let mut values = [0u32; 5];
    let bytes = bytemuck::cast_slice_mut(&mut values);
    let mut reading = Box::pin(gpu.read_into("download", &before, 0, bytes, Wait::Here));
    let mut context = Context::from_waker(Waker::noop());
    assert!(reading.as_mut().poll(&mut context).is_pending());
    no_error(None);
    assert!(reading.as_mut().poll(&mut context).is_pending());
    error(Some(wgpu::Error::Validation {
        source: "spoilt".into(),
        description: "spoilt".to_owned(),
    }));
    assert_eq!(reading.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    drop(reading);
    assert_eq!(values, [1.0f32.to_bits(); 5]);

    for lost in [&lost, &after] {
        for error in [
            scaled(&gpu, lost, &layout).err().unwrap(),
            read(&gpu, lost, 5).unwrap_err(),
        ] {
            assert_eq!(error.kind(), "not_computed", "{error}");
            assert!(error.to_string().contains("spoilt"), "{error}");
        }
    }
    // Their buffers may be what failed, so no later tensor gets them.
    let ids = [lost.id, after.id];
    drop((lost, after));
    let others = [3.0f32, 4.0, 5.0].map(|value| filled(&gpu, &layout, value));
    for (other, value) in others.iter().zip([3.0f32, 4.0, 5.0]) {
        assert!(!ids.contains(&other.id));
        assert_eq!(read(&gpu, other, 5), Ok(vec![value.to_bits(); 5]));
    }
}

/// Buffers are read one by one if wgpu has no memory for a readback buffer for all.
#[apply(unit_test)]
fn reads_without_memory_for_all() {
    let Some(gpu) = gpu() else { return };
    let words = gpu.staging.sizes.read_small as usize / 4;
    let layout = Layout::from_lengths([words]).unwrap();
    let buffers = [1.0f32, 2.0].map(|value| filled(&gpu, &layout, value));
    gpu.pool
        .refused
        .store(gpu.staging.sizes.read, Ordering::Relaxed);
    let mut values = [vec![0.0f32; words], vec![0.0f32; words]];
    let reads = buffers.iter().zip(&mut values);
    let reads = reads.map(|(from, to)| (&**from, 0, bytemuck::cast_slice_mut(&mut to[..])));
    let read = gpu.read_all("call", reads.collect(), Wait::Here);
    assert_eq!(pollster::block_on(read), Ok(()));
    for (values, expected) in values.iter().zip([1.0, 2.0]) {
        assert!(values.iter().all(|value| *value == expected));
    }
}

/// Upload buffers of failed submissions become free again; otherwise uploads would wait forever.
#[apply(unit_test)]
fn its_upload_buffers_come_back() {
    let Some(gpu) = gpu() else { return };
    let layout = Layout::from_lengths([1 << 20]).unwrap();
    let values = vec![1u8; 4 << 20];
    for _ in 0..12 {
        gpu.upload("upload", &layout, DType::F32, &values).unwrap();
        gpu.spoil();
        assert!(gpu.flush().is_err());
    }
    let whole = vec![2u8; 4 << 20];
    let buffer = gpu.upload("upload", &layout, DType::F32, &whole).unwrap();
    assert_eq!(read(&gpu, &buffer, 3), Ok(vec![0x0202_0202; 3]));
}

/// wgpu errors other than a loss do not mark the device as lost.
#[apply(unit_test)]
fn other_errors_are_no_loss() {
    let Some(gpu) = gpu() else { return };
    let error = gpu.health.caught("test", || {
        gpu.device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl("nonsense".into()),
            })
    });
    let error = gpu.health.note(error.unwrap_err());
    assert_eq!(error.kind(), "gpu");
    gpu.health.note(Error::out_of_memory(1, None).named("test"));
    assert_eq!(gpu.health.check("test"), Ok(()));
    assert!(!is_lost(&gpu.device));
    gpu.device.destroy();
    assert!(is_lost(&gpu.device));
}

/// A direct convolution of a million by a million values takes this many dispatches, none above the budget.
#[apply(unit_test)]
fn costly_stages_are_cut() {
    let (groups, cost) = (2_233, 1_000_000_000_000);
    for (budget, dispatches) in [
        (DISPATCH_COST, 11),
        (DISPATCH_COST_SHARED, 51),
        (DISPATCH_COST_SOFTWARE, 1117),
    ] {
        let share = share(groups, cost, budget);
        assert_eq!(groups.div_ceil(share), dispatches);
        assert!(cost / u64::from(groups) * u64::from(share) <= budget);
    }
    assert_eq!(share(7, 100, 100), 7);
    assert_eq!(share(7, u64::MAX, 1), 1);
    assert_eq!(share(0, 0, 1), 0);
}
