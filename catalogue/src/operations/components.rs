//! Images: whole numbers in rows and columns.

use vsla::scalar::Pixel;
use vsla::{
    image::{Components, Neighbours},
    scalar::DType,
};

use super::results::{by_values, each};
use super::{Answer, Gradient, Law, MATRICES, OF_INTEGERS, Operation, ROW, Work, batch};
use crate::batch::Number;
use crate::failure::Result;
use crate::options::{self as opt, Opt};
use crate::request::Options;

const OPTIONS: &[Opt] = &[
    opt::DTYPE,
    opt::RANK,
    opt::BACKGROUND,
    opt::FOREGROUND,
    opt::DIAGONAL,
];

/// Images of whole numbers.
const IMAGES: Operation = Operation {
    options: OPTIONS,
    ranks: MATRICES,
    work: Work::More,
    gradient: Gradient::None(OF_INTEGERS),
    dtype: DType::I32,
    ..ROW
};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "label",
        results: each("r × c", "r × c, and one value", |_, s| {
            Some(vec![s[0].clone(), vec![1]])
        }),
        about: "{labels, numbers}: the connected components of each matrix, of equal values, and how many there are",
        run: pixels!(|call, device, args| {
            let components = components(&call.options)?;
            let (labels, numbers) = args[0].on(&device)?.label(components)?;
            let (labels, numbers) = (labels.into(), numbers.into());
            Ok(Answer::Fields([("labels", labels), ("numbers", numbers)]))
        }),
        methods: &[
            ("background", "background"),
            ("neighbours", "diagonal"),
            ("of_equal_values", ""),
            ("of_foreground", "foreground"),
        ],
        law: Law::None,
        ..IMAGES
    },
    Operation {
        name: "regions",
        results: by_values(
            "r × c",
            "for n components, which values decide: areas of n, boxes of n × 4, centroids of n × 2, values of n",
        ),
        about: "[areas, boxes, centroids, values] of the components that label finds, in the order of labels",
        run: pixels!(|call, device, args| {
            let x = args[0].on(&device)?;
            let (labels, numbers) = x.label(components(&call.options)?)?;
            let regions = x.regions_blocking(&labels, &numbers)?;
            let (areas, boxes) = (regions.areas.into(), regions.boxes.into());
            let (centroids, values) = (regions.centroids.into(), regions.values.into());
            Ok(Answer::Batches(vec![areas, boxes, centroids, values]))
        }),
        law: Law::Open,
        reads_values: true,
        ..IMAGES
    },
    Operation {
        name: "fill_holes",
        options: &[
            opt::DTYPE,
            opt::RANK,
            opt::BACKGROUND,
            opt::VALUE,
            opt::DIAGONAL,
        ],
        about: "each matrix with a value in background that no path of background connects to the border",
        run: pixels!(|call, device, args| {
            let background = call.options.number("background")?;
            let value = call.options.number("value")?;
            let x = args[0].on(&device)?;
            batch(x.fill_holes(neighbours(&call.options)?, background, value)?)
        }),
        law: Law::Open,
        ..IMAGES
    },
];

fn components<T: Pixel + Number>(options: &Options) -> Result<Components<T>> {
    let components = match options.flag("foreground")? {
        true => Components::of_foreground(),
        false => Components::of_equal_values(),
    };
    let background = options.number("background")?;
    let neighbours = neighbours(options)?;
    Ok(components.background(background).neighbours(neighbours))
}

fn neighbours(options: &Options) -> Result<Neighbours> {
    Ok(match options.flag("diagonal")? {
        true => Neighbours::Eight,
        false => Neighbours::Four,
    })
}
