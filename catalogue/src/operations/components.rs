//! Images: whole numbers in rows and columns.

use vsla::scalar::Pixel;
use vsla::{
    image::{Components, Neighbours},
    scalar::DType,
};

use super::{Answer, Law, OF_INTEGERS, Operation, ROW, Work, batch};
use crate::batch::Number;
use crate::failure::Result;
use crate::request::Options;

const OPTIONS: &[&str] = &["dtype", "rank", "background", "foreground", "diagonal"];

pub const ROWS: &[Operation] = &[
    LABEL
        .for_methods(&[
            ("background", "background"),
            ("neighbours", "diagonal"),
            ("of_equal_values", ""),
            ("of_foreground", "foreground"),
        ])
        .without_gradient(OF_INTEGERS)
        .of(DType::I32)
        .of_rank(2)
        .by_shape(),
    REGIONS
        .without_gradient(OF_INTEGERS)
        .of(DType::I32)
        .of_rank(2)
        .respecting(Law::Open),
    FILL_HOLES
        .without_gradient(OF_INTEGERS)
        .of(DType::I32)
        .of_rank(2)
        .respecting(Law::Open),
];

const LABEL: Operation = Operation {
    name: "label",
    options: OPTIONS,
    about: "{labels, numbers}: the connected components of each matrix, of equal values, and how many there are",
    run: |call| {
        pixels!(call, |device, args| {
            let components = components(&call.options)?;
            let (labels, numbers) = args[0].on(&device)?.label(components)?;
            let (labels, numbers) = (labels.into(), numbers.into());
            Ok(Answer::Fields([("labels", labels), ("numbers", numbers)]))
        })
    },
    work: Work::More,
    ..ROW
};

const REGIONS: Operation = Operation {
    name: "regions",
    options: OPTIONS,
    about: "[areas, boxes, centroids, values] of the components that label finds, in the order of labels",
    run: |call| {
        pixels!(call, |device, args| {
            let x = args[0].on(&device)?;
            let (labels, numbers) = x.label(components(&call.options)?)?;
            let regions = x.regions_blocking(&labels, &numbers)?;
            let (areas, boxes) = (regions.areas.into(), regions.boxes.into());
            let (centroids, values) = (regions.centroids.into(), regions.values.into());
            Ok(Answer::Batches(vec![areas, boxes, centroids, values]))
        })
    },
    reads_values: true,
    work: Work::More,
    ..ROW
};

const FILL_HOLES: Operation = Operation {
    name: "fill_holes",
    options: &["dtype", "rank", "background", "value", "diagonal"],
    about: "each matrix with a value in background that no path of background connects to the border",
    run: |call| {
        pixels!(call, |device, args| {
            let background = call.options.optional("background")?.unwrap_or_default();
            let value = call.options.number("value")?;
            let x = args[0].on(&device)?;
            batch(x.fill_holes(neighbours(&call.options)?, background, value)?)
        })
    },
    work: Work::More,
    ..ROW
};

fn components<T: Pixel + Number>(options: &Options) -> Result<Components<T>> {
    let components = match options.flag("foreground")? {
        true => Components::of_foreground(),
        false => Components::of_equal_values(),
    };
    let background = options.optional("background")?.unwrap_or_default();
    let neighbours = neighbours(options)?;
    Ok(components.background(background).neighbours(neighbours))
}

fn neighbours(options: &Options) -> Result<Neighbours> {
    Ok(match options.flag("diagonal")? {
        true => Neighbours::Eight,
        false => Neighbours::Four,
    })
}
