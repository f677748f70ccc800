//! The table of operations, one file for each topic. A new operation is a new row.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use serde_json::Value;
use vsla::{Device, Layout, Shape, batch::MAX_RANK, scalar::DType};

use crate::batch::{Batch, separated, shown, written_size};
use crate::failure::{Failure, Result};
use crate::held::{Args, Held};
use crate::options::{self as opt, Opt};
use crate::request::{Options, Request};

pub struct Operation {
    pub name: &'static str,
    /// Number of batches that it takes.
    pub args: usize,
    pub options: &'static [Opt],
    /// The least and the most axes of the operands: of all of them, or of each.
    pub ranks: &'static [[usize; 2]],
    /// The shapes of the results.
    pub results: Results,
    pub about: &'static str,
    /// The methods that this row covers in addition to the method of the same name, each with the option that selects
    /// it.
    pub methods: &'static [(&'static str, &'static str)],
    /// Whether programs differentiate it with respect to floating-point operands, and where it is smooth.
    pub gradient: Gradient,
    /// The exact results, where each is computed from one value, or from a pair.
    pub reference: Reference,
    /// By what share of the largest value results on two devices may differ: of f32, and of f16.
    pub bound: [f64; 2],
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
    /// The rank of a request that names none, if several are possible and the JSON of an empty batch would not show it.
    pub rank: Option<usize>,
    pub run: Run,
}

/// What an operation does, and the types of the values that it takes.
#[derive(Clone, Copy)]
pub struct Run {
    types: &'static [DType],
    answer: fn(&mut Call<'_>) -> Result<Answer>,
}

impl Run {
    /// For whatever type a request names.
    const fn any(answer: fn(&mut Call<'_>) -> Result<Answer>) -> Run {
        let types = &TYPES;
        Run { types, answer }
    }
}

/// What most rows have.
const ROW: Operation = Operation {
    name: "",
    args: 1,
    options: &[],
    ranks: ANY_RANK,
    results: results::SAME,
    about: "",
    methods: &[],
    gradient: Gradient::Of(-2.0, 2.0),
    reference: Reference::None,
    bound: [2e-5, 4e-3],
    work: Work::Values,
    law: Law::All,
    is_local: true,
    reads_values: false,
    is_function: true,
    dtype: DType::F32,
    rank: None,
    run: Run::any(|_| unreachable!("every row has a function")),
};

/// What most rows have that round nothing.
const EXACT: Operation = ROW.exact();
/// The types of values.
pub const TYPES: [DType; 6] = [
    DType::F32,
    DType::F16,
    DType::I32,
    DType::U32,
    DType::U8,
    DType::C32,
];
const ANY_RANK: &[[usize; 2]] = &[[1, MAX_RANK]];
/// With room for another axis.
const STACKED: &[[usize; 2]] = &[[1, MAX_RANK - 1]];
/// With an axis to lose.
const STACKS: &[[usize; 2]] = &[[2, MAX_RANK]];
const VECTORS: &[[usize; 2]] = &[[1, 1]];
const MATRICES: &[[usize; 2]] = &[[2, 2]];
const HEADS: &[[usize; 2]] = &[[2, 3]];

impl Operation {
    /// The option of this name.
    pub fn option(&self, name: &str) -> Option<&'static Opt> {
        self.options.iter().find(|option| option.name == name)
    }

    pub fn takes(&self, option: &str) -> bool {
        self.option(option).is_some()
    }

    /// The types of values that it takes.
    pub fn types(&self) -> &'static [DType] {
        self.run.types
    }

    /// The least and the most axes of an operand.
    pub fn ranks_of(&self, arg: usize) -> RangeInclusive<usize> {
        let [least, most] = self.ranks[arg.min(self.ranks.len() - 1)];
        least..=most
    }

    /// The rank of a request that names none.
    pub fn default_rank(&self) -> Option<usize> {
        match self.ranks {
            &[[least, most]] if least == most && least > 1 => Some(least),
            _ => self.rank,
        }
    }

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

    /// Nothing is rounded, as where values are moved, compared or counted.
    const fn exact(self) -> Operation {
        Operation {
            bound: [0.0; 2],
            ..self
        }
    }

    /// The function of numbers.
    const fn being(self, reference: Reference) -> Operation {
        Operation { reference, ..self }
    }

    const fn of(self, dtype: DType) -> Operation {
        Operation { dtype, ..self }
    }

    const fn of_ranks(self, ranks: &'static [[usize; 2]]) -> Operation {
        Operation { ranks, ..self }
    }

    const fn giving(self, results: Results) -> Operation {
        Operation { results, ..self }
    }
}

/// A function of numbers that an operation computes value by value, in f64.
#[derive(Clone, Copy)]
pub enum Reference {
    /// There is none.
    None,
    /// Of a value, and of the options after the type and the rank.
    Map(fn(f64, [f64; 2]) -> f64),
    /// Of two values.
    Pair(fn(f64, f64) -> f64),
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

/// The bodies for arguments of these types. Each may name the type.
macro_rules! of_types {
    (|$call:ident, $device:ident, $args:ident| $([$($kind:ident)*] => $body:expr),+ $(,)?) => {
        $crate::operations::Run {
            types: &[$($(vsla::scalar::DType::$kind),*),+],
            answer: |$call| {
                let $device = $call.device()?;
                match &$call.args {
                    $($($crate::held::Args::$kind($args) => $body,)*)+
                    #[allow(unreachable_patterns, reason = "some operations take all types")]
                    _ => unreachable!("the types of requests are checked"),
                }
            },
        }
    };
}

/// The body for arguments of any type.
macro_rules! every {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 F16 I32 U32 U8 C32] => $body)
    };
}

/// The body for arguments of a type that has arithmetic.
macro_rules! typed {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 F16 I32 U32 C32] => $body)
    };
}

/// The body for arguments of a type of 32 bits that has arithmetic and an order.
macro_rules! real {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 I32 U32] => $body)
    };
}

/// The body for arguments of a type that has arithmetic and an order.
macro_rules! ordered {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 F16 I32 U32] => $body)
    };
}

/// The body for arguments of a type that has an order.
macro_rules! compared {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 F16 I32 U32 U8] => $body)
    };
}

/// The body for arguments of a floating-point type.
macro_rules! float {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32 F16] => $body)
    };
}

/// The body for arguments of f32.
macro_rules! single {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [F32] => $body)
    };
}

/// The body for complex arguments.
macro_rules! complex {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [C32] => $body)
    };
}

/// The body for arguments of a type of whole numbers.
macro_rules! pixels {
    (|$call:ident, $device:ident, $args:ident| $body:expr) => {
        of_types!(|$call, $device, $args| [I32 U32 U8] => $body)
    };
}

/// A method of two tensors, or of a pairing of them, that every type of `$types` has.
macro_rules! binary {
    ($types:ident, $method:ident) => {
        $types!(|call, device, args| {
            let (a, b) = (args[0].on(&device)?, args[1].on(&device)?);
            let result = match call.options.pairs()? {
                None => a.$method(&b)?,
                Some(pairs) => a.pair(&b, pairs.pairing())?.$method()?,
            };
            batch(result)
        })
    };
}

const UNARY: &[Opt] = &[opt::DTYPE, opt::RANK];
const BINARY: &[Opt] = &[opt::DTYPE, opt::RANK, opt::PAIRING];

// After the macros, which they use.
mod about;
mod along;
mod applied;
mod arithmetic;
mod attention;
mod complex;
mod components;
mod created;
mod divided;
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
mod results;
mod shape_matrices;
mod transforms;

pub use about::EXCEPTIONS;
pub use applied::pairs;
pub use divided::answer_divided;
pub use matrices::formed;
pub use recorded::{output, recorded};
pub use results::{Extents, Results, shapes};

macro_rules! topics {
    ($($topic:ident: $title:literal,)*) => {
        /// The titles of all topics, and their operations.
        pub const TOPICS: &[(&str, &[Operation])] = &[$(($title, $topic::ROWS)),*];
        /// Requests with their answers or errors, one a line.
        pub(crate) const EXAMPLES: &[&str] = &[
            include_str!("requests.jsonl"),
            $(include_str!(concat!(stringify!($topic), ".jsonl"))),*
        ];
    };
}
topics! {
    arithmetic: "Arithmetic, copies and types",
    complex: "Complex numbers",
    created: "Made on the device",
    functions: "Functions of two or three values",
    components: "Components of images",
    images: "Images",
    labels: "Labels",
    maps: "Functions of one value",
    places: "Places, shapes and batches",
    along: "Along an axis",
    pooling: "Pooling",
    reductions: "One value for each element or line",
    products: "Convolutions and products of elements",
    matrices: "Matrices",
    attention: "Attention",
    shape_matrices: "Matrices of vectors",
    transforms: "Transforms",
    gradient: "Gradients",
    about: "Files, devices and help",
}

/// Every operation.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    TOPICS.iter().flat_map(|(_, rows)| *rows)
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

impl Answer {
    /// Reads its batches from the device.
    async fn download(self) -> vsla::Result<Answer<Batch>> {
        let mut read = Vec::new();
        for held in self.clone().batches() {
            read.push(held.download().await?);
        }
        let mut read = read.into_iter();
        self.with(|_| Ok(read.next().expect("each batch was read")))
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

    /// What is written behind `ok`.
    pub fn json(&self) -> Value {
        let mut text = Vec::new();
        self.write(&mut text).expect("memory can be written to");
        let mut line: Value = serde_json::from_slice(&text).expect("what is written is JSON");
        line["ok"].take()
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

    /// The answer. In a browser, whose GPU cannot be waited for, operations that read values are refused.
    pub async fn run(&self, device: &Device, max_values: u64) -> Result<Answer<Batch>> {
        let task = self.0.clone();
        let operation = task.operation;
        let answer = task.run(max_values, &mut || Ok(device.clone()))?;
        read(operation, answer.download().await, max_values)
    }

    /// The same; blocks the thread.
    pub fn run_blocking(&self, device: &Device, max_values: u64) -> Result<Answer<Batch>> {
        answer_task(self.0.clone(), &mut || Ok(device.clone()), max_values)
    }
}

fn answer_task(task: Task, open: Open<'_>, max_values: u64) -> Result<Answer<Batch>> {
    let operation = task.operation;
    let answer = task.run(max_values, open)?;
    read(operation, answer.with(Held::download_blocking), max_values)
}

/// An answer that was read, unless it is too large.
fn read(
    operation: &Operation,
    answer: vsla::Result<Answer<Batch>>,
    max_values: u64,
) -> Result<Answer<Batch>> {
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
        let options = request.options.of(operation.options)?;
        let dtype = options.dtype("dtype", operation.dtype)?;
        if !operation.types().contains(&dtype) {
            return Err(Failure::dtype(operation.types(), dtype));
        }
        let rank = options.rank()?.or(operation.default_rank());
        Ok(Task {
            operation,
            args: Args::read(&request.args, dtype, rank)?,
            options,
        })
    }

    fn run(self, max_values: u64, open: Open<'_>) -> Result<Answer> {
        let mut call = Call {
            args: self.args,
            options: self.options,
            max_values,
            open,
        };
        let size = check_size(self.operation, &call);
        let answer = size.and_then(|()| (self.operation.run.answer)(&mut call));
        answer.map_err(|failure| failure.named(self.operation))
    }
}

/// Refuses an answer above the limit. Anything that the library refuses anyway passes.
fn check_size(operation: &Operation, call: &Call<'_>) -> Result<()> {
    let layouts: Vec<&Layout> = (0..call.args.len()).map(|i| call.layout(i)).collect();
    let Some(shapes) = operation.results.shapes(&call.options, &layouts) else {
        return Ok(());
    };
    let size = |extents: Option<Extents>| {
        let shape = Shape::new(&extents?).ok()?;
        Some(written_size(&shape))
    };
    let sizes = shapes
        .into_iter()
        .flatten()
        .map(|extents| size(extents).unwrap_or(1));
    within(call.max_values, &mut { sizes })
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
