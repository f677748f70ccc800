//! Arguments that convolutions of boxes reject.

use super::*;

pub fn refusals(device: &Device) {
    let boxes = |extents: &[usize]| {
        let layout = Layout::uniform(1, Shape::new(extents).unwrap()).unwrap();
        upload(device, &Ragged::full(&layout, 1.0f32).unwrap())
    };
    let x = boxes(&[2, 3]);
    let pair = x.pair(&x, Pairing::Elementwise).unwrap();
    let refused = |pair: &Convolution<'_, f32>| pair.conv().unwrap_err().to_string();
    assert_eq!(
        refused(&pair.convolution().stride(&[1, 0])),
        "conv: expected strides of 1 or more, got 0"
    );
    assert_eq!(
        refused(&pair.convolution().stride(&[2])),
        "conv: expected a stride for each axis, 2 in all, got 1"
    );
    assert_eq!(
        refused(&pair.convolution().stride(&[])),
        "conv: expected a stride for each axis, 2 in all, got 0"
    );
    let text = pair
        .convolution()
        .stride(&[])
        .choice()
        .unwrap_err()
        .to_string();
    assert!(text.ends_with("2 in all, got 0"), "{text}");
    assert_eq!(
        refused(&pair.convolution().stride(&[1; 9])),
        "conv: expected a stride for each axis, 2 in all, got 9"
    );
    assert_eq!(
        pair.convolution()
            .stride(&[usize::MAX; 2])
            .conv()
            .unwrap()
            .layout()
            .length(0),
        1
    );
    let four = boxes(&[1; 4]);
    let error = four.correlate(&four).unwrap_err().to_string();
    assert_eq!(error, "correlate: expected a rank of 1 to 3, got 4");
    let error = x.conv(&boxes(&[2])).unwrap_err().to_string();
    assert_eq!(
        error,
        "conv: expected a rank of 2, as in the left batch, got 1"
    );
    // 2³² results.
    let (wide, high) = (boxes(&[1, 65_536]), boxes(&[65_536, 1]));
    let error = wide.conv(&high).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("size_overflow", Some(0)));
    let pair = wide.pair(&high, Pairing::Elementwise).unwrap();
    let same = pair.convolution().mode(ConvMode::Same);
    assert_eq!(
        refused(&same),
        "conv: pair 0: the left operand has 1 value along axis 0 and the right one 65536, and this mode keeps results by \
         the extents of the left one; swap the operands, or choose the one that counts with side()"
    );
    assert_eq!(
        same.side(Side::Left).conv().unwrap().layout().length(0),
        65_536
    );
    if device.is_gpu() {
        let (wide, high) = (boxes(&[1, 40_000]), boxes(&[40_000, 1]));
        let error = wide.conv(&high).unwrap_err();
        assert_eq!(error.kind(), "too_large");
    }
    let integers = upload(device, &one(&[1, 2], &[1, 2]));
    let pair = integers.pair(&integers, Pairing::Elementwise).unwrap();
    let error = pair
        .convolution()
        .method(ConvMethod::Fft)
        .conv()
        .unwrap_err();
    assert_eq!((error.kind(), error.element()), ("method", Some(0)));
}
