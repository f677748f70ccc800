//! Files, layouts, devices, and help.

use serde_json::{Value, json};
use vsla::{Device, device::DeviceInfo};

use super::results::by_values;
use super::{Answer, Call, Gradient, Law, Operation, ROW, Run, UNARY, Work, operations};
use crate::failure::{KINDS, Result};
use crate::files;
use crate::options::{self as opt, Absent};

/// What the library offers and the calculator does not, and why.
pub const EXCEPTIONS: &[(&[&str], &str)] = &[
    (
        &["map1", "map2", "apply", "wgsl", "image::ImageProgram"],
        "functions and image programs of one's own are closures; the operations of image programs are offered one by one",
    ),
    (
        &[
            "new", "append", "counts", "keys", "values", "lengths", "layouts",
        ],
        "a line leaves nothing behind, so no cache grows: attention takes the contents of a cache by the option cached",
    ),
    (
        &[
            "conv_choice",
            "choice",
            "tier",
            "costs",
            "with_costs",
            "calibrate_conv",
            "profile",
            "counters",
        ],
        "plans, choices of methods, costs and measurements have no values; gradient plans and runs a program",
    ),
    (
        &[
            "auto",
            "cpu",
            "gpu",
            "from_wgpu",
            "wgpu",
            "list",
            "open",
            "is_gpu",
            "memory",
            "flush",
            "with_work_limit",
            "work_limit",
            "device",
            "upload",
            "upload_bsr",
            "upload_layout",
            "download",
            "download_into",
            "export",
            "import",
            "to_device",
        ],
        "devices are chosen by the field device, described by info and devices, and limited by --max-work; arguments are \
         uploaded, and answers read",
    ),
    (
        &["len", "is_empty", "is_transposed", "identity", "to_nested"],
        "arguments and answers show it",
    ),
];

/// What is no function of its arguments.
const ABOUT: Operation = Operation {
    args: 0,
    results: by_values("", "no batch"),
    gradient: Gradient::None("it is not a function"),
    law: Law::Open,
    is_function: false,
    ..ROW
};

pub const ROWS: &[Operation] = &[
    Operation {
        name: "read",
        options: &[opt::FILE],
        about: "reads a .vsla file; block-sparse matrices become dense",
        run: Run::any(files::read),
        ..ABOUT
    },
    Operation {
        name: "write",
        args: 1,
        options: &[opt::DTYPE, opt::RANK, opt::FILE],
        about: "writes x to a .vsla file, replacing it if it exists; answers its size in bytes",
        run: Run::any(files::write),
        ..ABOUT
    },
    Operation {
        name: "layout",
        options: UNARY,
        about: "the memory layout of the batch: shapes, offsets, and the share that padding would waste",
        results: by_values("a batch", "no batch"),
        run: Run::any(layout),
        reads_values: true,
        gradient: Gradient::None("its result is no batch"),
        work: Work::Nothing,
        law: Law::Open,
        is_local: false,
        ..ROW
    },
    Operation {
        name: "info",
        about: "the device, why it was chosen, and its memory in bytes",
        run: Run::any(|call| {
            let device = call.device()?;
            let (mut info, memory) = (described(&device.info()), device.memory());
            info["memory"] =
                json!({"live": memory.live, "peak": memory.peak, "cached": memory.cached});
            Ok(Answer::About(info))
        }),
        ..ABOUT
    },
    Operation {
        name: "devices",
        about: "all devices of this machine",
        run: Run::any(|_| {
            Ok(Answer::About(
                Device::list().iter().map(described).collect(),
            ))
        }),
        ..ABOUT
    },
    Operation {
        name: "help",
        about: "this list of operations and their options",
        run: Run::any(|_| Ok(Answer::About(help()))),
        ..ABOUT
    },
];

fn layout(call: &mut Call<'_>) -> Result<Answer> {
    let layout = call.layout(0);
    let shapes: Vec<_> = layout
        .shapes()
        .map(|shape| shape.extents().to_vec())
        .collect();
    Ok(Answer::Json(json!({
        "rank": layout.rank(),
        "shapes": shapes,
        "offsets": layout.offsets().as_slice(),
        "padding_waste": layout.padding_waste(),
    })))
}

fn described(info: &DeviceInfo) -> Value {
    json!({
        "name": info.name,
        "backend": info.backend,
        "kind": format!("{:?}", info.kind).to_lowercase(),
        "driver": info.driver,
        "reason": info.reason,
    })
}

/// Each option with its form, what holds without it, and its meaning.
fn described_options(operation: &Operation) -> Value {
    let described = operation.options.iter().map(|option| {
        let form = option.kind.form();
        let absent = match option.absent {
            Absent::Refused => "required".to_owned(),
            Absent::Is(default) => format!("default: {default}"),
            Absent::Means(_) if option.name == "dtype" => format!("default: {}", operation.dtype),
            Absent::Means(what) => format!("default: {what}"),
        };
        let text = format!("{form}; {absent}: {}", option.about);
        (option.name.to_owned(), json!(text))
    });
    Value::Object(described.collect())
}

fn help() -> Value {
    let operations = operations().map(|operation| {
        json!({
            "op": operation.name,
            "args": operation.args,
            "options": described_options(operation),
            "types": operation.types().iter().map(|dtype| dtype.name()).collect::<Vec<_>>(),
            "ranks": operation.ranks,
            "operands": operation.results.operands,
            "results": operation.results.about,
            "about": operation.about,
        })
    });
    let table = |rows: &[(&str, &str)]| -> Value {
        let rows = rows
            .iter()
            .map(|&(name, about)| (name.to_owned(), json!(about)));
        Value::Object(rows.collect())
    };
    json!({
        "operations": operations.collect::<Vec<_>>(),
        "device": "auto, cpu or gpu; default: the flag --device",
        "args": "batches: arrays of elements; an element of rank r is an array nested r deep; \"nan\", \"inf\" and \
         \"-inf\" are numbers",
        "errors": table(KINDS),
        "not_offered": EXCEPTIONS.iter().map(|(names, why)| json!([names, why])).collect::<Vec<_>>(),
    })
}
