//! The table of operations, one file for each topic. A new operation is a new row.

use std::io::{self, Write};

use serde_json::Value;
use vsla::{Complex32, Device, Layout, Shape, scalar::DType};

use crate::batch::{Batch, separated, shown, written_size};
use crate::failure::{Failure, Result};
use crate::held::{Arg, Args, Held};
use crate::request::{Options, Pairs, Request};

pub struct Operation {
    pub name: &'static str,
    /// Number of batches that it takes.
    pub args: usize,
    pub options: &'static [&'static str],
    pub grows: Grows,
    pub about: &'static str,
    /// The methods that this row covers in addition to the method of the same name, each with the option that selects
    /// it.
    pub methods: &'static [(&'static str, &'static str)],
    /// Whether programs differentiate it with respect to floating-point operands, and where it is smooth.
    pub gradient: Gradient,
    /// How much it does for operands of these sizes.
    pub work: Work,
    /// Whether it respects equivalence.
    pub law: Law,
    /// Whether each element of a result depends on a single element of each argument, or on a single pair.
    pub is_local: bool,
    /// Whether it reads values back, for instance to size its result. Programs cannot contain such operations.
    pub reads_values: bool,
    /// Whether the answer depends on the request alone, and not on files or on the machine.
    pub is_function: bool,
    /// The type of the values of a request that names none.
    pub dtype: DType,
    /// The rank of a request that names none, if the JSON of an empty batch would not show it.
    pub rank: Option<usize>,
    pub run: fn(&mut Call<'_>) -> Result<Answer>,
}

/// What most rows have.
const ROW: Operation = Operation {
    name: "",
    args: 1,
    options: &[],
    grows: Grows::No,
    about: "",
    methods: &[],
    gradient: Gradient::Of(-2.0, 2.0),
    work: Work::Values,
    law: Law::All,
    is_local: true,
    reads_values: false,
    is_function: true,
    dtype: DType::F32,
    rank: None,
    run: |_| unreachable!("every row has a function"),
};

impl Operation {
    /// Whether programs differentiate it.
    pub fn has_gradient(&self) -> bool {
        !matches!(self.gradient, Gradient::None(_))
    }
}

/// For rows that a macro makes.
impl Operation {
    const fn for_methods(self, methods: &'static [(&'static str, &'static str)]) -> Operation {
        Operation { methods, ..self }
    }

    const fn without_gradient(self, reason: &'static str) -> Operation {
        self.sloping(Gradient::None(reason))
    }

    const fn sloping(self, gradient: Gradient) -> Operation {
        Operation { gradient, ..self }
    }

    const fn counted(self, work: Work) -> Operation {
        Operation { work, ..self }
    }

    const fn respecting(self, law: Law) -> Operation {
        Operation { law, ..self }
    }

    /// Its results depend on the stored shapes of all arguments.
    const fn by_shape(self) -> Operation {
        self.respecting(Law::None)
    }

    const fn reading_values(self) -> Operation {
        Operation {
            reads_values: true,
            ..self
        }
    }

    const fn of(self, dtype: DType) -> Operation {
        Operation { dtype, ..self }
    }

    const fn of_rank(self, rank: usize) -> Operation {
        Operation {
            rank: Some(rank),
            ..self
        }
    }
}

/// Whether an operation has a gradient.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gradient {
    /// It is smooth where all values of its operands are in this range.
    Of(f32, f32),
    /// It is smooth where the magnitudes of all values are in this range.
    Beside(f32, f32),
    /// It is smooth where no two values of its operands are equal.
    Apart,
    /// Zeros: its results do not change with small changes of its operands.
    Zero,
    /// There is none, and why.
    None(&'static str),
}

/// For what positive values have, such as logarithms.
const POSITIVE: Gradient = Gradient::Of(0.5, 2.0);
/// With a kink, or a pole, at 0.
const BESIDE: Gradient = Gradient::Beside(0.5, 2.0);
const READS: Gradient = Gradient::None("it reads values");
const NO_OPERANDS: Gradient = Gradient::None("it has no operands");
/// Reasons why there is no gradient.
const WHOLE: &str = "its results are whole numbers";
const OF_INTEGERS: &str = "it takes whole numbers only";

/// What an operation counts against the work limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// About as many multiply-adds as an argument or the answer has values.
    Values,
    /// About as many as the answer has values, because it reads no more.
    Answer,
    /// More than that: about as many as tests count by hand.
    More,
    /// Nothing, because values stay where they are.
    Nothing,
}

/// The arguments for which an operation respects equivalence: elements that differ only in trailing zeros, on any axis,
/// give results that differ only in these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    All,
    Left,
    Right,
    /// Results depend on the stored shapes.
    None,
    /// The question does not apply, or options decide.
    Open,
}

/// How the size of the answer follows from the arguments, so that an answer over the limit is refused before any work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grows {
    /// No larger than the line, or checked by the operation itself.
    No,
    /// A number or two for each pair.
    Pair,
    /// The ambient shape of each pair.
    Ambient,
    /// The sum of the lengths of each pair.
    Lengths,
    /// The sum of the extents of each pair, at most.
    Sums,
    /// The product of the sizes of each pair.
    Sizes,
    /// A matrix for each pair.
    Product,
}

/// The body for whichever of these types the arguments have.
macro_rules! of_types {
    ($call:ident, [$($kind:ident)*], |$device:ident, $args:ident| $body:expr) => {{
        let $device = $call.device()?;
        match &$call.args {
            $(crate::held::Args::$kind($args) => $body,)*
            #[allow(unreachable_patterns, reason = "some operations take all types")]
            other => Err(crate::failure::Failure::dtype(
                &[$(vsla::scalar::DType::$kind),*],
                other.dtype(),
            )),
        }
    }};
}

/// The body for whichever type the arguments have.
macro_rules! every {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 I32 U32 F16 U8 C32], |$device, $args| $body)
    };
}

/// The body for whichever type the arguments have, if it has arithmetic.
macro_rules! typed {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 I32 U32 F16 C32], |$device, $args| $body)
    };
}

/// The body for whichever real type the arguments have.
macro_rules! real {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 I32 U32], |$device, $args| $body)
    };
}

/// The body for whichever type the arguments have, if its values have arithmetic and an order.
macro_rules! ordered {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 I32 U32 F16], |$device, $args| $body)
    };
}

/// The body for whichever type the arguments have, if its values have an order.
macro_rules! compared {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 I32 U32 F16 U8], |$device, $args| $body)
    };
}

/// The body for whichever floating-point type the arguments have.
macro_rules! float {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [F32 F16], |$device, $args| $body)
    };
}

/// The body for whichever type of whole numbers the arguments have.
macro_rules! pixels {
    ($call:ident, |$device:ident, $args:ident| $body:expr) => {
        of_types!($call, [I32 U32 U8], |$device, $args| $body)
    };
}

/// A method of two tensors, or of a pairing of them, that every type of `$types` has.
macro_rules! binary {
    ($types:ident, $method:ident) => {
        |call| {
            $types!(call, |device, args| {
                let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
                let result = match call.options.pairs()? {
                    None => a.$method(&b)?,
                    Some(pairs) => a.pair(&b, pairs.pairing())?.$method()?,
                };
                batch(result)
            })
        }
    };
}

const UNARY: &[&str] = &["dtype", "rank"];
const BINARY: &[&str] = &["dtype", "rank", "pairing"];

// After the macros, which they use.
mod about;
mod along;
mod arithmetic;
mod attention;
mod complex;
mod components;
mod created;
mod functions;
mod gradient;
mod images;
mod labels;
mod maps;
mod matrices;
mod places;
mod pooling;
mod products;
mod recorded;
mod reductions;
mod shape_matrices;
mod transforms;

pub use about::EXCEPTIONS;
pub use matrices::formed;
pub use recorded::recorded;
pub(crate) use {float, of_types};

macro_rules! topics {
    ($($topic:ident),*) => {
        const TOPICS: &[&[Operation]] = &[$($topic::ROWS),*];
        /// Requests with their answers or errors, one a line.
        pub(crate) const EXAMPLES: &[&str] = &[
            include_str!("requests.jsonl"),
            $(include_str!(concat!(stringify!($topic), ".jsonl"))),*
        ];
    };
}
topics!(
    arithmetic,
    complex,
    created,
    functions,
    components,
    images,
    labels,
    maps,
    places,
    along,
    pooling,
    reductions,
    products,
    matrices,
    attention,
    shape_matrices,
    transforms,
    gradient,
    about
);

/// Every operation.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    TOPICS.iter().copied().flatten()
}

/// The operation of this name.
pub fn find(name: &str) -> Option<&'static Operation> {
    operations().find(|operation| operation.name == name)
}

/// The inputs of an operation.
pub struct Call<'a> {
    pub args: Args,
    pub options: Options,
    pub max_values: u64,
    open: Open<'a>,
}

/// Opens the device that a request runs on, when its operation first needs one.
pub type Open<'a> = &'a mut dyn FnMut() -> Result<Device>;

impl Call<'_> {
    pub fn device(&mut self) -> Result<Device> {
        (self.open)()
    }

    /// The layout of an argument.
    fn layout(&self, i: usize) -> &Layout {
        self.args.layout(i)
    }
}

/// The result of an operation: on the device, or read from there.
#[derive(Clone, Debug)]
pub enum Answer<B = Held> {
    Batch(B),
    Batches(Vec<B>),
    Fields([(&'static str, B); 2]),
    Truths(Vec<bool>),
    /// A few numbers for each element.
    Json(Value),
    /// Text about the program, a device or a file, whose size does not depend on the batch.
    About(Value),
}

impl<A> Answer<A> {
    /// The same answer with other batches, which are made one by one.
    fn with<B, E>(
        self,
        mut each: impl FnMut(A) -> core::result::Result<B, E>,
    ) -> core::result::Result<Answer<B>, E> {
        Ok(match self {
            Answer::Batch(batch) => Answer::Batch(each(batch)?),
            Answer::Batches(all) => Answer::Batches(
                all.into_iter()
                    .map(each)
                    .collect::<core::result::Result<_, E>>()?,
            ),
            Answer::Fields([(a_name, a), (b_name, b)]) => {
                Answer::Fields([(a_name, each(a)?), (b_name, each(b)?)])
            }
            Answer::Truths(truths) => Answer::Truths(truths),
            Answer::Json(value) => Answer::Json(value),
            Answer::About(value) => Answer::About(value),
        })
    }

    /// Its batches.
    pub fn batches(self) -> Vec<A> {
        match self {
            Answer::Batch(batch) => vec![batch],
            Answer::Batches(all) => all,
            Answer::Fields(fields) => fields.map(|(_, batch)| batch).into(),
            Answer::Truths(_) | Answer::Json(_) | Answer::About(_) => Vec::new(),
        }
    }
}

impl Answer<Batch> {
    /// The numbers and arrays needed to write it.
    fn size(&self) -> u64 {
        match self {
            Answer::Batch(batch) => batch.size(),
            Answer::Batches(all) => all.iter().map(Batch::size).fold(0, u64::saturating_add),
            Answer::Fields([(_, a), (_, b)]) => a.size().saturating_add(b.size()),
            Answer::Truths(truths) => truths.len() as u64,
            Answer::Json(value) => json_size(value),
            Answer::About(_) => 0,
        }
    }

    /// Writes `{"ok": ..}`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"ok\":")?;
        match self {
            Answer::Batch(batch) => batch.write(out)?,
            Answer::Batches(all) => separated(out, all.iter(), |out, batch| batch.write(out))?,
            Answer::Fields([(a_name, a), (b_name, b)]) => {
                write!(out, "{{\"{a_name}\":")?;
                a.write(out)?;
                write!(out, ",\"{b_name}\":")?;
                b.write(out)?;
                out.write_all(b"}")?;
            }
            Answer::Truths(truths) => separated(out, truths.iter(), |out, t| write!(out, "{t}"))?,
            Answer::Json(value) | Answer::About(value) => write!(out, "{value}")?,
        }
        out.write_all(b"}")
    }
}

/// The numbers and arrays in a JSON value.
fn json_size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(json_size).sum::<u64>(),
        Value::Object(members) => members.values().map(json_size).sum(),
        _ => 1,
    }
}

/// Answers one request.
pub fn answer(request: Request, open: Open<'_>, max_values: u64) -> Result<Answer<Batch>> {
    answer_task(Task::new(request)?, open, max_values)
}

/// A request whose arguments are read, to run any number of times.
#[derive(Clone)]
pub struct Prepared(Task);

impl Prepared {
    pub fn new(request: Request) -> Result<Prepared> {
        Task::new(request).map(Prepared)
    }

    /// With arguments that are on the device, as views of larger batches, in which so many values are before them.
    pub fn on_views(self, device: &Device, before: usize) -> Result<Prepared> {
        let args = self.0.args.on_views(device, before)?;
        Ok(Prepared(Task { args, ..self.0 }))
    }

    pub fn run(&self, device: &Device, max_values: u64) -> Result<Answer<Batch>> {
        answer_task(self.0.clone(), &mut || Ok(device.clone()), max_values)
    }
}

fn answer_task(task: Task, open: Open<'_>, max_values: u64) -> Result<Answer<Batch>> {
    let operation = task.operation;
    let answer = task.run(max_values, open)?;
    let answer = answer.with(Held::download);
    let answer = answer.map_err(|error| Failure::from(error).named(operation))?;
    // Catches anything that the estimate missed, and answers that are as large as the line.
    within(max_values, &mut [answer.size()].into_iter())
        .map_err(|failure| failure.named(operation))?;
    Ok(answer)
}

/// A request whose operation, options and arguments are known.
#[derive(Clone)]
struct Task {
    operation: &'static Operation,
    args: Args,
    options: Options,
}

impl Task {
    fn new(request: Request) -> Result<Task> {
        let Some(operation) = find(&request.op) else {
            return Err(Failure::request(format!(
                "unknown operation {}: try {{\"op\": \"help\"}}",
                shown(&Value::String(request.op))
            )));
        };
        Task::of(operation, request).map_err(|failure| failure.named(operation))
    }

    fn of(operation: &'static Operation, request: Request) -> Result<Task> {
        let args = operation.args;
        if request.args.len() != args {
            return Err(Failure::request(format!(
                "expected {args} argument{}, got {}",
                if args == 1 { "" } else { "s" },
                request.args.len()
            )));
        }
        request.options.check(operation.options)?;
        let dtype = request.options.dtype("dtype", operation.dtype)?;
        let rank = request.options.rank()?.or(operation.rank);
        Ok(Task {
            operation,
            args: Args::read(&request.args, dtype, rank)?,
            options: request.options,
        })
    }

    fn run(self, max_values: u64, open: Open<'_>) -> Result<Answer> {
        let mut call = Call {
            args: self.args,
            options: self.options,
            max_values,
            open,
        };
        let size = check_size(self.operation.grows, &call);
        let answer = size.and_then(|()| (self.operation.run)(&mut call));
        answer.map_err(|failure| failure.named(self.operation))
    }
}

/// Refuses an answer above the limit. Anything that the library refuses anyway passes.
fn check_size(grows: Grows, call: &Call<'_>) -> Result<()> {
    if grows == Grows::No {
        return Ok(());
    }
    let (a, b) = (call.layout(0), call.layout(1));
    let transposed = call.options.transposed()?;
    if grows == Grows::Ambient && (call.options.each()? || call.options.optional_axis()?.is_some())
    {
        // As large as an operand.
        return Ok(());
    }
    let size = |i: usize, j: usize| match grows {
        Grows::No | Grows::Pair => 2,
        Grows::Ambient => a
            .shape(i)
            .ambient(&b.shape(j))
            .map_or(1, |shape| written_size(&shape)),
        Grows::Lengths => summed(a.shape(i), b.shape(j)),
        Grows::Sums => summed(a.shape(i), b.shape(j)),
        Grows::Sizes => written_size(&a.shape(i)).saturating_mul(written_size(&b.shape(j))),
        Grows::Product => product_size(a.shape(i), b.shape(j), transposed),
    };
    let pairs = call.options.pairs()?;
    within_pairs(call.max_values, pairs.as_ref(), [a.len(), b.len()], size)
}

/// Refuses pairs whose sizes add up to more than the limit.
fn within_pairs(
    limit: u64,
    pairs: Option<&Pairs>,
    [a, b]: [usize; 2],
    size: impl Fn(usize, usize) -> u64,
) -> Result<()> {
    let size = &size;
    match pairs {
        None => within(limit, &mut (0..a.min(b)).map(|i| size(i, i))),
        Some(Pairs::OneToAll) if a == 0 => Ok(()),
        Some(Pairs::OneToAll) => within(limit, &mut (0..b).map(|j| size(0, j))),
        Some(Pairs::AllToOne) if b == 0 => Ok(()),
        Some(Pairs::AllToOne) => within(limit, &mut (0..a).map(|i| size(i, 0))),
        Some(Pairs::AllToAll) => {
            let row = |i| (0..b).map(move |j| size(i, j));
            within(limit, &mut (0..a).flat_map(row))
        }
        Some(Pairs::List(pairs)) => {
            let pairs = pairs.as_slice().iter();
            let pairs = pairs.map(|&(i, j)| (i as usize, j as usize));
            let valid = pairs.filter(|&(i, j)| i < a && j < b);
            within(limit, &mut { valid }.map(|(i, j)| size(i, j)))
        }
    }
}

/// The size of a result that has the sum of both extents on every axis.
fn summed(a: Shape, b: Shape) -> u64 {
    let extents = a.extents().iter().zip(b.extents());
    let extents: Vec<_> = extents.map(|(&a, &b)| a as usize + b as usize).collect();
    Shape::new(&extents).map_or(1, |shape| written_size(&shape))
}

/// The size of a product of these shapes when written.
fn product_size(a: Shape, b: Shape, transposed: [bool; 2]) -> u64 {
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (a.extents(), b.extents()) else {
        return 1;
    };
    let rows = if transposed[0] { a_columns } else { a_rows };
    let columns = if transposed[1] { b_rows } else { b_columns };
    Shape::new(&[rows as usize, columns as usize]).map_or(u64::MAX, |shape| written_size(&shape))
}

/// Refuses sizes that add up to more than the limit.
pub fn within(limit: u64, sizes: &mut dyn Iterator<Item = u64>) -> Result<()> {
    let mut left = limit;
    for size in sizes {
        left = left.checked_sub(size).ok_or_else(|| {
            let message = format!("the answer has more than {limit} values: raise --max-values");
            Failure::new("limit", message)
        })?;
    }
    Ok(())
}

pub fn batch(batch: impl Into<Held>) -> Result<Answer> {
    Ok(Answer::Batch(batch.into()))
}

/// The device and the arguments, for operations on f32 only.
pub fn floats<'a>(call: &'a mut Call<'_>) -> Result<(Device, &'a [Arg<f32>])> {
    let device = call.device()?;
    match &call.args {
        Args::F32(args) => Ok((device, args)),
        other => Err(Failure::dtype(&[DType::F32], other.dtype())),
    }
}

/// The device and the arguments, for operations on complex values only.
fn complex<'a>(call: &'a mut Call<'_>) -> Result<(Device, &'a [Arg<Complex32>])> {
    let device = call.device()?;
    match &call.args {
        Args::C32(args) => Ok((device, args)),
        other => Err(Failure::dtype(&[DType::C32], other.dtype())),
    }
}
