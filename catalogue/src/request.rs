//! One line: `{"op": .., "args": [..], "options": {..}, "device": ..}`.

use serde_json::{Map, Value};
use vsla::{
    Pairing, Ragged, Shape,
    batch::{MAX_RANK, PairList, Remainder, Side},
    conv::{ConvMethod, ConvMode},
    product::Activation,
    scalar::DType,
};

use crate::batch::{Number, shown};
use crate::failure::{Failure, Result};
use crate::operations::find;

#[derive(Debug)]
pub struct Request {
    pub op: String,
    pub args: Vec<Value>,
    pub options: Options,
    /// The device's name. The caller opens the device.
    pub device: Option<String>,
}

impl Request {
    pub fn parse(line: &[u8]) -> Result<Request> {
        let bad = |message: String| Failure::new("bad_json", message);
        let text = core::str::from_utf8(line)
            .map_err(|error| bad(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
        if text.trim().is_empty() {
            return Err(bad("the line is empty".to_owned()));
        }
        Request::new(serde_json::from_str(text).map_err(|error| bad(error.to_string()))?)
    }

    pub fn new(value: Value) -> Result<Request> {
        let Value::Object(fields) = value else {
            return Err(Failure::request(format!(
                "expected an object, got {}",
                shown(&value)
            )));
        };
        let named = fields.get("op").and_then(Value::as_str).and_then(find);
        let request = Request::of(fields);
        match named {
            Some(operation) => request.map_err(|failure| failure.named(operation)),
            None => request,
        }
    }

    fn of(fields: Map<String, Value>) -> Result<Request> {
        let mut op = None;
        let mut args = Vec::new();
        let mut options = Map::new();
        // What a gradient is taken of stands beside `op`.
        let mut beside = Map::new();
        let mut device = None;
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("op", Value::String(name)) => op = Some(name),
                ("args", Value::Array(items)) => args = items,
                ("options", Value::Object(fields)) => options = fields,
                ("device", Value::String(name)) => device = Some(name),
                ("of" | "cotangent" | "operands", value) => {
                    beside.insert(name, value);
                }
                ("op" | "device", other) => return Err(unexpected(&name, "a string", &other)),
                ("args", other) => return Err(unexpected(&name, "an array of batches", &other)),
                ("options", other) => return Err(unexpected(&name, "an object", &other)),
                _ => {
                    return Err(Failure::request(format!(
                        "unknown field {}: expected op, args, options, device",
                        shown(&Value::String(name))
                    )));
                }
            }
        }
        options.append(&mut beside);
        Ok(Request {
            op: op.ok_or_else(|| Failure::request("op is missing: try {\"op\": \"help\"}"))?,
            args,
            options: Options(options),
            device,
        })
    }
}

/// An option that is not what [`OPTIONS`] says before its meaning.
pub fn wrong(name: &str, got: &Value) -> Failure {
    let about = OPTIONS.iter().find(|(option, _)| *option == name);
    let form = about.map_or("another value", |(_, about)| {
        about.split(": ").next().unwrap_or(about)
    });
    unexpected(name, form, got)
}

pub fn unexpected(name: &str, expected: &str, got: &Value) -> Failure {
    Failure::request(format!("{name}: expected {expected}, got {}", shown(got)))
}

/// Options that may list one item for each element of the arguments.
pub const OF_ELEMENTS: &[&str] = &[
    "factors",
    "shifts",
    "table",
    "boxes",
    "lines",
    "values",
    "flags",
    "lengths",
    "shapes",
    "labels",
    "ids",
    "targets",
    "indices",
    "positions",
    "cached",
    "bias",
    "residual",
];

/// Every option, for `help`.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "dtype",
        "\"f32\" (default, except for complex transforms, c32, and operations on integers, i32), \"i32\", \"u32\", \"f16\", \
         \"u8\" or \"c32\", complex: the type of the values",
    ),
    (
        "rank",
        "1 to 8, needed if the arrays do not show it; default: the nesting depth of the numbers",
    ),
    (
        "pairing",
        "\"one_to_all\", \"all_to_one\", \"all_to_all\" or [[left, right], ..]; default: element by element",
    ),
    (
        "method",
        "\"auto\" (default), \"direct\", \"fft\" or \"overlap_save\": the convolution method",
    ),
    (
        "transpose",
        "\"left\", \"right\" or \"both\": the factors to transpose",
    ),
    (
        "scale",
        "a number: the factor of all sums (f32 or f16, like the next three); for attention of the products, by default \
         1 / sqrt of the values of a head",
    ),
    (
        "bias",
        "[[number, ..], ..]: one vector added to all rows, or one per right matrix; for attention a batch of (queries, \
         keys) or (heads, queries, keys)",
    ),
    (
        "activation",
        "\"relu\" or \"gelu\": the function applied to each value",
    ),
    ("residual", "matrices of the answer's shapes, added last"),
    (
        "sparse",
        "\"left\" or \"right\" (default): the block-sparse factor",
    ),
    (
        "block",
        "[rows, columns] of a block, each 8 (default), 16, 32, 48, 64, 96 or 128",
    ),
    (
        "tolerance",
        "a number, 0 by default: blocks without a larger absolute value are dropped",
    ),
    (
        "blocks",
        "[[row, column], ..]: the blocks to compute, in units of blocks; all by default; for attention of (queries, \
         keys)",
    ),
    ("file", "the path of a .vsla file"),
    ("factor", "a number"),
    (
        "factors",
        "[[rows, columns], ..]: numbers for all images, or for each",
    ),
    (
        "shifts",
        "[[down, right], ..]: the shift of all images, or of each",
    ),
    ("turns", "an integer: quarter turns anticlockwise"),
    (
        "table",
        "[[number, ..], ..]: a table for all elements, or one for each",
    ),
    (
        "table_dtype",
        "the type of the numbers of a table, by default that of the values",
    ),
    (
        "boxes",
        "[[top, left, bottom, right], ..]: a box for each element, half open; for draw_boxes, a list of boxes",
    ),
    (
        "lines",
        "[[[row, column, last row, last column], ..], ..]: the lines of each element",
    ),
    (
        "values",
        "[[number, ..], ..]: for each element, the value of each of its boxes or lines",
    ),
    (
        "strict",
        "true: boxes must lie inside of their images; values must have an entry in their table, or a bin",
    ),
    (
        "flags",
        "[[number, ..], ..]: for each slice of each element, 0 to remove it",
    ),
    ("negative_slope", "a number, 0.01 by default"),
    ("exponent", "a number"),
    ("min", "a number: the lower bound"),
    ("max", "a number: the upper bound"),
    ("places", "0 to 31: the shift distance"),
    ("value", "a number, or [re, im] for type c32"),
    (
        "lengths",
        "[n, ..]: the number of values of each element of the answer",
    ),
    ("shapes", "[[extent, ..], ..]: the shape of each element"),
    (
        "start",
        "[index, ..]: the first index along each axis, which may be negative",
    ),
    (
        "end",
        "[index, ..]: the index after the last, along each axis",
    ),
    (
        "widths",
        "[[before, after], ..]: the number of zeros along each axis",
    ),
    ("axes", "[axis, ..], from 0"),
    (
        "axis",
        "an axis; default: 0, or the whole element for reductions",
    ),
    (
        "each",
        "true: the last argument has one value per element, or one in all, combined with all values of the other's \
         (with \"axis\": a vector along it)",
    ),
    (
        "eps",
        "a number, 1e-5 by default: added to a variance; for normalize 1e-12, the least norm",
    ),
    (
        "groups",
        "a number of groups: of channels, 1 by default; or of elements, by default as many as labels need",
    ),
    ("labels", "[group, ..]: the group of each element"),
    ("k", "how many values of each line"),
    (
        "at_most",
        "true: all values of lines that have fewer than k",
    ),
    ("descending", "true: the largest value first"),
    ("q", "a number from 0, for the least value, to 1"),
    ("elements", "[index, ..]: elements by their indices"),
    (
        "inner",
        "the columns of the left matrix and rows of the right matrix",
    ),
    ("columns", "columns of the matrices, at least 1"),
    ("counts", "[count, ..]: the number of elements in each part"),
    (
        "size",
        "the number of elements of a window; for hann_window of values",
    ),
    (
        "stride",
        "the number of elements from the start of one window to the start of the next",
    ),
    ("sizes", "[size, ..]: the window size of each level"),
    (
        "flush",
        "\"discard\" (default) or \"pad\": what to do with an incomplete last group of a level",
    ),
    (
        "mode",
        "\"full\" (default), \"same\", \"valid\" or \"causal\": which results of a convolution to keep",
    ),
    (
        "side",
        "\"left\" or \"right\": the argument whose extents a mode takes; needed if the left one is the shorter of a pair",
    ),
    (
        "strides",
        "[stride, ..]: keep every s-th result along each axis; default: 1, or the window for pooling",
    ),
    ("depth", "a whole number: the length of a row"),
    (
        "background",
        "a whole number, 0 by default: cells that belong to no component",
    ),
    (
        "foreground",
        "true: all values but the background are alike",
    ),
    ("diagonal", "true: the diagonal cells are neighbours, too"),
    ("ids", "[[id, ..], ..]: the rows of a table, from 0"),
    (
        "targets",
        "[[index, ..], ..]: the index of the right score of each row",
    ),
    (
        "ranges",
        "[[start, end, step], ..] for each axis as in start:end:step, with null for what is left out",
    ),
    ("from", "a number: the first value; for arange 0 by default"),
    ("to", "a number: the last value"),
    ("step", "a number: the difference of two values"),
    ("low", "a number: the least value"),
    ("high", "a number above all values"),
    ("mean", "a number: the mean"),
    ("deviation", "a number: the standard deviation"),
    ("p", "a number from 0 to below 1: the probability of zero"),
    (
        "seed",
        "a whole number, 0 by default: another seed gives other random values",
    ),
    (
        "window",
        "[extent] or [rows, columns] of a window of the last axes; for stft and istft the values of the window; for \
         attention [before, after], the keys around a query's position that count, with null for all",
    ),
    (
        "hop",
        "the number of values from the start of one frame to the start of the next",
    ),
    (
        "indices",
        "[[index, ..], ..]: a list of row indices for each element",
    ),
    (
        "range",
        "[start, end]: the elements from start to before end; for histogram the ends of the bins, both included",
    ),
    ("bins", "the number of bins"),
    (
        "edges",
        "[number, ..]: the edges of the bins, increasing, instead of bins and range",
    ),
    (
        "heads",
        "the number of heads that matrices hold side by side; 1 by default",
    ),
    ("base", "the base of rotary's angles; 10,000 by default"),
    (
        "position",
        "the position of the first row of each element; 0 by default",
    ),
    (
        "positions",
        "[n, ..] for each element: the position of its first row, to which position is added",
    ),
    (
        "neighbours",
        "true: pairs are neighbouring values, instead of values half a head apart",
    ),
    (
        "key_heads",
        "the number of heads of keys and values; by default as many as heads",
    ),
    (
        "causal",
        "true: keys after the query's position do not count; the last query is at the last key",
    ),
    (
        "top_left",
        "true: the first query is at the first key instead, for all masks and slopes",
    ),
    (
        "cached",
        "[n, ..] for each element: keys and values are a cache whose first n rows are in use; not with a bias",
    ),
    (
        "softcap",
        "a number above 0: scores s become cap tanh(s / cap)",
    ),
    (
        "slopes",
        "[slope, ..] for each head: slope times the distance of a key is subtracted from its score",
    ),
    (
        "sinks",
        "[sink, ..] for each head: exp(sink) is added to the denominator of each row",
    ),
    (
        "lse",
        "true: answers {\"o\": .., \"lse\": ..}, with log of the sum of the scores' exponentials",
    ),
    (
        "of",
        "{\"op\": .., \"args\": [..], \"options\": {..}}: the operation to differentiate, which may be a gradient",
    ),
    (
        "cotangent",
        "a batch like the result, by default of ones; an array of batches if there are several results",
    ),
    (
        "operands",
        "[index, ..]: the arguments to differentiate with respect to; all by default",
    ),
];

/// Start, end and step of a slice along one axis.
pub type Cut = (Option<i64>, Option<i64>, i64);

#[derive(Clone, Default, Debug)]
pub struct Options(pub Map<String, Value>);

/// A pairing that owns its list.
#[derive(Clone, PartialEq, Debug)]
pub enum Pairs {
    OneToAll,
    AllToOne,
    AllToAll,
    List(PairList),
}

impl Pairs {
    pub fn pairing(&self) -> Pairing<'_> {
        match self {
            Pairs::OneToAll => Pairing::OneToAll,
            Pairs::AllToOne => Pairing::AllToOne,
            Pairs::AllToAll => Pairing::AllToAll,
            Pairs::List(pairs) => Pairing::List(pairs),
        }
    }
}

impl Options {
    /// Refuses an option that the operation does not take.
    pub fn check(&self, taken: &[&str]) -> Result<()> {
        match self.0.keys().find(|name| !taken.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Failure::request(format!(
                "unknown option {}: expected {}",
                shown(&Value::String(name.clone())),
                match taken {
                    [] => "none".to_owned(),
                    _ => taken.join(", "),
                }
            ))),
        }
    }

    pub fn required(&self, name: &str) -> Result<&Value> {
        self.0
            .get(name)
            .ok_or_else(|| Failure::request(format!("the option {name} is missing")))
    }

    /// A type of numbers.
    pub fn dtype(&self, name: &str, default: DType) -> Result<DType> {
        const TYPES: [DType; 6] = [
            DType::F32,
            DType::I32,
            DType::U32,
            DType::F16,
            DType::U8,
            DType::C32,
        ];
        let named = TYPES.map(|dtype| (dtype.name(), dtype));
        Ok(self.one_of(name, &named)?.unwrap_or(default))
    }

    /// The value with this name, if the option is given.
    fn one_of<T: Copy>(&self, name: &str, named: &[(&str, T)]) -> Result<Option<T>> {
        let one = |value: &Value| named.iter().find(|(name, _)| value == name);
        let one = |value: &Value| one(value).map(|(_, one)| *one);
        self.read(name, one)
    }

    /// What this reads from an option, if it is given.
    fn read<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>> {
        let value = self.0.get(name);
        value
            .map(|value| read(value).ok_or_else(|| wrong(name, value)))
            .transpose()
    }

    /// What this reads from an option.
    fn needed<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T> {
        let value = self.required(name)?;
        read(value).ok_or_else(|| wrong(name, value))
    }

    pub fn rank(&self) -> Result<Option<usize>> {
        let rank = |value: &Value| size(value).filter(|rank| (1..=MAX_RANK).contains(rank));
        self.read("rank", rank)
    }

    /// A number of the values' type.
    pub fn number<T: Number>(&self, name: &str) -> Result<T> {
        T::read(self.required(name)?).map_err(|wrong| Failure::request(format!("{name}: {wrong}")))
    }

    /// The same, if the option is given.
    pub fn optional<T: Number>(&self, name: &str) -> Result<Option<T>> {
        match self.0.contains_key(name) {
            true => self.number(name).map(Some),
            false => Ok(None),
        }
    }

    /// A number of a parameter of type f64, of which the values' type would lose digits.
    pub fn double(&self, name: &str) -> Result<f64> {
        self.needed(name, |value| {
            value.as_f64().filter(|number| number.is_finite())
        })
    }

    /// The same, if the option is given.
    pub fn optional_double(&self, name: &str) -> Result<Option<f64>> {
        match self.0.contains_key(name) {
            true => self.double(name).map(Some),
            false => Ok(None),
        }
    }

    /// A required text.
    pub fn text(&self, name: &str) -> Result<String> {
        self.needed(name, |value| value.as_str().map(str::to_owned))
    }

    /// Which factors are transposed.
    pub fn transposed(&self) -> Result<[bool; 2]> {
        let sides = [
            ("left", [true, false]),
            ("right", [false, true]),
            ("both", [true, true]),
        ];
        Ok(self.one_of("transpose", &sides)?.unwrap_or_default())
    }

    pub fn activation(&self) -> Result<Activation> {
        let named = [("relu", Activation::Relu), ("gelu", Activation::Gelu)];
        Ok(self
            .one_of("activation", &named)?
            .unwrap_or(Activation::Identity))
    }

    pub fn range(&self) -> Result<core::ops::Range<usize>> {
        self.needed("range", |value| match whole_numbers(value)?.as_slice() {
            &[start, end] => Some(start..end),
            _ => None,
        })
    }

    /// Whether the option is given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A list of numbers of the values' type, if the option is given.
    pub fn list<T: Number>(&self, name: &str) -> Result<Option<Vec<T>>> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let items = value.as_array();
        let items = items.ok_or_else(|| wrong(name, value))?;
        let numbers = items
            .iter()
            .map(T::read)
            .collect::<core::result::Result<_, _>>();
        let named = |wrong| Failure::request(format!("{name}: {wrong}"));
        numbers.map(Some).map_err(named)
    }

    /// The two ends of a range of numbers.
    pub fn ends<T: Number>(&self) -> Result<[T; 2]> {
        let value = self.required("range")?;
        let ends = self.list("range")?.unwrap_or_default();
        <[T; 2]>::try_from(ends).map_err(|_| wrong("range", value))
    }

    pub fn lengths(&self) -> Result<Vec<usize>> {
        self.needed("lengths", whole_numbers)
    }

    /// Signed integers.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        self.needed(name, |value| {
            value.as_array()?.iter().map(Value::as_i64).collect()
        })
    }

    pub fn axes(&self) -> Result<Option<Vec<usize>>> {
        self.read("axes", whole_numbers)
    }

    /// Start, end and step of a slice, for each axis.
    pub fn ranges(&self) -> Result<Vec<Cut>> {
        let place = |item: &Value| match item {
            Value::Null => Some(None),
            item => item.as_i64().map(Some),
        };
        let one = |item: &Value| match item.as_array()?.as_slice() {
            [start, end, step] => Some((place(start)?, place(end)?, step.as_i64()?)),
            _ => None,
        };
        self.needed("ranges", |value| {
            value.as_array()?.iter().map(one).collect()
        })
    }

    /// The padding before and after, for each axis.
    pub fn widths(&self) -> Result<Vec<(usize, usize)>> {
        let both = |item: &Value| match whole_numbers(item)?.as_slice() {
            &[before, after] => Some((before, after)),
            _ => None,
        };
        self.needed("widths", |value| {
            value.as_array()?.iter().map(both).collect()
        })
    }

    pub fn axis(&self) -> Result<usize> {
        Ok(self.optional_axis()?.unwrap_or(0))
    }

    /// Whether the last argument has one value an element.
    pub fn each(&self) -> Result<bool> {
        self.flag("each")
    }

    /// Whether an option is true.
    pub fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.read(name, Value::as_bool)?.unwrap_or(false))
    }

    pub fn optional_axis(&self) -> Result<Option<usize>> {
        self.read("axis", size)
    }

    /// Indices of elements.
    pub fn elements(&self) -> Result<Vec<u32>> {
        self.needed("elements", words)
    }

    pub fn labels(&self) -> Result<Vec<u32>> {
        self.needed("labels", words)
    }

    pub fn inner(&self) -> Result<usize> {
        self.size("inner")
    }

    pub fn size(&self, name: &str) -> Result<usize> {
        self.needed(name, size)
    }

    pub fn seed(&self) -> Result<u64> {
        Ok(self.read("seed", Value::as_u64)?.unwrap_or(0))
    }

    pub fn columns(&self) -> Result<usize> {
        self.size("columns")
    }

    pub fn counts(&self) -> Result<Vec<usize>> {
        self.needed("counts", whole_numbers)
    }

    pub fn sizes(&self) -> Result<Vec<usize>> {
        self.needed("sizes", whole_numbers)
    }

    pub fn window(&self) -> Result<Vec<usize>> {
        self.needed("window", whole_numbers)
    }

    /// The values of a window.
    pub fn weights(&self) -> Result<Vec<f32>> {
        self.required("window")?;
        Ok(self.list("window")?.unwrap_or_default())
    }

    pub fn flush(&self) -> Result<Remainder> {
        let named = [("discard", Remainder::Discard), ("pad", Remainder::Pad)];
        Ok(self.one_of("flush", &named)?.unwrap_or(Remainder::Discard))
    }

    pub fn mode(&self) -> Result<ConvMode> {
        let named = [
            ("full", ConvMode::Full),
            ("same", ConvMode::Same),
            ("valid", ConvMode::Valid),
            ("causal", ConvMode::Causal),
        ];
        Ok(self.one_of("mode", &named)?.unwrap_or(ConvMode::Full))
    }

    pub fn side(&self) -> Result<Option<Side>> {
        self.one_of("side", &[("left", Side::Left), ("right", Side::Right)])
    }

    pub fn strides(&self) -> Result<Option<Vec<usize>>> {
        self.read("strides", whole_numbers)
    }

    /// A list of indices for each element.
    pub fn indices(&self) -> Result<Ragged<u32>> {
        batch("indices", self.required("indices")?, 1)
    }

    /// A batch of this rank.
    pub fn required_batch<T: Number>(&self, name: &str, rank: usize) -> Result<Ragged<T>> {
        batch(name, self.required(name)?, rank)
    }

    /// A batch of this rank, if the option is given.
    pub fn batch<T: Number>(&self, name: &str, rank: usize) -> Result<Option<Ragged<T>>> {
        let read = |value| batch(name, value, rank);
        self.0.get(name).map(read).transpose()
    }

    pub fn pairs(&self) -> Result<Option<Pairs>> {
        let value = match self.0.get("pairing") {
            None => return Ok(None),
            Some(value) => value,
        };
        Ok(Some(match value {
            Value::String(name) if name == "one_to_all" => Pairs::OneToAll,
            Value::String(name) if name == "all_to_one" => Pairs::AllToOne,
            Value::String(name) if name == "all_to_all" => Pairs::AllToAll,
            Value::Array(items) => {
                let pair = |(i, item)| pair(item).ok_or((i, item));
                let pairs = items.iter().enumerate().map(pair);
                let pairs = pairs.collect::<core::result::Result<Vec<_>, _>>();
                let pairs = pairs.map_err(|(i, item)| Failure {
                    element: Some(i),
                    ..unexpected(
                        &format!("pairing: pair {i}"),
                        "[left, right], two indices",
                        item,
                    )
                })?;
                Pairs::List(PairList::new(pairs)?)
            }
            other => return Err(wrong("pairing", other)),
        }))
    }

    pub fn method(&self) -> Result<ConvMethod> {
        let method = self.read("method", |value| value.as_str()?.parse().ok())?;
        Ok(method.unwrap_or(ConvMethod::Auto))
    }

    /// The shapes and their rank, which is 1 if there is neither a shape nor the option `rank`.
    pub fn shapes(&self) -> Result<(usize, Vec<Shape>)> {
        let value = self.required("shapes")?;
        let Value::Array(items) = value else {
            return Err(wrong("shapes", value));
        };
        let mut shapes = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let named = |failure: Failure| Failure {
                message: format!("shapes: element {i}: {}", failure.message),
                element: Some(i),
                ..failure
            };
            let extents = whole_numbers(item)
                .ok_or_else(|| unexpected("shape", "an array of extents", item))
                .map_err(named)?;
            shapes.push(Shape::new(&extents).map_err(|error| named(error.into()))?);
        }
        let first = shapes.first().map(Shape::rank);
        Ok((first.or(self.rank()?).unwrap_or(1), shapes))
    }
}

fn batch<T: Number>(name: &str, value: &Value, rank: usize) -> Result<Ragged<T>> {
    crate::batch::read(value, Some(rank)).map_err(|failure| Failure {
        element: failure.element,
        ..Failure::request(format!("{name}: {}", failure.message))
    })
}

pub fn pair(value: &Value) -> Option<(u32, u32)> {
    match whole_numbers(value)?.as_slice() {
        &[left, right] => Some((u32::try_from(left).ok()?, u32::try_from(right).ok()?)),
        _ => None,
    }
}

pub fn whole_numbers(value: &Value) -> Option<Vec<usize>> {
    let number = |item: &Value| usize::try_from(item.as_u64()?).ok();
    value.as_array()?.iter().map(number).collect()
}

fn words(value: &Value) -> Option<Vec<u32>> {
    let all = whole_numbers(value)?.into_iter();
    all.map(|n| u32::try_from(n).ok()).collect()
}

fn size(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}
