//! Compares the browser's GPU with the CPU device: each row of the catalogue, and what no row covers.

use catalogue::{Failure, Operation, Prepared, Request, Size, filled};
use fastrand::Rng;
use serde_json::{Value, json};
use vsla::image::{Components, ImageProgram, LabelBy, Machine, Neighbours, Place};
use vsla::{
    Bsr, Device, Layout, Ragged, Result, Shape, Tensor, Topology, device::wgpu, scalar::Scalar,
};

type Outcome = std::result::Result<(), String>;

/// Rows whose kernels a GPU in software compiles for minutes: powers, remainders and angles.
const SLOW: &[&str] = &["pow", "power", "fmod", "fmod_by", "arctan2"];

/// Rows that are compared with values of all their types; others are with those of their first example. Each type is
/// another kernel, which a GPU in software compiles for up to seconds, and all kernels read and write a type in the
/// same way.
const OF_ALL_TYPES: &[&str] = &[
    "add", "copy", "matmul", "multiply", "sort", "sum", "to_f16", "to_f32", "to_i32", "to_u8",
    "to_u32",
];

/// About the most values of an element of most requests: more than workgroups and tiles have.
const MOST: usize = 1100;
/// The most values of an answer.
const MOST_OF_ANSWERS: u64 = 1 << 20;

/// Rows that have other kernels for elements that are longer than those of other requests, and the lengths of these.
const LONG: &[(&str, &[&[usize]])] = &[
    ("sum", &[&[200_000, 3]]),
    ("argsort", &[&[20_000, 7, 0, 3000]]),
    ("conv", &[&[40_000], &[30_000]]),
];

/// The devices to compare, and where to report what has come out.
pub struct Checks {
    gpu: Device,
    cpu: Device,
    report: fn(&str, &str),
}

impl Checks {
    /// `report` gets the name of each check, and what is wrong, or nothing.
    pub fn new(gpu: Device, report: fn(&str, &str)) -> Checks {
        Checks {
            gpu,
            cpu: Device::cpu(),
            report,
        }
    }

    fn done(&self, name: &str, outcome: Outcome) {
        (self.report)(name, &outcome.err().unwrap_or_default());
    }

    /// Compares what a call computes on both devices. Its values are whole numbers so small that the results are exact.
    async fn check<T: Scalar + PartialEq>(
        &self,
        name: &str,
        compute: impl AsyncFn(&Device) -> Result<Tensor<T>>,
    ) {
        let compared = async {
            let there = compute(&self.gpu).await?.download().await?;
            let here = compute(&self.cpu).await?.download().await?;
            let mut both = there.values().iter().zip(here.values());
            let place = both.position(|(there, here)| there != here);
            Ok::<_, vsla::Error>(match (there.layout() == here.layout(), place) {
                (false, _) => Err(format!("{} instead of {}", there.layout(), here.layout())),
                (true, None) => Ok(()),
                (true, Some(i)) => {
                    let [there, here] = [&there, &here].map(|batch| batch.values()[i]);
                    Err(format!("value {i} is {there:?} instead of {here:?}"))
                }
            })
        };
        let outcome = compared
            .await
            .unwrap_or_else(|error| Err(error.to_string()));
        self.done(name, outcome);
    }

    /// Compares the answers to requests for a row.
    async fn row(&self, name: &str, row: &Operation, requests: Vec<Value>) {
        let mut outcome = Ok(());
        for request in requests {
            let compared = self.answers(row, &request).await;
            outcome = compared.map_err(|wrong| format!("{wrong}: {}", beginning(&request)));
            if outcome.is_err() {
                break;
            }
        }
        self.done(name, outcome);
    }

    async fn answers(&self, row: &Operation, request: &Value) -> Outcome {
        let [there, here] = [&self.gpu, &self.cpu];
        let there = answer(there, request).await;
        let is_strict = request.pointer("/options/strict") == Some(&json!(true));
        if let Err(failure) = &there
            && failure.kind == "unsupported"
            && (row.reads_values || is_strict)
        {
            // It would block.
            return Ok(());
        }
        match (there, answer(here, request).await) {
            (Ok(there), Ok(here)) if row.is_near(request, &here, &there) => Ok(()),
            (Ok(there), Ok(here)) => {
                let [there, here] = [&there, &here].map(beginning);
                Err(format!("{there} instead of {here}"))
            }
            (Err(there), Err(here)) if there.kind == here.kind => Ok(()),
            (Err(failure), _) => Err(failure.message),
            (Ok(_), Err(failure)) => Err(format!("answered, but {}", failure.message)),
        }
    }
}

async fn answer(device: &Device, request: &Value) -> std::result::Result<Value, Failure> {
    let request = Prepared::new(Request::new(request.clone())?)?;
    Ok(request.run(device, MOST_OF_ANSWERS).await?.json())
}

fn beginning(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}

/// Runs every check.
pub async fn all(checks: &Checks) {
    kernels(checks).await;
    rows(checks).await;
    reading(checks).await;
    others(checks).await;
    transfers(checks).await;
}

/// Each row, with its examples and drawn arguments.
async fn rows(all: &Checks) {
    let named = SLOW.iter().chain(OF_ALL_TYPES);
    let unknown: Vec<_> = named
        .filter(|name| catalogue::find(name).is_none())
        .collect();
    let known = unknown.is_empty().then_some(());
    all.done("names of rows", known.ok_or_else(|| format!("{unknown:?}")));
    for row in catalogue::operations().filter(|row| row.is_function) {
        if !SLOW.contains(&row.name) {
            all.row(row.name, row, requests(row)).await;
        }
    }
    for &(name, args) in LONG {
        let random = &mut Rng::with_seed(1);
        let mut element = |&n: &usize| filled(&[n], &mut || json!(random.i32(-9..10)));
        let args = args
            .iter()
            .map(|lengths| -> Value { lengths.iter().map(&mut element).collect() });
        let request = json!({"op": name, "args": args.collect::<Value>()});
        match catalogue::find(name) {
            Some(row) => {
                all.row(&format!("{name} of long elements"), row, vec![request])
                    .await
            }
            None => all.done(name, Err("there is no such row".to_owned())),
        }
    }
}

/// The examples of a row, and some requests with drawn arguments.
fn requests(row: &Operation) -> Vec<Value> {
    let drawn = |size| row.draws(size, &mut Rng::with_seed(1)).into_iter();
    let mut all = row.answered();
    // Only `gradient` has more, and each is a program with kernels of its own.
    all.truncate(20);
    if row.args > 0 {
        all.extend(drawn(Size::Small).skip(2).step_by(6));
        // Long elements of most rows have the same lengths, for which many share kernels.
        all.extend(drawn(Size::UpTo(MOST)));
    }
    let dtype = row.dtype_of(&all[0]);
    all.retain(|request| OF_ALL_TYPES.contains(&row.name) || row.dtype_of(request) == dtype);
    all
}

fn batch<T: Scalar>(
    device: &Device,
    layout: &Layout,
    seed: u64,
    to: fn(i32) -> T,
) -> Result<Tensor<T>> {
    let mut random = Rng::with_seed(seed);
    let values = (0..layout.total()).map(|_| to(random.i32(-9..10)));
    device.upload(&Ragged::from_parts(layout.clone(), values.collect())?)
}

fn float(x: i32) -> f32 {
    x as f32
}

fn lengths(lengths: &[usize]) -> Result<Layout> {
    Layout::from_lengths(lengths.iter().copied())
}

fn boxes(shapes: &[&[usize]]) -> Result<Layout> {
    let shapes: Result<Vec<Shape>> = shapes.iter().map(|extents| Shape::new(extents)).collect();
    Layout::from_shapes(2, shapes?)
}

fn vectors(device: &Device, seed: u64) -> Result<Tensor<f32>> {
    batch(
        device,
        &lengths(&[5, 0, 1, 300, 64, 1025, 4, 2500, 17])?,
        seed,
        float,
    )
}

macro_rules! checks {
    ($all:ident: $($name:literal, $compute:expr;)*) => {
        $($all.check($name, $compute).await;)*
    };
}

/// Images of three colours: a small one, one without cells, and one that several workgroups share.
fn pictures(device: &Device) -> Result<Tensor<i32>> {
    let layout = boxes(&[&[7, 9], &[0, 4], &[70, 33]])?;
    batch(device, &layout, 1, |x| x.abs() % 3)
}

/// Calls that read values back, which rows can only do where they may block; and image programs.
async fn reading(all: &Checks) {
    let flags = |d: &Device, rows| batch(d, &lengths(rows)?, 3, |x| u32::from(x > 0));
    checks! { all:
        "palette", async |d| pictures(d)?.palette().await;
        "trim", async |d| pictures(d)?.pad(&[2, 0], &[1, 3])?.trim(0).await;
        "crop", async |d| {
            let boxes = Ragged::from_rows([[1u32, 2, 5, 99], [0, 0, 1, 1], [30, 4, 69, 30]])?;
            pictures(d)?.crop(&d.upload(&boxes)?).await
        };
        "compact of rows", async |d| pictures(d)?.compact(&flags(d, &[7, 0, 70])?, 0).await;
        "compact of columns", async |d| pictures(d)?.compact(&flags(d, &[9, 4, 33])?, 1).await;
        "regions, boxes", async |d| {
            let (labels, numbers) = pictures(d)?.label(Components::of_equal_values())?;
            Ok(pictures(d)?.regions(&labels, &numbers).await?.boxes)
        };
        "regions, centroids", async |d| {
            let (labels, numbers) = pictures(d)?.label(Components::of_foreground())?;
            Ok(pictures(d)?.regions(&labels, &numbers).await?.centroids)
        };
    }
    let outcome = image_program(&all.gpu).await;
    let outcome = outcome.unwrap_or_else(|error| Err(error.to_string()));
    all.done("image program", outcome);
    let blocking = objects().and_then(|(program, images)| {
        let results = program.run_blocking(&Place::from(&all.gpu), &[&images])?;
        Ok(results.report().clone())
    });
    let outcome = match blocking {
        Err(error) if error.kind() == "unsupported" => Ok(()),
        other => Err(format!("{other:?}")),
    };
    all.done("an image program that would block is refused", outcome);
}

/// A program that cuts the largest object out of each image and turns it, and counts the colours of the image after its
/// holes were filled; and two images, the second of which has no object.
fn objects() -> Result<(ImageProgram, Ragged<i32>)> {
    let program = ImageProgram::new(|r| {
        let x = r.input();
        let labels = x.label(LabelBy::Foreground, Neighbours::Four, 0);
        let objects = labels.regions(&x, 9);
        let largest = objects.sort_rows(&objects.column(0), true).row(0);
        r.output(&x.crop(&largest.columns_from(1, 5)).rotate(1));
        r.output(&x.fill_holes(0, 8).histogram(9));
    })?;
    let cells = vec![0, 5, 5, 5, 0, 5, 0, 5, 7, 0, 5, 5, 0, 0];
    let shapes = [Shape::new(&[3, 4])?, Shape::new(&[2, 1])?];
    Ok((program, Ragged::from_shapes(cells, 2, shapes)?))
}

async fn image_program(gpu: &Device) -> Result<Outcome> {
    let (program, images) = objects()?;
    let results = program.run(&Place::from(gpu), &[&images]).await?;
    let (objects, counts) = (results.images(0), results.images(1));
    let object = Shape::new(&[3, 3])?;
    let expected = objects.to_vecs()? == [vec![5, 5, 5, 5, 0, 5, 5, 5, 0], vec![]]
        && objects.shape(0) == object
        && counts.to_vecs()? == [[3, 0, 0, 0, 0, 7, 0, 1, 1], [2, 0, 0, 0, 0, 0, 0, 0, 0]]
        && results.is_valid(0, 0)
        && !results.is_valid(0, 1)
        && results.report().place == Machine::Gpu;
    Ok(match expected {
        true => Ok(()),
        false => Err(format!("{results:?}")),
    })
}

/// Products of a batch with one block-sparse matrix, where rows have one for each element, and a function of the
/// application's own.
async fn others(all: &Checks) {
    let topology = || {
        let blocks = [(0, 0), (0, 2), (2, 1), (3, 0), (3, 2)];
        Topology::new([64, 48], [16, 16], &blocks)
    };
    let sparse = |d: &Device| {
        let topology = topology()?;
        let values = (0..topology.len() * 256).map(|i| float((i * 7 % 19) as i32 - 9));
        d.upload_bsr(&Bsr::new(&topology, values.collect())?)
    };
    let dense = |d: &Device, shapes: &[&[usize]]| batch(d, &boxes(shapes)?, 5, float);
    checks! { all:
        "block-sparse product", async |d| sparse(d)?.matmul(&dense(d, &[&[48, 20], &[48, 3]])?);
        "block-sparse product, transposed", async |d| sparse(d)?.transpose().matmul(&dense(d, &[&[64, 7], &[64, 1]])?);
        "block-sparse product, from the right", async |d| dense(d, &[&[9, 64], &[1, 64]])?.matmul(&sparse(d)?);
        "function written by the application", async |d| {
            d.map1("3.0 * x + 1.0", |x: f32| 3.0 * x + 1.0)?.apply(&vectors(d, 1)?)
        };
    }
}

/// Everything that takes time in a browser but no kernel: transfers, views, programs, memory and errors.
async fn transfers(all: &Checks) {
    let gpu = all.gpu.clone();
    checks! { all:
        "a view", async |d| vectors(d, 1)?.elements(2..6)?.add(&vectors(d, 1)?.elements(2..6)?);
        // More than one buffer for uploads holds, and more than one for downloads.
        "20 MiB there and back", async |d| batch(d, &lengths(&[5 << 20, 3])?, 9, float);
    }
    let outcome = async {
        let x = vectors(&gpu, 1).map_err(|e| e.to_string())?;
        let refused = x
            .download_blocking()
            .map(|_| ())
            .map_err(|error| error.kind());
        match refused {
            Err("unsupported") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    };
    let outcome = outcome.await;
    all.done("a call that would block is refused", outcome);

    let many = async {
        // Read at the same time, in the opposite order.
        let parts: Result<Vec<_>> = (0..8).map(|seed| vectors(&gpu, seed)?.scale(2.0)).collect();
        let parts = parts?;
        let mut reads: Vec<_> = parts.iter().map(|x| Box::pin(x.download())).collect();
        let mut last = Vec::new();
        while let Some(read) = reads.pop() {
            last.push(read.await?);
        }
        for (seed, read) in (0..8).rev().zip(last) {
            let expected = vectors(&Device::cpu(), seed)?
                .scale(2.0)?
                .download()
                .await?;
            if read != expected {
                return Ok(Err(format!("batch {seed} differs")));
            }
        }
        Ok::<_, vsla::Error>(Ok(()))
    };
    let outcome = many.await.map_err(|e| e.to_string()).and_then(|done| done);
    all.done("several downloads at once", outcome);

    let late = async {
        let x = vectors(&gpu, 1).map_err(|error| error.to_string())?;
        let (buffer, _) = x.export().ok_or("there is no buffer")?;
        buffer.destroy();
        let y = x.scale(2.0).and_then(|y| y.add_scalar(1.0));
        match y.map_err(|error| error.to_string())?.download().await {
            Err(vsla::Error::NotComputed { .. }) => Ok(()),
            other => Err(format!("{:?}", other.map(|_| ()))),
        }
    };
    let outcome = late.await;
    all.done("an error that the browser reports late", outcome);
    let after = async |d: &Device| vectors(d, 1)?.scale(3.0);
    all.check("values after that error", after).await;
}

/// Has the browser compile every kernel that needs nothing beyond WebGPU's core.
async fn kernels(all: &Checks) {
    let gpu = all.gpu.clone();
    let Some((device, _)) = gpu.wgpu() else {
        return;
    };
    let mut reports = Vec::new();
    for (name, source) in vsla::device::kernels() {
        if source.contains("enable ") {
            continue;
        }
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let _module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&name),
            source: wgpu::ShaderSource::Wgsl(source.as_str().into()),
        });
        reports.push((name, scope.pop()));
    }
    for (name, report) in reports {
        let outcome = match report.await {
            None => Ok(()),
            Some(error) => Err(error.to_string()),
        };
        all.done(&format!("compiles {name}"), outcome);
    }
}
