//! Work limits: refusals before any work or planning, and the handles that a limit belongs to.

use std::time::{Duration, Instant};

use vsla::conv::ConvMethod;
use vsla::{Device, Error, Indices, Layout, Pairing, Ragged, Shape, product::ShapeMatrix};

use super::ones;
use crate::support::operation::{download, upload};

/// Calls that would take minutes, and more memory for plans than there is, are refused at once.
pub fn excessive_work_is_refused_at_once(device: &Device) {
    let device = device.with_work_limit(10_000_000_000);
    let long = ones::<f32>(&device, &[1_000_000, 3]);
    let pair = long.pair(&long, Pairing::Elementwise).unwrap();
    let began = Instant::now();
    let error = pair
        .convolution()
        .method(ConvMethod::Direct)
        .conv()
        .unwrap_err();
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert!(
        matches!(
            error,
            Error::WorkLimit { op: "conv", element: Some(0), needed, allowed: 10_000_000_000 }
                if needed >= 1_000_000_000_000
        ),
        "{error}"
    );
    assert!(pair.conv().is_ok(), "by transforms it is little");
    // 10⁷ pairs.
    let many = ones::<f32>(&device, &[100; 3163]);
    let error = many
        .pair(&many, Pairing::AllToAll)
        .unwrap()
        .correlate_max()
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::WorkLimit {
                op: "correlate_max",
                ..
            }
        ),
        "{error}"
    );
    let error = many
        .pair(&many, Pairing::AllToAll)
        .unwrap()
        .sbd()
        .unwrap_err();
    assert!(
        matches!(error, Error::WorkLimit { op: "sbd", .. }),
        "{error}"
    );
    // Each pair counts, even if its own work is small.
    let few = device.with_work_limit(1_000_000);
    let many = ones::<f32>(&few, &[0; 3163]);
    let error = many.pair(&many, Pairing::AllToAll).unwrap_err();
    assert_eq!(
        error.to_string(),
        "pair: needs 10004569 multiply-adds, above the device's work limit of 1000000; split the work or raise the \
         limit"
    );
    let lists = Indices::new(Ragged::from_rows(vec![[0u32; 0]; 3163]).unwrap()).unwrap();
    let refused = many.gather_paired(&lists, Pairing::AllToAll).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.op()),
        ("work_limit", "gather_paired")
    );
}

/// Windows of empty elements, and products of empty entries, which take as much time to plan as others.
pub fn excessive_plans_are_refused_at_once(device: &Device) {
    let device = device.with_work_limit(10_000_000_000);
    let many = ones::<f32>(&device, &vec![0; 1_000_000]);
    let some = ones::<f32>(&device, &[100; 100_000]);
    let began = Instant::now();
    let error = many.window(500_000, 1, u64::MAX).unwrap_err();
    assert_eq!((error.kind(), error.op()), ("work_limit", "window"));
    // 2.5·10⁹ slices, which could be planned, but are a thousand times as large as allowed.
    let error = some.window(50_000, 1, 1 << 30).unwrap_err();
    assert_eq!(error.kind(), "budget");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let few = device.with_work_limit(1_000_000);
    let empty = ones::<f32>(&few, &[0; 200 * 200]);
    let grid = Layout::uniform(1, Shape::new(&[200, 200]).unwrap()).unwrap();
    let square = ShapeMatrix::new(&empty, &grid).unwrap();
    for (op, product) in [
        ("conv_matmul", square.conv_matmul(&square)),
        ("kron_matmul", square.kron_matmul(&square)),
    ] {
        let error = product.map(drop).unwrap_err();
        assert_eq!((error.kind(), error.op()), ("work_limit", op));
    }
}

pub fn no_work_counts_zero(device: &Device) {
    let device = device.with_work_limit(0);
    assert_eq!(device.work_limit(), Some(0));
    let (x, none) = (ones::<f32>(&device, &[3, 4]), ones::<f32>(&device, &[0, 0]));
    assert!(x.conv(&none).is_ok() && x.dot(&none).is_ok() && none.add(&none).is_ok());
    assert!(none.copy().is_ok() && none.sum().is_ok() && none.rfft().is_ok());
    assert!(x.sum().is_err() && x.copy().is_err());
    // Operations that move nothing.
    assert!(x.elements(0..1).is_ok() && x.split(&[1, 1]).is_ok() && x.download_blocking().is_ok());
}

/// If only some operands come from a handle with a limit, the left operand's handle decides, even if the launch was
/// planned without a limit.
pub fn limits_are_of_handles(device: &Device) {
    let x = ones::<f32>(device, &[1000]);
    assert_eq!(device.work_limit(), None);
    let limited = device.with_work_limit(999);
    let y = upload(&limited, &Ragged::full(x.layout(), 2.0f32).unwrap());
    let sum = x.add(&y).unwrap();
    assert_eq!(download(&sum).values(), [3.0; 1000]);
    assert_eq!(y.add(&x).unwrap_err().kind(), "work_limit");
    assert_eq!(y.copy().unwrap_err().op(), "copy");
    assert_eq!(limited.full(x.layout(), 1i32).unwrap_err().op(), "full");
    // Setting a cost table keeps the limit, and setting a limit keeps the table.
    let again = limited.with_costs(device.costs().clone()).unwrap();
    assert_eq!(again.work_limit(), Some(999));
    assert_eq!(again.with_work_limit(5).costs(), device.costs());
    let mixed = limited.with_work_limit(u64::MAX);
    assert_eq!(mixed.work_limit(), None);
}
