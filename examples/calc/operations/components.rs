//! Images: whole numbers in rows and columns.

use vsla::image::{Components, Neighbours};
use vsla::scalar::Integer;

use super::{Answer, Grows, Operation};
use crate::batch::Number;
use crate::failure::{Failure, Result};
use crate::held::Args;
use crate::request::Options;

/// The body for either type of integers.
macro_rules! integers {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            Args::I32($args) => $body,
            Args::U32($args) => $body,
            _ => Err(Failure::request("dtype: this operation takes i32 or u32")),
        }
    }};
}

pub const ROWS: &[Operation] = &[Operation {
    name: "label",
    args: 1,
    options: &["dtype", "rank", "background", "foreground", "diagonal"],
    grows: Grows::No,
    about: "{labels, numbers}: the connected components of each matrix, of equal values, and how many there are",
    run: |call| {
        integers!(call, |device, args| {
            let components = components(&call.options)?;
            let (labels, numbers) = args[0].on(&device)?.label(components)?;
            let (labels, numbers) = (labels.into(), numbers.into());
            Ok(Answer::Fields([("labels", labels), ("numbers", numbers)]))
        })
    },
}];

fn components<T: Integer + Number>(options: &Options) -> Result<Components<T>> {
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
