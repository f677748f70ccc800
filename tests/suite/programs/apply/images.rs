//! Executing operations on images of integers.

use vsla::image::{Components, Neighbours};
use vsla::scalar::Integer;
use vsla::{Result, Tensor};

use super::super::batch::Value;
use super::super::op::{Image, Labels};
use super::unary::Small;

pub fn image(op: &Image, x: &Value) -> Result<Vec<Value>> {
    match x {
        Value::I32(x) => of(op, x),
        Value::U32(x) => of(op, x),
        other => unreachable!("{other:?}"),
    }
}

fn of<T: Integer + Small>(op: &Image, x: &Tensor<T>) -> Result<Vec<Value>>
where
    Value: From<Tensor<T>>,
{
    let one = |y: Tensor<T>| Ok(vec![y.into()]);
    let numbers = |y: Tensor<u32>| Ok(vec![y.into()]);
    match op {
        Image::Label(labels) => {
            let (labels, counts) = x.label(components(labels))?;
            Ok(vec![labels.into(), counts.into()])
        }
        Image::Regions(labels) => {
            let (labels, counts) = x.label(components(labels))?;
            let table = x.regions_blocking(&labels, &counts)?;
            Ok(vec![
                table.areas.into(),
                table.boxes.into(),
                table.centroids.into(),
                table.values.into(),
            ])
        }
        Image::FillHoles(eight, [background, value]) => {
            one(x.fill_holes(near(*eight), T::small(*background), T::small(*value))?)
        }
        Image::Dilate(eight) => one(x.dilate(near(*eight))?),
        Image::Erode(eight) => one(x.erode(near(*eight))?),
        Image::Rot90(turns) => one(x.rot90(*turns)?),
        Image::AntiTranspose => one(x.anti_transpose()?),
        Image::Upscale(factors) => one(x.upscale(factors)?),
        Image::Downscale(factors) => one(x.downscale(factors)?),
        Image::Tile(repeats) => one(x.tile(repeats)?),
        Image::Translate(shifts, fill) => one(x.translate(shifts, T::small(*fill))?),
        Image::BoundingBox(background) => numbers(x.bounding_box(T::small(*background))?),
        Image::Trim(background) => one(x.trim_blocking(T::small(*background))?),
        Image::Crop(background) => one(x.crop_blocking(&x.bounding_box(T::small(*background))?)?),
        Image::DrawBoxes(background) => {
            one(x.draw_boxes(&x.bounding_box(T::small(*background))?, &x.most_common()?)?)
        }
        Image::DrawLines(lines) => one(x.draw_lines(lines, &x.least_common()?)?),
        Image::Lookup(table) => numbers(x.lookup(&x.device().upload(table)?)?),
        Image::Bincount(values) => numbers(x.bincount(*values)?),
        Image::MostCommon => one(x.most_common()?),
        Image::LeastCommon => one(x.least_common()?),
        Image::Palette => one(x.palette_blocking()?),
        Image::MatchTemplate(end) => numbers(x.match_template(&x.slice(&[0, 0], end)?)?),
        Image::Period(axis) => numbers(x.period(*axis)?),
        Image::EqualElements => numbers(x.equal_elements(&x.flip(&[1])?)?),
        Image::Compact(axis) => {
            let flags = x.not_equal(&x.flip(&[0, 1])?)?.any_axis(1 - axis)?;
            one(x.compact_blocking(&flags, *axis)?)
        }
    }
}

fn near(eight: bool) -> Neighbours {
    match eight {
        true => Neighbours::Eight,
        false => Neighbours::Four,
    }
}

fn components<T: Integer + Small>(labels: &Labels) -> Components<T> {
    let components = match labels.foreground {
        true => Components::of_foreground(),
        false => Components::of_equal_values(),
    };
    components
        .neighbours(near(labels.eight))
        .background(T::small(labels.background))
}
