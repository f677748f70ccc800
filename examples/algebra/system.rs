//! Two talkers, two microphones: a matrix of filters, each of its own length, and the matrix that separates the
//! talkers.
//!
//! Microphone i hears talker j through the impulse response h_ij. The adjugate of H consists of the same filters, and
//! its product with H has the determinant on the diagonal and zeros elsewhere: each talker alone, but coloured.

use std::error::Error;
use std::fmt::Write;

use vsla::{Device, Ragged, product::ShapeMatrix};

/// Frequencies from 0 to half the sampling rate.
const FREQUENCIES: usize = 257;

type Matrix = [[Vec<f32>; 2]; 2];

/// Rooms: the direct path is short, the cross path arrives later and lasts longer.
fn heard() -> Matrix {
    let direct = vec![16.0, 0.0, 4.0, 0.0, -2.0];
    let across = vec![0.0, 0.0, 6.0, 5.0, 3.0, 0.0, -2.0, 1.0];
    let back = vec![0.0, 0.0, 0.0, 7.0, 4.0, -1.0];
    let other = vec![15.0, 2.0];
    [[direct, across], [back, other]]
}

/// `[[d, −b], [−c, a]]` of `[[a, b], [c, d]]`.
fn adjugate([[a, b], [c, d]]: Matrix) -> Matrix {
    let minus = |filter: Vec<f32>| filter.into_iter().map(|tap| 0.0 - tap).collect();
    [[d, minus(b)], [minus(c), a]]
}

pub fn show(device: &Device) -> Result<String, Box<dyn Error>> {
    let mut text = String::from("\nA system\n\n");
    writeln!(
        text,
        "  The path from talker j to microphone i is the filter h_ij:\n"
    )?;
    text += &written('h', &heard());
    writeln!(text, "\n  These filters separate the talkers, G = adj H:\n")?;
    text += &written('g', &adjugate(heard()));
    writeln!(text, "\n  G H, as one product of filter matrices:\n")?;
    let separated = separated(device)?;
    text += &written(' ', &separated);
    let [[one, _], [_, other]] = &separated;
    writeln!(
        text,
        "\n  The other talker is removed, and each talker is filtered by det H{}.",
        if one == other { "" } else { ", nearly" },
    )?;
    Ok(text)
}

/// `adj H · H`.
fn separated(device: &Device) -> vsla::Result<Matrix> {
    let upload = |matrix: Matrix| ShapeMatrix::from_nested(device, &[matrix]);
    let product = upload(adjugate(heard()))?.conv_matmul(&upload(heard())?)?;
    let rows = product.to_nested_blocking()?.remove(0);
    let mut entries = rows.into_iter().flatten();
    let mut next = || entries.next().unwrap_or_default();
    Ok([[next(), next()], [next(), next()]])
}

/// The taps of each filter, one filter to a line, without trailing zeros.
fn written(name: char, matrix: &Matrix) -> String {
    const PLACES: [[&str; 2]; 2] = [["₁₁", "₁₂"], ["₂₁", "₂₂"]];

    let mut text = String::new();
    for (i, row) in matrix.iter().enumerate() {
        for (j, filter) in row.iter().enumerate() {
            let end = filter
                .iter()
                .rposition(|&tap| tap != 0.0)
                .map_or(0, |last| last + 1);
            let taps: Vec<String> = filter[..end].iter().map(f32::to_string).collect();
            let taps = match taps.is_empty() {
                true => "0".to_owned(),
                false => taps.join(" "),
            };
            text += &format!("    {name}{}  {taps}\n", PLACES[i][j]);
        }
    }
    text
}

/// How loud talker 1 and talker 2 are by frequency at the first output: in a microphone, and after separation.
pub struct Responses {
    pub heard: [Vec<f32>; 2],
    pub separated: [Vec<f32>; 2],
}

/// The responses in decibels.
pub fn responses(device: &Device) -> vsla::Result<Responses> {
    let ([heard, _], [separated, _]) = (heard(), separated(device)?);
    let filters: Vec<Vec<f32>> = heard.into_iter().chain(separated).collect();
    // Zeros after a filter only increase the number of frequencies.
    let padded = filters.into_iter().map(|mut filter| {
        filter.resize(2 * (FREQUENCIES - 1), 0.0);
        filter
    });
    let spectra = device
        .upload(&Ragged::from_rows(padded)?)?
        .rfft()?
        .download_blocking()?;
    let decibels = |i: usize| -> Vec<f32> {
        let spectrum = spectra.row(i).iter();
        spectrum
            .map(|value| 20.0 * value.norm().max(1e-3).log10())
            .collect()
    };
    Ok(Responses {
        heard: [decibels(0), decibels(1)],
        separated: [decibels(2), decibels(3)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_talkers_are_taken_apart() {
        let [[one, none], [nor, other]] = separated(&Device::cpu()).unwrap();
        assert!(
            none.iter().chain(&nor).all(|&tap| tap == 0.0),
            "{none:?} {nor:?}"
        );
        // det H begins with the product of the direct paths.
        assert_eq!((one[0], one.len()), (16.0 * 15.0, other.len()));
        assert_eq!(one, other);
        let responses = responses(&Device::cpu()).unwrap();
        assert!(responses.separated[1].iter().all(|&level| level < -50.0));
        assert!(responses.heard[1].iter().any(|&level| level > 20.0));
    }
}
