//! The operand whose extents a mode takes.

use super::*;

/// A mode keeps results by the extents of the left operand, which is refused where it is the shorter one, or by those
/// of the side that is chosen.
pub fn sides(device: &Device) {
    for rank in 1..=3 {
        let (left, right) = operands(rank);
        let mut rng = rng("sides");
        let mut fill = |layout: &Layout| Ragged::from_fn(layout, |_, _| rng.i32(-99..99)).unwrap();
        let (all, b) = (fill(&left), fill(&right));
        let first = pick(&all, &[8]);
        let last = pick(&b, &[13]);
        let y = upload(device, &b);
        let list = pair_list([(3, 2), (8, 13), (13, 0), (3, 2), (9, 8)]);
        for (a, b, pairing) in [
            (&all, &b, Pairing::Elementwise),
            (&first, &b, Pairing::OneToAll),
            (&all, &last, Pairing::AllToOne),
            (&all, &b, Pairing::AllToAll),
            (&all, &b, Pairing::List(&list)),
        ] {
            let (x, y) = (upload(device, a), upload(device, b));
            let pairs = reference::pairs(pairing, a.len(), b.len());
            let of_left = extents(a.layout(), b.layout(), &pairs);
            let turned = of_left.iter().map(|(m, n)| (n.clone(), m.clone()));
            let of_right: Vec<_> = turned.collect();
            let shorter = of_left.iter().position(|(m, n)| {
                let empty = m.contains(&0) || n.contains(&0);
                !empty && m.iter().zip(n).any(|(m, n)| m < n)
            });
            assert!(shorter.is_some(), "{pairing:?}");
            for correlate in [false, true] {
                let sums = match correlate {
                    false => reference::conv(a, b, &pairs),
                    true => reference::correlate(a, b, &pairs),
                };
                for mode in MODES {
                    let pair = x.pair(&y, pairing).unwrap().convolution().mode(mode);
                    let pair = pair.stride(&vec![2; rank]);
                    let of = |pair: &Convolution<'_, i32>| match correlate {
                        false => pair.conv(),
                        true => pair.correlate(),
                    };
                    let what = format!("{mode:?} {pairing:?}, correlate: {correlate}");
                    for (side, extents) in [(Side::Left, &of_left), (Side::Right, &of_right)] {
                        let kept = reference::kept(&sums, extents, mode, &vec![2; rank]);
                        let got = download(&of(&pair.side(side)).unwrap());
                        assert_exact(format!("{what}, {side}"), &got, &kept.values);
                        assert!(pair.side(side).choice().is_ok(), "{what}, {side}");
                    }
                    if mode == ConvMode::Full {
                        assert!(of(&pair).is_ok(), "{what}");
                        continue;
                    }
                    for error in [of(&pair).unwrap_err(), pair.choice().unwrap_err()] {
                        assert_eq!(
                            (error.kind(), error.element()),
                            ("shorter", shorter),
                            "{what}"
                        );
                    }
                }
            }
        }
        // Results of empty operands are empty either way.
        let empty = upload(device, &one::<i32>(&vec![0; rank], &[]));
        let pair = empty.pair(&y, Pairing::OneToAll).unwrap().convolution();
        assert_eq!(
            pair.mode(ConvMode::Same).conv().unwrap().layout().total(),
            0
        );
    }
}
