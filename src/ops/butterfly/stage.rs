//! A stage of a transform: its twiddles, and the butterflies of an invocation.

use std::f64::consts::TAU;
use std::fmt::Write;

use super::{Kind, Transform};

/// A stage of radix r = 2^radix, where the product of the preceding radices is Ns = 2^done.
pub(super) struct Stage<'a> {
    pub transform: &'a Transform<'a>,
    pub done: u32,
    pub radix: u32,
    pub first: bool,
    pub last: bool,
}

/// The factor of the odd half of a butterfly.
enum Twiddle {
    One,
    /// A WGSL constant or variable.
    Is(String),
}

fn point(turns: f64) -> [f64; 2] {
    let (sin, cos) = (TAU * turns).sin_cos();
    [cos, sin]
}

fn constant(turns: f64) -> String {
    let [re, im] = point(turns).map(|value| value as f32);
    format!("vec2({re:?}, {im:?})")
}

impl Stage<'_> {
    /// Writes the stage and the `exchange` before it. The twiddles are loaded before the exchange, which hides their
    /// latency.
    pub(super) fn write(&self, out: &mut String, table: &mut Vec<[f32; 2]>, exchange: &str) {
        let transform = self.transform;
        let threads = transform.log_threads();
        let butterflies = transform.held - self.radix;
        let _ = writeln!(
            out,
            "    // Radix {} after {}.",
            1 << self.radix,
            1 << self.done
        );
        // Butterfly q of an invocation is b = j + T q. Its twiddles depend on b mod Ns, which equals j mod Ns unless Ns
        // > T.
        let each = self.done > threads;
        let weighted = self.last && transform.kind == Kind::InverseRightAngle;
        debug_assert!(
            !transform.twiddled || transform.radices[0] == transform.held,
            "{}: the first stage must have one butterfly per invocation",
            transform.name
        );
        let twiddles = self.twiddles(table);
        let weights = table.len();
        if weighted {
            let n = f64::from(1u32 << transform.log_length());
            table.extend(
                (0..1u32 << (transform.log_length() - self.radix))
                    .map(|b| point(f64::from(b) / (4.0 * n)).map(|value| (value / n) as f32)),
            );
        }
        let _ = writeln!(out, "    {{");
        let own = if self.last && transform.regrouped {
            "k"
        } else {
            "j"
        };
        if !each {
            self.load_twiddles(out, twiddles, own);
        }
        out.push_str(exchange);
        for q in 0..1u32 << butterflies {
            let _ = writeln!(out, "        {{");
            let b = match q << threads {
                0 => own.to_owned(),
                at => format!("({own} + {at}u)"),
            };
            if each {
                self.load_twiddles(out, twiddles, &b);
            }
            if weighted {
                let _ = writeln!(out, "        let weight = twiddles[{weights}u + {b}];");
            }
            Butterfly {
                stage: self,
                out,
                weight: match (weighted, self.first && transform.twiddled) {
                    (true, _) => Weight::Result,
                    (_, true) => Weight::Input,
                    _ => Weight::None,
                },
                names: 0,
            }
            .write(|k| q + (k << butterflies));
            let _ = writeln!(out, "        }}");
        }
        let _ = writeln!(out, "    }}");
    }

    /// The angle of w in the first stage, in turns: a constant.
    fn first_turn(&self) -> f64 {
        -self.transform.kind.shift() / f64::from(1u32 << self.radix)
    }

    /// Appends w, w², w⁴, .. for each p to the table, and returns their offset.
    fn twiddles(&self, table: &mut Vec<[f32; 2]>) -> usize {
        let at = table.len();
        if !self.first {
            let sign = if self.transform.kind.inverse() {
                1.0
            } else {
                -1.0
            };
            let size = f64::from(1u32 << (self.done + self.radix));
            for power in 0..self.radix {
                table.extend((0..1u32 << self.done).map(|p| {
                    let turns = (f64::from(p) + self.transform.kind.shift()) / size;
                    point(sign * turns * f64::from(1u32 << power)).map(|value| value as f32)
                }));
            }
        }
        at
    }

    /// Writes code that loads w, w², w⁴, .. and multiplies them by roots of unity: `w4` is w⁴, and `w2_3` is w² W_8^3,
    /// for a polynomial of 8 coefficients.
    fn load_twiddles(&self, out: &mut String, at: usize, b: &str) {
        if self.constant() {
            return;
        }
        if self.first {
            let _ = writeln!(out, "        let weight = (*w)[0];");
        } else {
            let _ = writeln!(out, "        let p = {b} & {}u;", (1u32 << self.done) - 1);
        }
        let sign = if self.transform.kind.inverse() {
            1.0
        } else {
            -1.0
        };
        for power in 0..self.radix {
            let name = 1u32 << power;
            let from = at + ((power as usize) << self.done);
            let _ = match self.first {
                true => writeln!(out, "        let w{name} = (*w)[{}];", power + 1),
                false => writeln!(out, "        let w{name} = twiddles[{from}u + p];"),
            };
            let size = 1u32 << (self.radix - power);
            for i in 1..size / 4 {
                let turn = constant(sign * f64::from(i) / f64::from(size));
                let _ = writeln!(out, "        let w{name}_{i} = c_mul(w{name}, {turn});");
            }
        }
    }

    /// Whether the twiddles are constants: in the first stage, unless the input is multiplied by twiddles.
    fn constant(&self) -> bool {
        self.first && !self.transform.twiddled
    }

    /// The twiddle w^(r / size) W_size^i.
    fn twiddle(&self, size: u32, i: u32) -> Twiddle {
        let power = (1u32 << self.radix) / size;
        if !self.constant() {
            return Twiddle::Is(match i {
                0 => format!("w{power}"),
                _ => format!("w{power}_{i}"),
            });
        }
        let sign = if self.transform.kind.inverse() {
            1.0
        } else {
            -1.0
        };
        let turns = self.first_turn() * f64::from(power) + sign * f64::from(i) / f64::from(size);
        if turns == 0.0 {
            Twiddle::One
        } else {
            Twiddle::Is(constant(turns))
        }
    }
}

struct Butterfly<'a> {
    stage: &'a Stage<'a>,
    out: &'a mut String,
    weight: Weight,
    names: u32,
}

/// The meaning of the WGSL variable `weight`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    None,
    /// A factor of every input value.
    Input,
    /// The part of the results' right-angle factor that all results of a butterfly share.
    Result,
}

impl Butterfly<'_> {
    /// Writes the butterfly on the slots `slot(0)` to `slot(r - 1)`.
    fn write(mut self, slot: impl Fn(u32) -> u32) {
        let r = 1u32 << self.stage.radix;
        for k in 0..r {
            let _ = writeln!(self.out, "        let x{k} = (*v)[{}];", slot(k));
            if self.multiplied() {
                let _ = writeln!(self.out, "        let y{k} = (*h)[{}];", slot(k));
            }
        }
        let results = self.evaluate(0, 1);
        for (k, result) in (0..r).zip(results) {
            let weighted = match (self.weight, k) {
                (Weight::None | Weight::Input, _) | (Weight::Result, 0) => result,
                // The rest of the right-angle factor, which `weight` does not include.
                (Weight::Result, _) => format!(
                    "c_mul({result}, {})",
                    constant(f64::from(k) / f64::from(4 * r))
                ),
            };
            let _ = writeln!(self.out, "        (*v)[{}] = {weighted};", slot(k));
        }
    }

    fn multiplied(&self) -> bool {
        self.stage.first && self.stage.transform.product
    }

    fn name(&mut self, value: &str) -> String {
        let name = format!("n{}", self.names);
        self.names += 1;
        let _ = writeln!(self.out, "        let {name} = {value};");
        name
    }

    /// Evaluates the polynomial with coefficients x_first, x_{first + step}, .. at its points.
    fn evaluate(&mut self, first: u32, step: u32) -> Vec<String> {
        let size = (1u32 << self.stage.radix) / step;
        if size == 1 {
            return vec![format!("x{first}")];
        }
        let even = self.evaluate(first, 2 * step);
        let odd = self.evaluate(first + step, 2 * step);
        let half = (size / 2) as usize;
        let mut values = vec![String::new(); 2 * half];
        for i in 0..half {
            // The second half of these points are those of the first half, rotated by a quarter turn.
            let quarter = size >= 4 && i >= half / 2;
            let twiddle = self
                .stage
                .twiddle(size, (if quarter { i - half / 2 } else { i }) as u32);
            let (e, o) = (even[i].clone(), odd[i].clone());
            let (plus, minus) = self.pair(first, step, quarter, &twiddle, &e, &o);
            // A quarter turn is -i; for the inverse it is i.
            let swapped = quarter && self.stage.transform.kind.inverse();
            let (one, other) = if swapped {
                (minus, plus)
            } else {
                (plus, minus)
            };
            values[i] = one;
            values[i + half] = other;
        }
        values
    }

    /// Computes e + t o and e - t o, with -i t instead of t if `quarter`.
    fn pair(
        &mut self,
        first: u32,
        step: u32,
        quarter: bool,
        twiddle: &Twiddle,
        e: &str,
        o: &str,
    ) -> (String, String) {
        let leaf = step == 1 << (self.stage.radix - 1);
        let (e, t) = if leaf && self.weight != Weight::None {
            let e = self.name(&format!("c_mul({e}, weight)"));
            let t = match twiddle {
                Twiddle::One => "weight".to_owned(),
                Twiddle::Is(t) => self.name(&format!("c_mul({t}, weight)")),
            };
            (e, t)
        } else if leaf && self.multiplied() {
            let e = self.name(&format!("c_mul({e}, y{first})"));
            (e, format!("y{}", first + step))
        } else {
            match twiddle {
                Twiddle::One if quarter => {
                    let plus = self.name(&format!("vec2({e}.x + {o}.y, {e}.y - {o}.x)"));
                    let minus = self.name(&format!("vec2({e}.x - {o}.y, {e}.y + {o}.x)"));
                    return (plus, minus);
                }
                Twiddle::One => {
                    return (
                        self.name(&format!("{e} + {o}")),
                        self.name(&format!("{e} - {o}")),
                    );
                }
                Twiddle::Is(t) => (e.to_owned(), t.clone()),
            }
        };
        let add = if quarter { "c_add_quarter" } else { "c_add" };
        let plus = self.name(&format!("{add}({e}, {t}, {o})"));
        let minus = self.name(&format!("fma(vec2(2.0), {e}, -{plus})"));
        (plus, minus)
    }
}
