//! Maps of integers, which are exact, at both ends of the range.

use libtest_mimic::Trial;
use vsla::{Device, Ragged};

use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    bench.all_on_each_device(&[("integers::i32", signed), ("integers::u32", unsigned)])
}

/// Both ends of the range and values near them, powers of two, and some others.
fn words() -> Vec<u32> {
    let mut words: Vec<u32> = (0..32)
        .flat_map(|i| [1 << i, (1u32 << i).wrapping_sub(1), !(1 << i)])
        .collect();
    words.extend((0..50u32).map(|i| i.wrapping_mul(0x9E37_79B9)));
    words.extend([i32::MIN as u32, i32::MIN as u32 + 1, u32::MAX, 0]);
    words
}

macro_rules! check {
    ($device:expr, $x:ident, $s:ident, $t:ty, $($call:ident($($argument:expr),*) => $value:expr;)*) => {
        let values: Vec<$t> = words().iter().map(|&word| word as $t).collect();
        let batch = upload($device, &Ragged::from_rows([&values]).unwrap());
        for $s in words().into_iter().map(|word| word as $t) {
            $(
                if let Ok(y) = batch.$call($($argument),*) {
                    let y = download(&y);
                    for (&$x, &got) in values.iter().zip(y.values()) {
                        let expected: $t = $value;
                        assert_eq!(got, expected, "{}({}) of {}", stringify!($call), $s, $x);
                    }
                } else {
                    // Division by zero, and a lower bound above the upper one.
                    assert!($s == 0 || stringify!($call) == "clamp", "{}({})", stringify!($call), $s);
                }
            )*
        }
    };
}

fn signed(device: &Device) {
    check! { device, x, s, i32,
        abs() => x.wrapping_abs();
        sign() => x.signum();
        square() => x.wrapping_mul(x);
        clamp(-100, s) => if s < -100 { unreachable!() } else { x.clamp(-100, s) };
        add_scalar(s) => x.wrapping_add(s);
        sub_from(s) => s.wrapping_sub(x);
        div_scalar(s) => x.wrapping_div(s);
        rem(s) => x.wrapping_rem(s);
        bit_and(s) => x & s;
        bit_or(s) => x | s;
        bit_xor(s) => x ^ s;
        bit_not() => !x;
        shift_left(s as u32 % 32) => x << (s as u32 % 32);
        shift_right(s as u32 % 32) => x >> (s as u32 % 32);
    }
}

fn unsigned(device: &Device) {
    check! { device, x, s, u32,
        abs() => x;
        sign() => u32::from(x > 0);
        square() => x.wrapping_mul(x);
        clamp(100, s) => if s < 100 { unreachable!() } else { x.clamp(100, s) };
        add_scalar(s) => x.wrapping_add(s);
        sub_from(s) => s.wrapping_sub(x);
        div_scalar(s) => x.wrapping_div(s);
        rem(s) => x.wrapping_rem(s);
        bit_and(s) => x & s;
        bit_or(s) => x | s;
        bit_xor(s) => x ^ s;
        bit_not() => !x;
        shift_left(s % 32) => x << (s % 32);
        shift_right(s % 32) => x >> (s % 32);
    }
}
