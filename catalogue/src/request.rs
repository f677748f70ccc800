//! One line: `{"op": .., "args": [..], "options": {..}, "device": ..}`.

use serde_json::{Map, Value, json};
use vsla::{
    Pairing, Ragged, Shape,
    batch::{MAX_RANK, PairList, Remainder, Side},
    conv::{ConvMethod, ConvMode},
    product::Activation,
    scalar::DType,
};

use crate::batch::{Number, shown};
use crate::failure::{Failure, Result};
use crate::operations::{Operation, TYPES, find};
use crate::options::{Absent, Opt};

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
            options: Options::unchecked(options),
            device,
        })
    }
}

pub fn unexpected(name: &str, expected: &str, got: &Value) -> Failure {
    Failure::request(format!("{name}: expected {expected}, got {}", shown(got)))
}

/// Start, end and step of a slice along one axis.
pub type Cut = (Option<i64>, Option<i64>, i64);

/// The options of a request, those of an operation once they are checked.
#[derive(Clone, Debug)]
pub struct Options {
    given: Map<String, Value>,
    taken: &'static [Opt],
}

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

    /// How many pairs batches of these sizes have, if they can be paired so.
    pub fn count(&self, left: usize, right: usize) -> Option<usize> {
        match self {
            Pairs::OneToAll => (left == 1).then_some(right),
            Pairs::AllToOne => (right == 1).then_some(left),
            Pairs::AllToAll => left.checked_mul(right),
            Pairs::List(pairs) => Some(pairs.as_slice().len()),
        }
    }

    /// The pairs that batches of these sizes have.
    pub fn of(&self, left: usize, right: usize) -> Vec<(usize, usize)> {
        match self {
            Pairs::OneToAll => (0..right).map(|j| (0, j)).collect(),
            Pairs::AllToOne => (0..left).map(|i| (i, 0)).collect(),
            Pairs::AllToAll => {
                let row = |i| (0..right).map(move |j| (i, j));
                (0..left).flat_map(row).collect()
            }
            Pairs::List(pairs) => {
                let pairs = pairs.as_slice().iter();
                pairs.map(|&(i, j)| (i as usize, j as usize)).collect()
            }
        }
    }
}

impl Options {
    /// Options as they are given.
    pub fn unchecked(given: Map<String, Value>) -> Options {
        let taken = &[];
        Options { given, taken }
    }

    /// The options of an operation, with the defaults of those that are not given.
    pub fn of(mut self, taken: &'static [Opt]) -> Result<Options> {
        self.taken = taken;
        for (name, value) in &self.given {
            let Some(option) = taken.iter().find(|option| option.name == name) else {
                let names: Vec<&str> = taken.iter().map(|option| option.name).collect();
                return Err(Failure::request(format!(
                    "unknown option {}: expected {}",
                    shown(&Value::String(name.clone())),
                    if names.is_empty() {
                        "none".to_owned()
                    } else {
                        names.join(", ")
                    }
                )));
            };
            if !option.kind.fits(value) {
                return Err(self.wrong(name, value));
            }
        }
        for option in taken {
            if let Absent::Is(json) = option.absent
                && !self.has(option.name)
            {
                let default = serde_json::from_str(json);
                let default = default.unwrap_or_else(|_| unreachable!("a default is JSON"));
                self.given.insert(option.name.to_owned(), default);
            }
        }
        Ok(self)
    }

    /// With what they list for each of `count` elements, for these elements.
    pub fn picked(&self, operation: &Operation, order: &[usize], count: usize) -> Options {
        Options {
            given: operation.picked(&self.given, order, count),
            taken: self.taken,
        }
    }

    /// With these pairs.
    pub fn paired(mut self, pairs: &[(usize, usize)]) -> Options {
        let pairs = pairs.iter().map(|&(i, j)| json!([i, j])).collect();
        self.given.insert("pairing".to_owned(), Value::Array(pairs));
        self
    }

    /// An option that is not of its kind.
    pub fn wrong(&self, name: &str, got: &Value) -> Failure {
        let option = self.taken.iter().find(|option| option.name == name);
        let form = option.map_or_else(|| "another value".to_owned(), |option| option.kind.form());
        unexpected(name, &form, got)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    pub fn required(&self, name: &str) -> Result<&Value> {
        self.get(name)
            .ok_or_else(|| Failure::request(format!("the option {name} is missing")))
    }

    /// A type of numbers.
    pub fn dtype(&self, name: &str, default: DType) -> Result<DType> {
        let named = TYPES.map(|dtype| (dtype.name(), dtype));
        Ok(self.one_of(name, &named)?.unwrap_or(default))
    }

    /// The value with this name, if the option is given.
    fn one_of<T: Copy>(&self, name: &str, named: &[(&str, T)]) -> Result<Option<T>> {
        let one = |value: &Value| named.iter().find(|(name, _)| value == name);
        let one = |value: &Value| one(value).map(|(_, one)| *one);
        self.read(name, one)
    }

    /// The value with this name.
    fn chosen<T: Copy>(&self, name: &str, named: &[(&str, T)]) -> Result<T> {
        let one = |value: &Value| named.iter().find(|(name, _)| value == name);
        self.needed(name, |value| one(value).map(|(_, one)| *one))
    }

    /// What this reads from an option, if it is given.
    pub fn read<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>> {
        let value = self.get(name);
        value
            .map(|value| read(value).ok_or_else(|| self.wrong(name, value)))
            .transpose()
    }

    /// What this reads from an option.
    pub fn needed<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T> {
        let value = self.required(name)?;
        read(value).ok_or_else(|| self.wrong(name, value))
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
        match self.has(name) {
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
        self.given.contains_key(name)
    }

    /// A list of numbers of the values' type, if the option is given.
    pub fn list<T: Number>(&self, name: &str) -> Result<Option<Vec<T>>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let items = value.as_array();
        let items = items.ok_or_else(|| self.wrong(name, value))?;
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
        <[T; 2]>::try_from(ends).map_err(|_| self.wrong("range", value))
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
        self.size("axis")
    }

    /// Whether the last argument has one value an element.
    pub fn each(&self) -> Result<bool> {
        self.flag("each")
    }

    /// Whether an option is true.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.needed(name, Value::as_bool)
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
        self.needed("seed", Value::as_u64)
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
        self.chosen("flush", &named)
    }

    pub fn mode(&self) -> Result<ConvMode> {
        let named = [
            ("full", ConvMode::Full),
            ("same", ConvMode::Same),
            ("valid", ConvMode::Valid),
            ("causal", ConvMode::Causal),
        ];
        self.chosen("mode", &named)
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
        self.get(name).map(read).transpose()
    }

    pub fn pairs(&self) -> Result<Option<Pairs>> {
        let value = match self.get("pairing") {
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
            other => return Err(self.wrong("pairing", other)),
        }))
    }

    pub fn method(&self) -> Result<ConvMethod> {
        self.needed("method", |value| value.as_str()?.parse().ok())
    }

    /// The shapes and their rank, which is 1 if there is neither a shape nor the option `rank`.
    pub fn shapes(&self) -> Result<(usize, Vec<Shape>)> {
        let value = self.required("shapes")?;
        let Value::Array(items) = value else {
            return Err(self.wrong("shapes", value));
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

pub fn size(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}
