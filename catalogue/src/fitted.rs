//! Operands and options that fit batches that exist already: the next step of a random program.
//!
//! An example says which extents are equal, and which options an operation needs. Other options are drawn by their
//! names, from the layouts of the operands. What is drawn may still be refused.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Map, Value, json};
use vsla::{Complex32, Layout, Ragged, Shape, f16, scalar::DType};

use crate::batch::Batch;
use crate::draws::{at_edges, extents, filled};
use crate::operations::{Operation, TYPES, pairs};
use crate::options::Lists;

/// An operand of a step: a batch that exists, by its number, or another one.
#[derive(Clone, Debug)]
pub enum Operand {
    Existing(usize),
    New(Batch),
}

/// What a step needs besides its operation.
#[derive(Clone, Debug)]
pub struct Fitted {
    pub operands: Vec<Operand>,
    pub options: Map<String, Value>,
}

/// The most values of a drawn batch.
const MOST: usize = 1 << 13;
/// The most elements of one, or lists of indices.
const ELEMENTS: usize = 7;
/// Options that others depend on, which are drawn first.
const FIRST: &[&str] = &[
    "axis",
    "window",
    "hop",
    "groups",
    "block",
    "transpose",
    "sparse",
    "table_dtype",
    "boxes",
    "lines",
    "indices",
    "pairing",
];
/// What the value of an option is drawn from.
enum Form {
    OneOf(&'static [&'static str]),
    OneNumber(&'static [i64]),
    Flag,
    /// Whole numbers from the first to before the second.
    Whole(i64, i64),
    /// Quarters of these.
    Quarters(i64, i64),
    /// A number of the operands' type, from this one.
    Typed(i32),
    OrNull(&'static Form),
    Both(&'static [Form; 2]),
    /// At most so many.
    List(usize, &'static Form),
    EachAxis(&'static Form),
    EachElement(&'static Form),
    AllOrEachElement(&'static Form),
    Ranges,
    Box,
    Line,
}

/// Options whose values depend on the layout of the first operand alone.
const FORMS: &[(&str, Form)] = {
    use Form::*;
    const SIDE: Form = OneNumber(&[8, 16, 32, 48, 64]);
    &[
        ("activation", OneOf(&["relu", "gelu"])),
        ("at_most", Flag),
        ("background", Typed(0)),
        ("bins", OneNumber(&[1, 2, 3, 7, 10, 100, 1000, 5000])),
        ("block", Both(&[SIDE, SIDE])),
        ("causal", Flag),
        ("depth", Whole(0, 20)),
        ("descending", Flag),
        ("deviation", Typed(1)),
        ("diagonal", Flag),
        ("eps", Quarters(0, 9)),
        ("exponent", Quarters(-8, 13)),
        ("factor", Typed(-8)),
        (
            "factors",
            AllOrEachElement(&Both(&[Whole(1, 4), Whole(1, 4)])),
        ),
        ("flush", OneOf(&["discard", "pad"])),
        ("foreground", Flag),
        ("from", Typed(-8)),
        ("groups", Whole(1, 6)),
        ("high", Typed(1)),
        ("k", Whole(0, 20)),
        ("lines", EachElement(&List(4, &Line))),
        ("low", Typed(-8)),
        ("lse", Flag),
        ("max", Typed(1)),
        ("mean", Typed(-8)),
        ("method", OneOf(&["auto", "direct", "fft", "overlap_save"])),
        ("min", Typed(-8)),
        ("mode", OneOf(&["full", "full", "same", "valid", "causal"])),
        ("negative_slope", Quarters(0, 9)),
        ("neighbours", Flag),
        ("p", Quarters(0, 4)),
        ("places", Whole(0, 33)),
        ("position", Whole(0, 100)),
        ("positions", EachElement(&Whole(0, 100))),
        ("q", Quarters(0, 5)),
        ("ranges", EachAxis(&Ranges)),
        ("scale", Quarters(-4, 5)),
        ("seed", Whole(0, 256)),
        (
            "shifts",
            AllOrEachElement(&Both(&[Whole(-4, 5), Whole(-4, 5)])),
        ),
        ("side", OneOf(&["left", "right"])),
        ("size", Whole(0, 9)),
        ("sizes", List(3, &Whole(0, 4))),
        ("softcap", Quarters(1, 13)),
        ("sparse", OneOf(&["left", "right"])),
        ("start", EachAxis(&Whole(-4, 8))),
        ("step", Typed(-8)),
        ("strict", Flag),
        ("stride", Whole(0, 5)),
        ("table", AllOrEachElement(&List(12, &Whole(0, 9)))),
        ("to", Typed(-8)),
        ("tolerance", Whole(0, 3)),
        ("top_left", Flag),
        ("transpose", OneOf(&["left", "right", "both"])),
        ("turns", Whole(-5, 6)),
        ("value", Typed(-8)),
        ("widths", EachAxis(&Both(&[Whole(0, 4), Whole(0, 4)]))),
    ]
};

impl Operation {
    /// Operands and options that are like those of an example: with its extents and options, or drawn.
    pub fn fitted(
        &self,
        example: &Value,
        exactly: bool,
        existing: &[(DType, Layout)],
        seed: u64,
    ) -> Fitted {
        let mut fit = Fit {
            row: self,
            example,
            exactly,
            random: Rng::with_seed(seed),
            dtype: named(&self.dtype_of(example)),
            layouts: Vec::new(),
            maps: Vec::new(),
            options: Map::new(),
        };
        let operands = fit.operands(existing);
        fit.draw_options();
        Fitted {
            operands,
            options: fit.options,
        }
    }
}

fn named(dtype: &str) -> DType {
    let known = TYPES.into_iter().find(|known| known.name() == dtype);
    known.unwrap_or(DType::F32)
}

struct Fit<'a> {
    row: &'a Operation,
    example: &'a Value,
    exactly: bool,
    random: Rng,
    dtype: DType,
    layouts: Vec<Layout>,
    /// What the extents of each element of the example become.
    maps: Vec<BTreeMap<usize, usize>>,
    options: Map<String, Value>,
}

fn usizes(shape: &Shape) -> Vec<usize> {
    shape.extents().iter().map(|&n| n as usize).collect()
}

impl Fit<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.random.usize(..n.max(1))
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn has(&self, option: &str) -> bool {
        self.row.takes(option)
    }

    fn any_type(&mut self) -> DType {
        let types = self.row.types();
        types[self.below(types.len())]
    }

    fn example_options(&self) -> Option<&Map<String, Value>> {
        self.example.get("options").and_then(Value::as_object)
    }

    fn operands(&mut self, existing: &[(DType, Layout)]) -> Vec<Operand> {
        let args = self.row.args;
        if args == 0 {
            if let Some(dtype) = self
                .example_options()
                .and_then(|options| options.get("dtype"))
            {
                self.options.insert("dtype".to_owned(), dtype.clone());
            }
            if !self.exactly && self.has("dtype") && self.one_in(2) {
                self.dtype = self.any_type();
                self.options
                    .insert("dtype".to_owned(), json!(self.dtype.name()));
            }
            return Vec::new();
        }
        let first = self.first(existing);
        let mut operands = vec![first];
        let (is_flat, is_paired) = (
            self.has("each") && self.one_in(3),
            self.has("pairing") && self.one_in(3),
        );
        for arg in 1..args {
            let operand = match is_flat && !self.exactly && arg + 1 == args {
                true => self.spread(),
                false => self.other(arg, is_paired, existing),
            };
            operands.push(operand);
        }
        operands
    }

    fn first(&mut self, existing: &[(DType, Layout)]) -> Operand {
        let any_type = self.has("dtype") && self.random.bool();
        // Some operations take a single element.
        let is_one = !self.row.is_local && self.random.bool();
        let fits = |(dtype, layout): &(DType, Layout)| {
            self.row.ranks_of(0).contains(&layout.rank())
                && (any_type || *dtype == self.dtype)
                && self.row.types().contains(dtype)
                && !(is_one && layout.len() != 1)
        };
        let fitting: Vec<usize> = { 0..existing.len() }
            .filter(|&i| fits(&existing[i]))
            .collect();
        if !self.exactly && !fitting.is_empty() && !self.one_in(4) {
            let chosen = fitting[self.below(fitting.len())];
            let (dtype, layout) = &existing[chosen];
            self.dtype = *dtype;
            self.map(layout);
            self.layouts.push(layout.clone());
            return Operand::Existing(chosen);
        }
        if !self.exactly && self.has("dtype") && self.one_in(3) {
            self.dtype = self.any_type();
        }
        let many = self.example["args"][0].as_array().map_or(0, Vec::len);
        let count = match self.exactly || !self.row.is_local {
            true => many,
            false => self.below(ELEMENTS),
        };
        let is_any = self.row.default_rank().is_none() && self.has("rank") && !self.exactly;
        let layout = match is_any && self.random.bool() {
            true => {
                let rank = 1 + self.below(3);
                self.any_layout(rank, count)
            }
            false => {
                self.maps = vec![BTreeMap::new(); count];
                self.mapped(0, count)
            }
        };
        self.map(&layout);
        self.new_operand(layout)
    }

    /// One value for each element, or a vector along an axis.
    fn spread(&mut self) -> Operand {
        let layout = self.layouts[0].clone();
        let axis = self.random.bool().then(|| self.below(layout.rank()));
        let option = match axis {
            Some(axis) => ("axis", json!(axis)),
            None => ("each", json!(true)),
        };
        self.options.insert(option.0.to_owned(), option.1);
        let length = |shape: Shape| axis.map_or(1, |axis| shape.extents()[axis] as usize);
        let lengths = Layout::from_lengths(layout.shapes().map(length)).expect("shorter");
        self.new_operand(lengths)
    }

    /// Another operand: one that exists, one with the same extents or with others, or one that fits as in the example.
    fn other(&mut self, arg: usize, is_paired: bool, existing: &[(DType, Layout)]) -> Operand {
        let first = self.layouts[0].clone();
        let count = match is_paired && !self.exactly {
            true => self.below(5),
            false => first.len(),
        };
        let alike = |(dtype, layout): &(DType, Layout)| {
            let is_long = is_paired || layout.len() == count;
            *dtype == self.dtype && layout.rank() == first.rank() && is_long
        };
        let fitting: Vec<usize> = (0..existing.len())
            .filter(|&i| alike(&existing[i]))
            .collect();
        let way = if self.exactly { 9 } else { self.below(8) };
        match way {
            0 | 1 if !fitting.is_empty() => {
                let chosen = fitting[self.below(fitting.len())];
                self.layouts.push(existing[chosen].1.clone());
                Operand::Existing(chosen)
            }
            2 if count == first.len() => self.new_operand(first),
            3 => {
                let layout = self.any_layout(first.rank(), count);
                self.new_operand(layout)
            }
            _ => {
                let layout = self.mapped(arg, count);
                self.new_operand(layout)
            }
        }
    }

    fn new_operand(&mut self, layout: Layout) -> Operand {
        let style = if self.exactly { 0 } else { self.below(12) };
        let batch = values(self.dtype, &layout, style, &mut self.random);
        self.layouts.push(layout);
        Operand::New(batch)
    }

    /// The extents of an element of the example.
    fn extents(&self, arg: usize, element: usize) -> Option<Vec<usize>> {
        let elements = self.example["args"][arg].as_array()?;
        let one = elements.get(element % elements.len().max(1))?;
        extents(one, self.row.rank_of(self.example, arg))
    }

    /// Lets the example's extents become those of a layout, as far as the ranks are equal.
    fn map(&mut self, layout: &Layout) {
        let map = |(i, shape): (usize, Shape)| {
            let known = self
                .extents(0, i)
                .filter(|known| known.len() == shape.rank());
            known.into_iter().flatten().zip(usizes(&shape)).collect()
        };
        self.maps = layout.shapes().enumerate().map(map).collect();
    }

    /// A layout whose extents follow from those of the example.
    fn mapped(&mut self, arg: usize, count: usize) -> Layout {
        let rank = self.row.rank_of(self.example, arg);
        self.maps
            .resize(self.maps.len().max(count), BTreeMap::new());
        let shapes: Vec<Vec<usize>> = (0..count)
            .map(|i| {
                let known = self.extents(arg, i).unwrap_or_else(|| vec![0; rank]);
                known
                    .into_iter()
                    .map(|n| self.become_of(i, n, rank))
                    .collect()
            })
            .collect();
        layout(rank, &shapes)
    }

    fn become_of(&mut self, element: usize, extent: usize, rank: usize) -> usize {
        if self.exactly {
            return extent;
        }
        let drawn = match (self.below(4), rank) {
            (0, _) => extent,
            (1, 1) => at_edges(1, 2000, &mut self.random)[0],
            (_, 1 | 2) => at_edges(1, 70, &mut self.random)[0],
            _ => at_edges(1, 9, &mut self.random)[0],
        };
        *self.maps[element].entry(extent).or_insert(drawn)
    }

    fn any_layout(&mut self, rank: usize, count: usize) -> Layout {
        let count = if self.one_in(16) { 40 } else { count };
        let alike = self.one_in(4);
        let mut shapes: Vec<Vec<usize>> = Vec::new();
        for _ in 0..count {
            let most = [9, 70, 600, 4200][self.below(4)];
            shapes.push(match shapes.first() {
                Some(first) if alike => first.clone(),
                _ => at_edges(rank, most, &mut self.random),
            });
        }
        layout(rank, &shapes)
    }

    fn draw_options(&mut self) {
        let given = self.example_options().cloned().unwrap_or_default();
        let names = self.row.options.iter().map(|option| option.name);
        let later = names.filter(|name| !FIRST.contains(name));
        let first = FIRST.iter().copied().filter(|name| self.has(name));
        let names: Vec<&str> = first.chain(later).collect();
        for name in names {
            // An operand is spread when it is drawn.
            let is_spread = !self.exactly && self.has("each") && ["each", "axis"].contains(&name);
            if is_spread || ["dtype", "rank"].contains(&name) || self.options.contains_key(name) {
                continue;
            }
            let value = match given.get(name) {
                Some(value) if self.exactly => Some(value.clone()),
                None if self.exactly => None,
                Some(value) => self
                    .option(name, value)
                    .or_else(|| Some(self.listed(name, value))),
                None if name == "pairing" => self.option(name, &Value::Null),
                None if self.one_in(4) => self.option(name, &Value::Null),
                None => None,
            };
            if let Some(value) = value.filter(|value| !value.is_null()) {
                self.options.insert(name.to_owned(), value);
            }
        }
        if self.has("rank") && self.row.args == 0 {
            let rank = self
                .options
                .get("shapes")
                .and_then(|shapes| shapes[0].as_array().map(Vec::len));
            self.options
                .extend(rank.map(|rank| ("rank".to_owned(), json!(rank))));
        }
    }

    /// What an option lists for each element of the example, for the elements there are.
    fn listed(&self, name: &str, value: &Value) -> Value {
        let elements = self.example["args"][0].as_array().map_or(0, Vec::len);
        let count = self.layouts.first().map_or(elements, Layout::len);
        match value.as_array() {
            Some(items)
                if self.row.lists(name) != Lists::Nothing
                    && items.len() == elements
                    && elements > 0 =>
            {
                (0..count).map(|i| items[i % elements].clone()).collect()
            }
            _ => value.clone(),
        }
    }

    /// A list with an item for each element of the first operand.
    fn each(&mut self, mut item: impl FnMut(&mut Self, Vec<usize>) -> Value) -> Value {
        let layout = self.layouts[0].clone();
        layout
            .shapes()
            .map(|shape| item(self, usizes(&shape)))
            .collect()
    }

    fn drawn(&mut self, form: &Form) -> Value {
        let count = self.layouts.first().map_or(0, Layout::len);
        match form {
            Form::EachAxis(form) => self.list(self.layouts[0].rank(), form),
            Form::EachElement(form) => self.list(count, form),
            Form::AllOrEachElement(form) => {
                let length = if self.random.bool() { count } else { 1 };
                self.list(length, form)
            }
            Form::List(most, form) => {
                let length = self.below(most + 1);
                self.list(length, form)
            }
            Form::Both([a, b]) => json!([self.drawn(a), self.drawn(b)]),
            Form::OneOf(names) => json!(names[self.below(names.len())]),
            Form::OneNumber(all) => json!(all[self.below(all.len())]),
            Form::Flag => json!(self.random.bool()),
            Form::Whole(from, to) => json!(self.random.i64(*from..*to)),
            Form::Quarters(from, to) => json!(self.random.i64(*from..*to) as f32 / 4.0),
            Form::Typed(least) => self.number(*least),
            Form::OrNull(_) if self.one_in(3) => Value::Null,
            Form::OrNull(form) => self.drawn(form),
            Form::Ranges => {
                const END: Form = Form::OrNull(&Form::Whole(-30, 50));
                const STEP: Form = Form::OneNumber(&[1, 2, 3, 7, -1, -1, -2, -5]);
                json!([self.drawn(&END), self.drawn(&END), self.drawn(&STEP)])
            }
            Form::Box => {
                let [top, left, height, width] = [8, 8, 9, 9].map(|n| self.below(n));
                json!([top, left, top + height, left + width])
            }
            Form::Line => {
                let [row, column, length, way] = [11, 11, 13, 3].map(|n| self.below(n) as i32);
                let [down, right] =
                    [[1, 1], [0, 1], [1, 0]][way as usize].map(|n| n * (length - 6));
                json!([row - 2, column - 2, row - 2 + down, column - 2 + right])
            }
        }
    }

    fn list(&mut self, length: usize, form: &Form) -> Value {
        (0..length).map(|_| self.drawn(form)).collect()
    }

    /// How many items an option lists.
    fn items(&self, option: &str) -> Option<usize> {
        Some(self.options.get(option)?.as_array()?.len())
    }

    /// A number that an option is.
    fn size(&self, option: &str, default: usize) -> usize {
        let given = self.options.get(option).and_then(Value::as_u64);
        given.map_or(default, |size| size as usize)
    }

    /// An option, of which the example has this value, if it has one; `None` to take that.
    fn option(&mut self, name: &str, given: &Value) -> Option<Value> {
        let (rank, count) = self.layouts.first().map_or((1, 0), |x| (x.rank(), x.len()));
        let beyond = usize::from(self.one_in(32));
        Some(match name {
            "axis" => json!(self.below(rank + beyond)),
            "axes" => {
                let mut axes: Vec<usize> = (0..rank).collect();
                self.random.shuffle(&mut axes);
                let length = if self.one_in(4) {
                    self.below(rank)
                } else {
                    rank
                };
                json!(axes[..length])
            }
            "pairing" => self.pairing(),
            "window" if self.has("hop") => {
                let columns = self.layouts[0].shapes().next().map(|shape| usizes(&shape));
                let size = match columns.as_deref() {
                    // Spectra of this many columns.
                    Some(&[_, columns]) if self.has("lengths") => {
                        (2 * columns).saturating_sub(2) + self.below(2)
                    }
                    _ => [1, 2, 3, 4, 8, 10, 16, 64][self.below(8)],
                };
                self.list(size, &Form::Quarters(0, 9))
            }
            "window" if self.has("heads") => {
                const REACH: Form = Form::OrNull(&Form::Whole(0, 9));
                self.drawn(&Form::Both(&[REACH, REACH]))
            }
            "window" => {
                let axes = 1 + self.below(rank.min(2));
                self.list(axes, &Form::Whole(1, 6))
            }
            "strides" => {
                let axes = self.items("window").unwrap_or(rank);
                self.list(axes, &Form::Whole(1, 4))
            }
            "hop" => json!(1 + self.below(self.items("window").unwrap_or(4))),
            "lengths" => {
                let (window, hop) = (self.items("window"), self.size("hop", 1));
                self.each(|fit, extents| match (window, extents.last()) {
                    (_, None | Some(0)) => json!(0),
                    (Some(size), _) if extents[0] > 0 => {
                        json!(size + hop * (extents[0] - 1) + fit.below(hop))
                    }
                    (Some(_), _) => json!(0),
                    (None, Some(n)) => json!((2 * n - 2 + fit.below(2)).max(1)),
                })
            }
            "shapes" => self.shapes(given),
            "end" => {
                let start = self.options.get("start")?.as_array()?.clone();
                let after =
                    |from: Value| json!(from.as_i64().unwrap_or(0) + self.random.i64(0..20));
                start.into_iter().map(after).collect()
            }
            "indices" => self.indices(),
            "elements" => {
                let mut all: Vec<usize> = (0..count).collect();
                self.random.shuffle(&mut all);
                match self.random.bool() {
                    true => json!(all),
                    false => (0..self.below(12))
                        .map(|_| json!(self.below(count + beyond)))
                        .collect(),
                }
            }
            "labels" => {
                let groups = self.size("groups", 3) + beyond;
                (0..count).map(|_| json!(self.below(groups))).collect()
            }
            "counts" => {
                let (mut left, mut counts) = (count, Vec::new());
                while left > 0 {
                    counts.push(self.below(left + 1).max(usize::from(counts.len() > 8)));
                    left -= counts.last().copied().unwrap_or_default();
                }
                json!(counts)
            }
            "inner" | "columns" => {
                let divides = |d: &usize| self.layouts.iter().all(|x| x.len() % d == 0);
                let divisors: Vec<usize> = (1..=count).filter(divides).collect();
                json!(divisors.get(self.below(divisors.len()))?)
            }
            "bins" if self.options.contains_key("edges") => Value::Null,
            "edges" if given.is_null() => return None,
            "edges" => {
                let from = self.random.i32(0..12) - if self.dtype == DType::U32 { 0 } else { 12 };
                (from..from + 2 + self.below(12) as i32)
                    .map(|edge| json!(edge))
                    .collect()
            }
            "range" if self.has("bins") => {
                let from = self.random.i32(-16..16);
                json!([from, from + self.random.i32(-1..60)])
            }
            "range" => {
                let from = self.below(count + 1);
                json!([from, from + self.below(count + 1 - from)])
            }
            "blocks" | "bias" | "residual" if self.has("heads") => return None,
            "blocks" => self.blocks()?,
            "bias" | "residual" => self.epilogue(name)?,
            "boxes" if self.has("values") => {
                self.drawn(&Form::EachElement(&Form::List(4, &Form::Box)))
            }
            "boxes" => self.drawn(&Form::EachElement(&Form::Box)),
            "values" => {
                let lists = ["boxes", "lines"]
                    .into_iter()
                    .find_map(|name| self.options.get(name))?;
                let lengths: Vec<_> = lists
                    .as_array()?
                    .iter()
                    .map(|list| list.as_array().map_or(0, Vec::len))
                    .collect();
                let mut values = |length: usize| -> Value {
                    (0..length).map(|_| json!(self.below(9))).collect()
                };
                lengths.into_iter().map(&mut values).collect()
            }
            "flags" => {
                let axis = self.size("axis", 0);
                self.each(|fit, extents| {
                    let length = extents.get(axis).copied().unwrap_or(0);
                    (0..length).map(|_| json!(fit.below(3))).collect()
                })
            }
            "index" => {
                let axis = self.size("axis", 0);
                self.each(|fit, extents| {
                    let mut shape = extents.to_vec();
                    let length = extents.get(axis).copied().unwrap_or(0);
                    if let Some(extent) = shape.get_mut(axis) {
                        *extent = fit.random.usize(..6);
                    }
                    filled(&shape, &mut || {
                        json!(fit.random.usize(..length + 1 + beyond))
                    })
                })
            }
            "targets" => self.each(|fit, extents| {
                let (classes, rows) = extents
                    .split_last()
                    .map_or((0, &[][..]), |(last, rows)| (*last, rows));
                let rows = if rows.is_empty() { &[1] } else { rows };
                filled(rows, &mut || {
                    json!(fit.random.usize(..classes + 1 + beyond))
                })
            }),
            "ids" => {
                let rows = self.layouts[0]
                    .shapes()
                    .next()
                    .map_or(0, |shape| shape.extents()[0]);
                let mut list = || -> Value {
                    (0..self.below(20))
                        .map(|_| json!(self.below(rows as usize + 2)))
                        .collect()
                };
                (0..ELEMENTS).map(|_| list()).collect()
            }
            _ => {
                let (_, form) = FORMS.iter().find(|(known, _)| *known == name)?;
                self.drawn(form)
            }
        })
    }

    /// A number of the operands' type.
    fn number(&mut self, least: i32) -> Value {
        let whole = self.random.i32(least..9);
        match self.dtype {
            DType::F32 | DType::F16 => json!(whole as f32 / 2.0),
            DType::C32 => json!([whole, self.random.i32(-4..5)]),
            DType::I32 => json!(whole),
            _ => json!(whole.abs()),
        }
    }

    /// A pairing that these batches have; mostly none for batches of one size.
    fn pairing(&mut self) -> Value {
        let left = self.layouts[0].len();
        let right = match self.options.get("indices") {
            Some(lists) => lists.as_array().map_or(0, Vec::len),
            None => self.layouts.get(1).map_or(left, Layout::len),
        };
        if self.options.contains_key("each")
            || self.options.contains_key("axis") && self.has("each")
        {
            return Value::Null;
        }
        match self.below(8) {
            0..=3 if left == right => Value::Null,
            0..=4 if left == 1 => json!("one_to_all"),
            0..=4 if right == 1 => json!("all_to_one"),
            0..=5 if left * right <= 64 => json!("all_to_all"),
            _ if left * right == 0 => json!([]),
            _ => (0..self.below(12))
                .map(|_| json!([self.below(left), self.below(right)]))
                .collect(),
        }
    }

    /// Lists of rows: any, some of which do not exist, or each at most once, as scattered rows need.
    fn indices(&mut self) -> Value {
        if self.has("shapes") || self.one_in(4) {
            let more = self.below(5);
            return self.each(|fit, extents| {
                let mut rows: Vec<usize> = (0..extents[0] + more).collect();
                fit.random.shuffle(&mut rows);
                rows.truncate(extents[0]);
                json!(rows)
            });
        }
        let layout = self.layouts[0].clone();
        let count = if self.random.bool() {
            layout.len()
        } else {
            self.below(ELEMENTS)
        };
        let list = |i: usize| -> Value {
            let rows = if i < layout.len() {
                layout.shape(i).extents()[0] as usize
            } else {
                5
            };
            (0..self.below(20))
                .map(|_| json!(self.below(rows + 2)))
                .collect()
        };
        (0..count).map(list).collect()
    }

    /// Shapes of results: as in the example, larger, smaller, reversed or flat; or those of the slices of an element.
    fn shapes(&mut self, given: &Value) -> Value {
        if self.row.args == 0 {
            let (rank, count) = (
                given[0].as_array().map_or(1, Vec::len),
                self.below(ELEMENTS),
            );
            return self
                .any_layout(rank, count)
                .shapes()
                .map(|shape| json!(usizes(&shape)))
                .collect();
        }
        let way = self.below(8);
        let more = self.below(5) + 4 * usize::from(self.has("indices"));
        let change = |fit: &mut Self, i: usize, extents: &[usize]| -> Vec<usize> {
            match way {
                _ if fit.has("indices") => [&[extents[0] + more], &extents[1..]].concat(),
                0 => extents
                    .iter()
                    .map(|n| (n + fit.below(4)).saturating_sub(fit.below(3)))
                    .collect(),
                1 => extents.iter().rev().copied().collect(),
                2 => vec![extents.iter().product()],
                3 => vec![1, extents.iter().product()],
                4 => extents
                    .iter()
                    .map(|&n| if n == 1 { fit.below(9) } else { n })
                    .collect(),
                _ => {
                    let items = given.as_array().map_or(0, Vec::len);
                    let item = given.get(i % items.max(1)).and_then(Value::as_array);
                    let known = item
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_u64)
                        .map(|n| n as usize);
                    let known: Vec<usize> = known.collect();
                    let rank = known.len();
                    known
                        .into_iter()
                        .map(|n| fit.become_of(i, n, rank))
                        .collect()
                }
            }
        };
        let first = self.layouts[0].clone();
        // An element becomes as many as it has slices.
        let slices = match (self.row.is_local, first.shapes().next()) {
            (false, Some(shape)) if shape.rank() > 1 => Some(usizes(&shape)),
            _ => None,
        };
        let shapes: Vec<Vec<usize>> = match slices {
            Some(extents) => {
                let kept = usize::from(self.row.name == "unpacked");
                let one = [&vec![1; kept][..], &extents[1..]].concat();
                (0..extents[0]).map(|_| one.clone()).collect()
            }
            None => first
                .shapes()
                .enumerate()
                .map(|(i, shape)| change(self, i, &usizes(&shape)))
                .collect(),
        };
        let total: usize = shapes
            .iter()
            .map(|extents| extents.iter().product::<usize>())
            .sum();
        if total > 2 * MOST {
            given.clone()
        } else {
            json!(shapes)
        }
    }

    /// Rows and columns of the product of a pair of matrices.
    fn product(&self, i: usize, j: usize) -> [usize; 2] {
        let transpose = self.options.get("transpose").and_then(Value::as_str);
        let [left, right] =
            ["left", "right"].map(|side| transpose == Some(side) || transpose == Some("both"));
        let (a, b) = (
            usizes(&self.layouts[0].shape(i)),
            usizes(&self.layouts[1].shape(j)),
        );
        [a[usize::from(left)], b[usize::from(!right)]]
    }

    /// A bias for each right matrix, or one for all; or a matrix for each pair.
    fn epilogue(&mut self, name: &str) -> Option<Value> {
        let (a, b) = (self.layouts[0].len(), self.layouts.get(1)?.len());
        if self.layouts[1].rank() != 2 || a * b == 0 {
            return None;
        }
        let same = || (0..a.min(b)).map(|i| (i, i)).collect();
        let pairs = pairs(&self.options, a, b).unwrap_or_else(same);
        let shapes: Vec<Vec<usize>> = match name {
            "bias" => (0..b).map(|j| vec![self.product(0, j)[1]]).collect(),
            _ => pairs
                .into_iter()
                .map(|(i, j)| self.product(i, j).to_vec())
                .collect(),
        };
        let mut number = || json!(self.random.i32(-4..5));
        Some(
            shapes
                .iter()
                .map(|extents| filled(extents, &mut number))
                .collect(),
        )
    }

    /// Some of the blocks of a product.
    fn blocks(&mut self) -> Option<Value> {
        if self
            .layouts
            .iter()
            .any(|layout| layout.is_empty() || layout.rank() != 2)
        {
            return None;
        }
        let block = self.options.get("block").cloned().unwrap_or(json!([8, 8]));
        let [rows, columns] = self.product(0, 0);
        let grid = [rows, columns].into_iter().zip(block.as_array()?);
        let grid: Vec<usize> = grid
            .map(|(n, side)| n.div_ceil(side.as_u64().unwrap_or(8) as usize))
            .collect();
        if grid[0] * grid[1] == 0 {
            return Some(json!([]));
        }
        Some(
            (0..self.below(13))
                .map(|_| json!([self.below(grid[0]), self.below(grid[1])]))
                .collect(),
        )
    }
}

/// A layout of these shapes, as long as it has room: others have a value each.
fn layout(rank: usize, shapes: &[Vec<usize>]) -> Layout {
    let mut total = 0;
    let shapes = shapes.iter().map(|extents| {
        let size = extents.iter().product::<usize>();
        let fits = total + size <= MOST;
        total += if fits { size } else { 1 };
        Shape::new(if fits { extents } else { &[1; 8][..rank] }).expect("a small shape")
    });
    let shapes: Vec<Shape> = shapes.collect();
    Layout::from_shapes(rank, shapes).expect("a small layout")
}

/// Values of a batch: small whole numbers mostly, so that sums are exact.
fn values(dtype: DType, layout: &Layout, style: usize, random: &mut Rng) -> Batch {
    let float = |random: &mut Rng| match style {
        // With trailing zeros, and zeros in between.
        8 => [0.0, 0.0, 0.0, 1.0, -0.0][random.usize(..5)],
        9 => random.i32(-(1 << 20)..=1 << 20) as f32 / (1 << 20) as f32,
        10 => random.i32(-1000..=1000) as f32 * [1e-20, 1e-5, 1.0, 1e10][random.usize(..4)],
        11 => match random.u8(..40) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            _ => random.i32(-8..=8) as f32,
        },
        _ => random.i32(-4..=4) as f32,
    };
    let whole = |random: &mut Rng| match style {
        8 => random.i32(..5).rem_euclid(5) / 4,
        9.. => random.i32(..),
        _ => random.i32(-9..=9),
    };
    macro_rules! batch {
        ($value:expr) => {
            Ragged::from_fn(layout, |_, _| $value)
                .expect("a small batch")
                .into()
        };
    }
    match dtype {
        DType::F16 => batch!(f16::from_f32(float(random))),
        DType::C32 => batch!(Complex32::new(float(random), float(random))),
        DType::I32 => batch!(whole(random)),
        DType::U32 => batch!(whole(random) as u32),
        DType::U8 => batch!(whole(random) as u8),
        _ => batch!(float(random)),
    }
}
