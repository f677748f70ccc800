//! Polynomials as rows of coefficients, the constant first. Their products are convolutions, and the factors determine
//! the length of each.

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use vsla::{Device, Layout, Pairing, Ragged, Tensor, batch::PairList};

/// The cyclotomic polynomials of the divisors of 24. Their product is x²⁴ − 1.
const CYCLOTOMIC: [(u32, &[i32]); 8] = [
    (1, &[-1, 1]),
    (2, &[1, 1]),
    (3, &[1, 1, 1]),
    (4, &[1, 0, 1]),
    (6, &[1, -1, 1]),
    (8, &[1, 0, 0, 0, 1]),
    (12, &[1, 0, -1, 0, 1]),
    (24, &[1, 0, 0, 0, -1, 0, 0, 0, 1]),
];

pub fn show(device: &Device) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("\nPolynomials\n\n");
    let factors = Ragged::from_rows(CYCLOTOMIC.map(|(_, coefficients)| coefficients))?;
    for ((number, _), coefficients) in CYCLOTOMIC.iter().zip(&factors) {
        writeln!(
            text,
            "  {:>5} = {}",
            format!("Φ{number}"),
            written(coefficients)
        )?;
    }
    writeln!(text, "\n  products of neighbours, with one call per level:")?;
    for level in product_tree(device.upload(&factors)?)? {
        writeln!(text)?;
        for coefficients in &level.download_blocking()? {
            writeln!(text, "  {}", written(coefficients))?;
        }
    }
    text += &many(device)?;
    Ok(text)
}

/// Multiplies neighbours, then neighbours among these products, and so on up to the product of all.
fn product_tree(factors: Tensor<i32>) -> vsla::Result<Vec<Tensor<i32>>> {
    let mut levels = Vec::new();
    let mut level = factors;
    while level.len() > 1 {
        let pairs = level.len() as u32 / 2;
        let neighbours = PairList::new((0..pairs).map(|i| (2 * i, 2 * i + 1)))?;
        level = level.pair(&level, Pairing::List(&neighbours))?.conv()?;
        levels.push(level.clone());
    }
    Ok(levels)
}

/// Many polynomials of different degrees at once.
fn many(device: &Device) -> Result<String, Box<dyn Error>> {
    const PAIRS: usize = 10_000;

    let lengths = |factor: usize| (0..PAIRS).map(move |i| 1 + i * factor % 1999);
    let (p, q) = (
        Layout::from_lengths(lengths(7))?,
        Layout::from_lengths(lengths(11))?,
    );
    let (p, q) = (Ragged::random(&p, 1)?, Ragged::random(&q, 2)?);
    let (p, q) = (device.upload(&p)?, device.upload(&q)?);
    let product = p.conv(&q)?;
    product.sum()?.download_blocking()?; // compiles and plans
    let start = Instant::now();
    let sums = p.conv(&q)?.sum()?.download_blocking()?;
    let time = start.elapsed();

    // The value of a polynomial at 1 is the sum of its coefficients.
    let (p, q) = (p.sum()?.download_blocking()?, q.sum()?.download_blocking()?);
    let off = (0..PAIRS).map(|i| (sums[i][0] - p[i][0] * q[i][0]).abs());
    let off = off.fold(0.0, f32::max);
    if off > 0.01 {
        return Err(format!("the sums of products are off by {off}").into());
    }
    Ok(format!(
        "\n  {PAIRS} products of degrees 0 to {}, and their values at 1: {time:.1?}; error at most {off:.0e}\n",
        product.layout().max_length() - 1,
    ))
}

/// Formats a polynomial, such as `1 − x² + 3x⁴`.
fn written(coefficients: &[i32]) -> String {
    let mut text = String::new();
    for (power, &coefficient) in coefficients.iter().enumerate() {
        if coefficient == 0 {
            continue;
        }
        text += match (text.is_empty(), coefficient < 0) {
            (true, true) => "−",
            (true, false) => "",
            (false, true) => " − ",
            (false, false) => " + ",
        };
        let size = coefficient.unsigned_abs();
        if size > 1 || power == 0 {
            text += &size.to_string();
        }
        match power {
            0 => {}
            1 => text.push('x'),
            _ => {
                text.push('x');
                text.extend(power.to_string().chars().map(raised));
            }
        }
    }
    match text.is_empty() {
        true => "0".to_owned(),
        false => text,
    }
}

fn raised(digit: char) -> char {
    let place = digit.to_digit(10).unwrap_or(0) as usize;
    ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_written_as_people_do() {
        assert_eq!(written(&[]), "0");
        assert_eq!(written(&[0, 0]), "0");
        assert_eq!(written(&[-3, 0, 2, -1]), "−3 + 2x² − x³");
        assert_eq!(written(&[0, 1]), "x");
        assert_eq!(
            written(&[1; 11]),
            "1 + x + x² + x³ + x⁴ + x⁵ + x⁶ + x⁷ + x⁸ + x⁹ + x¹⁰"
        );
    }

    #[test]
    fn the_cyclotomic_polynomials_multiply_to_one() {
        let factors = Ragged::from_rows(CYCLOTOMIC.map(|(_, coefficients)| coefficients)).unwrap();
        let levels = product_tree(Device::cpu().upload(&factors).unwrap()).unwrap();
        assert_eq!(levels.len(), 3);
        let all = levels[2].download_blocking().unwrap();
        assert_eq!(written(all.row(0)), "−1 + x²⁴");
    }
}
