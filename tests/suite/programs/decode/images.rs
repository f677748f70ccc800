//! Operations on images of integers.

use vsla::{Layout, Ragged};

use super::super::op::{Image, Labels};
use super::{Bytes, MOST};

pub fn image(bytes: &mut Bytes<'_>, x: &Layout) -> Option<Image> {
    let colour = |bytes: &mut Bytes<'_>| bytes.below(4) as i32 - 1;
    let labels = |bytes: &mut Bytes<'_>| Labels {
        eight: bytes.one_in(2),
        foreground: bytes.one_in(2),
        background: colour(bytes),
    };
    Some(match bytes.below(26) {
        0..=2 => Image::Label(labels(bytes)),
        3 => Image::Regions(labels(bytes)),
        4 => Image::FillHoles(bytes.one_in(2), [colour(bytes), 3]),
        5 => Image::Dilate(bytes.one_in(2)),
        6 => Image::Erode(bytes.one_in(2)),
        7 => Image::Rot90(bytes.below(8) as i64 - 4),
        8 => Image::AntiTranspose,
        9 if x.total() <= MOST => Image::Upscale(pairs(bytes, x, 3)),
        10 => Image::Downscale(pairs(bytes, x, 4)),
        11 if x.total() <= MOST => Image::Tile(pairs(bytes, x, 3)),
        12 => {
            let shift = |bytes: &mut Bytes<'_>| bytes.below(12) as i64 - 6;
            let shifts = (0..x.len()).map(|_| [shift(bytes), shift(bytes)]);
            Image::Translate(shifts.collect(), 7)
        }
        13 => Image::BoundingBox(colour(bytes)),
        14 => Image::Trim(colour(bytes)),
        15 => Image::Crop(colour(bytes)),
        16 => Image::DrawBoxes(colour(bytes)),
        17 => {
            let lines = (0..x.len()).map(|_| {
                let [row, column, steps] = [0; 3].map(|_| bytes.below(40) as i32 - 4);
                let [down, right] = bytes.pick(&[[0, 1], [1, 0], [1, 1], [1, -1]]);
                [row, column, row + down * steps, column + right * steps]
            });
            Image::DrawLines(Ragged::from_rows(lines).expect("a line for each image"))
        }
        18 => {
            let table = (0..1 + bytes.below(9)).map(|_| u32::from(bytes.u8()));
            Image::Lookup(Ragged::from_rows([table.collect::<Vec<_>>()]).expect("a small table"))
        }
        19 => Image::Bincount(1 + bytes.below(9)),
        20 => Image::MostCommon,
        21 => Image::LeastCommon,
        22 => Image::Palette,
        23 => Image::MatchTemplate([1 + bytes.below(3) as i64, 1 + bytes.below(3) as i64]),
        24 => Image::Period(bytes.below(2)),
        _ => match bytes.below(3) {
            0 => Image::EqualElements,
            axis => Image::Compact(axis - 1),
        },
    })
}

/// Two numbers from 1 to `most` for each element; rarely from 0, which factors must not be.
fn pairs(bytes: &mut Bytes<'_>, x: &Layout, most: usize) -> Vec<[usize; 2]> {
    let least = usize::from(!bytes.one_in(16));
    let number = |bytes: &mut Bytes<'_>| least + bytes.below(most);
    (0..x.len())
        .map(|_| [number(bytes), number(bytes)])
        .collect()
}
