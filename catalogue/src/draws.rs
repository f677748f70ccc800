//! Operands that operations accept: the requests of the examples, and copies of them with other arguments.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Map, Value, json};
use vsla::batch::MAX_RANK;

use crate::examples::Outcome;
use crate::operations::Operation;
use crate::options::Lists;

/// How long drawn elements are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// A few values along each axis, all of them whole.
    Small,
    /// Up to thousands of values along an axis.
    Large,
    /// The same, of each type of values.
    OfEachType,
    /// Small and large ones of bytes.
    OfBytes,
    /// A few values along each axis, of so many elements where the batch may grow.
    Many(usize),
    /// One or two requests, of elements of up to about so many values.
    UpTo(usize),
}

/// Extents at the edges of quads, tiles, workgroups and tables.
const EDGES: &[usize] = &[
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257,
    300, 449, 513, 1023, 1025, 2049, 2700, 4097, 8193, 9000,
];
/// By how much extents of examples are multiplied.
const FACTORS: &[usize] = &[
    1, 1, 2, 3, 5, 8, 16, 33, 64, 65, 130, 257, 513, 1025, 2049, 4097,
];
/// About the most values of a large element.
const MOST: usize = 9000;
impl Operation {
    /// The requests of the examples that are answered.
    pub fn answered(&self) -> Vec<Value> {
        let requests: Vec<Value> = { self.examples() }
            .filter(|example| matches!(example.outcome, Outcome::Answer(_)))
            .map(|example| example.request)
            .collect();
        let name = self.name;
        assert!(!requests.is_empty(), "{name} has no example with an answer");
        requests
    }

    /// Requests with drawn arguments. Some may be refused: options of an example need not fit other arguments.
    pub fn draws(&self, size: Size, random: &mut Rng) -> Vec<Value> {
        if self.args == 0 {
            return self.answered();
        }
        let mut all = Vec::new();
        for (number, request) in self.answered().into_iter().enumerate() {
            // Few examples suffice.
            let enough = match size {
                Size::OfEachType | Size::UpTo(_) => 1,
                Size::OfBytes => 2,
                Size::Small | Size::Large | Size::Many(_) => usize::MAX,
            };
            if number >= enough {
                break;
            }
            match size {
                Size::Small => {
                    all.push(request.clone());
                    all.extend((0..6).map(|i| self.small(&request, i, random)));
                }
                Size::Large => {
                    if self.takes_any_shape() && self.lists_nothing(&request) {
                        let ranks = (0..=3).filter(|rank| self.ranks_of(0).contains(rank.max(&1)));
                        all.extend(ranks.map(|rank| self.at_edges(&request, rank, MOST, random)));
                    }
                    let longer = |alike| self.longer(&request, alike, MOST, random);
                    all.extend([true, false].map(longer));
                }
                Size::OfBytes => {
                    let mut typed = request;
                    typed["options"]["dtype"] = json!("u8");
                    all.extend((0..2).map(|i| self.small(&typed, i, random)));
                    if self.takes_any_shape() && self.lists_nothing(&typed) {
                        let ranks = (0..=3).filter(|rank| self.ranks_of(0).contains(rank.max(&1)));
                        all.extend(ranks.map(|rank| self.at_edges(&typed, rank, MOST, random)));
                    }
                    let longer = [true, false, false, false, false];
                    all.extend(longer.map(|alike| self.longer(&typed, alike, MOST, random)));
                }
                Size::Many(count) => {
                    let mut many = request;
                    if self.lists_nothing(&many) {
                        let few = many["args"][0].as_array().map_or(1, Vec::len);
                        self.repeat(&mut many, count.div_ceil(few.max(1)));
                    }
                    all.push(many);
                }
                Size::UpTo(most) => {
                    if self.takes_any_shape() && self.lists_nothing(&request) {
                        let ranks = (1..=2).filter(|rank| self.ranks_of(0).contains(rank));
                        all.extend(ranks.map(|rank| self.at_edges(&request, rank, most, random)));
                    } else {
                        all.push(self.longer(&request, false, most, random));
                    }
                }
                Size::OfEachType => {
                    if self.takes_any_shape() && self.lists_nothing(&request) {
                        let mut typed = request;
                        all.extend(self.types().iter().map(|dtype| {
                            typed["options"]["dtype"] = json!(dtype.name());
                            self.at_edges(&typed, self.rank_near(2), MOST, random)
                        }));
                    }
                }
            }
        }
        all
    }

    /// The type of the values of a request.
    pub fn dtype_of(&self, request: &Value) -> String {
        let named = request.pointer("/options/dtype").and_then(Value::as_str);
        named.map_or_else(|| self.dtype.name().to_owned(), str::to_owned)
    }

    /// The rank of an argument of a request.
    pub fn rank_of(&self, request: &Value, arg: usize) -> usize {
        let named = request.pointer("/options/rank").and_then(Value::as_u64);
        let pairs = usize::from(self.dtype_of(request) == "c32");
        let depth = depth(&request["args"][arg]).saturating_sub(1 + pairs);
        named
            .map(|rank| rank as usize)
            .or(self.default_rank())
            .unwrap_or(depth)
            .clamp(1, MAX_RANK)
    }

    /// The nearest rank that the first argument may have.
    fn rank_near(&self, rank: usize) -> usize {
        let ranks = self.ranks_of(0);
        rank.clamp(*ranks.start(), *ranks.end())
    }

    fn takes_any_shape(&self) -> bool {
        self.default_rank().is_none() && self.takes("rank")
    }

    /// What an option lists for each element.
    pub fn lists(&self, option: &str) -> Lists {
        self.option(option)
            .map_or(Lists::Nothing, |option| option.lists)
    }

    /// What options list for each of `count` elements, for these elements.
    pub fn picked(
        &self,
        options: &Map<String, Value>,
        order: &[usize],
        count: usize,
    ) -> Map<String, Value> {
        let pick = |(name, value): (&String, &Value)| {
            let items = value.as_array().filter(|items| items.len() == count);
            let picked = match items.filter(|_| self.lists(name) != Lists::Nothing) {
                Some(items) => order.iter().map(|&i| items[i].clone()).collect(),
                None => value.clone(),
            };
            (name.clone(), picked)
        };
        options.iter().map(pick).collect()
    }

    /// Whether no option lists one item per element, so that the batch may grow.
    fn lists_nothing(&self, request: &Value) -> bool {
        let options = request.get("options").and_then(Value::as_object);
        let mut names = options.into_iter().flatten().map(|(name, _)| name.as_str());
        self.is_local && names.all(|name| name != "pairing" && self.lists(name) == Lists::Nothing)
    }

    /// Arguments of the same shapes, or of random ones in every second request.
    fn small(&self, request: &Value, i: usize, random: &mut Rng) -> Value {
        let (dtype, mut depth) = (self.dtype_of(request), self.rank_of(request, 0));
        let mut drawn = request.clone();
        if i % 2 == 1 && self.takes_any_shape() {
            depth = self.rank_near(i / 2 + 1);
            drawn["options"]["rank"] = json!(depth);
        }
        let lists_nothing = self.lists_nothing(request);
        let args = drawn["args"].as_array_mut();
        let are_single = |args: &Vec<Value>| {
            args.iter()
                .all(|arg| arg.as_array().is_some_and(|arg| arg.len() == 1))
        };
        if let Some(args) = args.filter(|args| lists_nothing && are_single(args)) {
            let more = |arg: &mut Value| *arg = json!([arg[0], arg[0], arg[0]]);
            args.iter_mut().for_each(more);
        }
        for element in elements_of(&mut drawn) {
            match i % 2 {
                0 => replace(element, &dtype, &mut || whole(&dtype, random)),
                _ => {
                    let extents: Vec<usize> = (0..depth).map(|_| random.usize(0..4)).collect();
                    *element = filled(&extents, &mut || whole(&dtype, random));
                }
            }
        }
        drawn
    }

    /// Twelve elements of up to about `most` values, whose extents are edges. Those of several arguments are the same
    /// for every second element, or for all of them, which are vectors, for a rank of 0.
    fn at_edges(&self, request: &Value, rank: usize, most: usize, random: &mut Rng) -> Value {
        let dtype = self.dtype_of(request);
        let (are_alike, rank) = (rank == 0, rank.max(1));
        let shapes: Vec<Vec<usize>> = (0..12).map(|_| at_edges(rank, most, random)).collect();
        let mut drawn = request.clone();
        drawn["options"]["rank"] = json!(rank);
        for arg in drawn["args"].as_array_mut().into_iter().flatten() {
            let elements = shapes.iter().enumerate().map(|(i, shape)| {
                let other = at_edges(rank, most, random);
                let is_alike = are_alike || i % 2 == 0;
                let extents = if is_alike { shape } else { &other };
                filled(extents, &mut || number(&dtype, random))
            });
            *arg = elements.collect();
        }
        drawn
    }

    /// The arguments with extents that are multiples of theirs: equal extents become equal ones, in all elements
    /// `alike` or in each.
    fn longer(&self, request: &Value, alike: bool, most: usize, random: &mut Rng) -> Value {
        let dtype = self.dtype_of(request);
        let args = request["args"].as_array().map_or(0, Vec::len);
        let ranks: Vec<usize> = (0..args).map(|arg| self.rank_of(request, arg)).collect();
        let mut drawn = request.clone();
        if !alike && self.is_local {
            self.repeat(&mut drawn, 6);
        }
        // The longer the extents may be, the more elements are too large.
        let mut lengths = Lengths::new(alike, most);
        while !lengths.suffice(&drawn, &ranks, most, random) {
            lengths = Lengths::new(alike, lengths.most / 2);
        }
        for (arg, &rank) in ranks.iter().enumerate() {
            let elements = drawn["args"][arg].as_array_mut().into_iter().flatten();
            for (i, element) in elements.enumerate() {
                if let Some(extents) = extents(element, rank) {
                    let longer = extents.iter().map(|&n| lengths.of(i, n, random));
                    let longer: Vec<usize> = longer.collect();
                    *element = filled(&longer, &mut || number(&dtype, random));
                }
            }
        }
        let count = drawn["args"][0].as_array().map_or(0, Vec::len);
        let options = drawn.get_mut("options").and_then(Value::as_object_mut);
        for (name, value) in options.into_iter().flatten() {
            let Value::Array(items) = value else { continue };
            for (i, item) in items.iter_mut().enumerate().take(count) {
                let longer = &mut |extent| lengths.of(i, extent, random);
                match self.lists(name) {
                    Lists::Extents => of_extents(item, longer),
                    Lists::AsLong => lengthen(item, longer),
                    Lists::Nothing | Lists::Items => {}
                }
            }
        }
        drawn
    }

    /// Repeats all elements, and what options list for each of them.
    fn repeat(&self, request: &mut Value, times: usize) {
        let args: &mut Vec<Value> = match request["args"].as_array_mut() {
            Some(args) => args,
            None => return,
        };
        let count = args.first().and_then(Value::as_array).map_or(0, Vec::len);
        let more = |items: &mut Value| {
            if let Value::Array(items) = items
                && items.len() == count
            {
                *items = (0..times * count)
                    .map(|i| items[i % count].clone())
                    .collect();
            }
        };
        args.iter_mut().for_each(more);
        let options = request.get_mut("options").and_then(Value::as_object_mut);
        let listed = options.into_iter().flatten();
        let listed = listed.filter(|(name, _)| self.lists(name) != Lists::Nothing);
        listed.for_each(|(_, items)| more(items));
    }
}

/// Extents whose product is not much above `most`, with the largest on any axis.
pub fn at_edges(rank: usize, most: usize, random: &mut Rng) -> Vec<usize> {
    let mut left = most;
    let mut extents = Vec::new();
    for _ in 0..rank {
        let fitting = EDGES.partition_point(|&edge| edge <= left);
        extents.push(EDGES[random.usize(..fitting)]);
        // Arrays of empty arrays take room, too.
        left = match extents[extents.len() - 1] {
            0 => left.min(8),
            extent => left / extent,
        };
    }
    random.shuffle(&mut extents);
    extents
}

/// What extents become: multiples, which are the same for equal extents of an element, or of all elements alike.
struct Lengths {
    of_elements: Vec<BTreeMap<usize, usize>>,
    are_alike: bool,
    most: usize,
}

impl Lengths {
    fn new(are_alike: bool, most: usize) -> Lengths {
        Lengths {
            of_elements: Vec::new(),
            are_alike,
            most,
        }
    }

    fn of(&mut self, element: usize, extent: usize, random: &mut Rng) -> usize {
        let element = if self.are_alike { 0 } else { element };
        if self.of_elements.len() <= element {
            self.of_elements.resize_with(element + 1, BTreeMap::new);
        }
        let most = self.most / extent.max(1);
        *self.of_elements[element].entry(extent).or_insert_with(|| {
            let fitting = FACTORS.partition_point(|&factor| factor <= most.max(1));
            extent * FACTORS[random.usize(..fitting)]
        })
    }

    /// Whether no element of a request becomes too large.
    fn suffice(&mut self, request: &Value, ranks: &[usize], most: usize, random: &mut Rng) -> bool {
        if self.most <= 1 {
            return true;
        }
        ranks.iter().enumerate().all(|(arg, &rank)| {
            let elements = request["args"][arg].as_array().into_iter().flatten();
            elements.enumerate().all(|(i, element)| {
                let extents = extents(element, rank).unwrap_or_default();
                let longer = extents.iter().map(|&n| self.of(i, n, random).max(1));
                longer.fold(1, usize::saturating_mul) <= most
            })
        })
    }
}

/// The elements of all arguments.
fn elements_of(request: &mut Value) -> impl Iterator<Item = &mut Value> {
    let args = request["args"].as_array_mut().into_iter().flatten();
    args.filter_map(Value::as_array_mut).flatten()
}

/// The extents of an element; `None` if its JSON does not show all of them, because it is empty.
pub fn extents(element: &Value, rank: usize) -> Option<Vec<usize>> {
    let mut extents = Vec::new();
    let mut inner = element;
    for axis in 0..rank {
        let items = inner.as_array()?;
        extents.push(items.len());
        match items.first() {
            Some(first) => inner = first,
            None if axis + 1 == rank => break,
            None => return None,
        }
    }
    Some(extents)
}

/// Replaces whole numbers that are extents.
fn of_extents(value: &mut Value, longer: &mut dyn FnMut(usize) -> usize) {
    match value {
        Value::Array(items) => { items.iter_mut() }.for_each(|item| of_extents(item, longer)),
        other => {
            if let Some(extent) = other.as_u64() {
                *other = json!(longer(extent as usize));
            }
        }
    }
}

/// Lengthens arrays by repeating their items.
fn lengthen(value: &mut Value, longer: &mut dyn FnMut(usize) -> usize) {
    if let Value::Array(items) = value {
        items.iter_mut().for_each(|item| lengthen(item, longer));
        let length = items.len();
        *items = (0..longer(length))
            .map(|i| items[i % length].clone())
            .collect();
    }
}

/// How deep arrays are nested.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A small whole number, so that sums are exact.
fn whole(dtype: &str, random: &mut Rng) -> Value {
    match dtype {
        "u32" | "u8" => json!(random.u32(0..4)),
        "c32" => json!([random.i32(-3..4), random.i32(-3..4)]),
        _ => json!(random.i32(-3..4)),
    }
}

/// A number whose sums are rounded, if the type has fractions.
fn number(dtype: &str, random: &mut Rng) -> Value {
    let mut part = || json!(4.0 * random.f32() - 2.0);
    match dtype {
        "f32" | "f16" => part(),
        "c32" => json!([part(), part()]),
        // Some of which are equal.
        "u8" if random.bool() => json!(random.u8(..)),
        _ => whole(dtype, random),
    }
}

/// Replaces the values of an element.
pub fn replace(value: &mut Value, dtype: &str, number: &mut dyn FnMut() -> Value) {
    match value {
        Value::Array(items) if dtype == "c32" && !items.is_empty() && !items[0].is_array() => {
            *value = number();
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace(item, dtype, number)),
        _ => *value = number(),
    }
}

/// An element of these extents.
pub fn filled(extents: &[usize], value: &mut dyn FnMut() -> Value) -> Value {
    match extents {
        [] => value(),
        [first, rest @ ..] => (0..*first).map(|_| filled(rest, value)).collect(),
    }
}
