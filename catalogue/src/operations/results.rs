//! The shapes of results: a sentence for readers, and a function of the operands' shapes and the options.

use vsla::{Layout, Shape};

use super::Task;
use crate::failure::Result;
use crate::request::{Options, Pairs, Request};

/// The extents of an element.
pub type Extents = Vec<usize>;

/// The extents of each element of a result; `None` for one that the library refuses.
pub type Shapes<'a> = Box<dyn Iterator<Item = Option<Extents>> + 'a>;

/// The shapes of an operation's results.
#[derive(Clone, Copy)]
pub struct Results {
    /// The shapes of the operands, to which `about` refers.
    pub operands: &'static str,
    pub about: &'static str,
    pub(super) rule: Rule,
}

#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// An element of each result for each element or pair, from the extents of its operands.
    Each(fn(&Options, &[Extents]) -> Option<Vec<Extents>>),
    /// All elements of each result.
    All(for<'a> fn(&'a Options, &'a [&'a Layout]) -> Option<Vec<Shapes<'a>>>),
    /// Values decide.
    Values,
}

pub const fn each(
    operands: &'static str,
    about: &'static str,
    rule: fn(&Options, &[Extents]) -> Option<Vec<Extents>>,
) -> Results {
    let rule = Rule::Each(rule);
    Results {
        operands,
        about,
        rule,
    }
}

pub const fn all(
    operands: &'static str,
    about: &'static str,
    rule: for<'a> fn(&'a Options, &'a [&'a Layout]) -> Option<Vec<Shapes<'a>>>,
) -> Results {
    let rule = Rule::All(rule);
    Results {
        operands,
        about,
        rule,
    }
}

pub const fn by_values(operands: &'static str, about: &'static str) -> Results {
    let rule = Rule::Values;
    Results {
        operands,
        about,
        rule,
    }
}

pub const SAME: Results = each("s", "s", |_, s| one(s[0].clone()));
/// Of a batch that is made.
pub const MADE: Results = Results {
    operands: "a list of shapes",
    ..GIVEN
};
pub const GIVEN: Results = all("s, and a list of shapes", "these shapes", |options, _| {
    Some(vec![given(options)?])
});
pub const ONE: Results = each("s", "one value", |_, _| one(vec![1]));
pub const ONE_OF_TWO: Results = Results {
    operands: "s and t",
    ..ONE
};
/// Of whole elements, or of each line along an axis.
pub const REDUCED: Results = each(
    "s",
    "one value; along an axis, s without this axis",
    |options, s| match options.optional_axis().ok()? {
        None => one(vec![1]),
        Some(axis) if s[0].len() == 1 && axis == 0 => one(vec![1]),
        Some(axis) => one(without(&s[0], axis)?),
    },
);
pub const BINS: Results = each("s", "a count for each bin", |options, _| {
    let bins = match options.get("edges") {
        None => options.size("bins").ok()?,
        Some(edges) => edges.as_array()?.len().checked_sub(1)?,
    };
    one(vec![bins])
});
pub const AMBIENT: Results = each("s and t", "the larger extent on each axis", |_, s| {
    one(ambient(s)?)
});
/// The last operand may be spread.
pub const SPREAD: Results = each(
    "s and t; or s, and one value for each element or for all, or a vector along an axis",
    "the larger extent on each axis, or s",
    spread,
);
pub const SPREAD_OF_THREE: Results = Results {
    operands: "s, t and u; or s and t, and one value for each element or for all, or a vector along an axis",
    about: "the larger extent on each axis, without a vector or single values",
    ..SPREAD
};
pub const MATRIX_PRODUCT: Results = each(
    "m × k and k × n, or their transposes; 0 × 0 fits every other factor",
    "m × n",
    |options, s| {
        let (&[a, b], &[c, d]) = (s[0].as_slice(), s[1].as_slice()) else {
            return None;
        };
        let [left, right] = options.transposed().ok()?;
        one(vec![if left { b } else { a }, if right { c } else { d }])
    },
);

impl Results {
    /// The elements of each result; `None` if values decide, or if the library refuses the operands.
    pub fn shapes<'a>(
        &self,
        options: &'a Options,
        operands: &'a [&'a Layout],
    ) -> Option<Vec<Shapes<'a>>> {
        let rule = match self.rule {
            Rule::Each(rule) => rule,
            Rule::All(rule) => return rule(options, operands),
            Rule::Values => return None,
        };
        let (first, last) = (operands.first()?.len(), operands.last()?.len());
        // A spread operand may have one value for all elements.
        let sides = match options.pairs().ok()? {
            None => [first; 2],
            Some(_) => [first, last],
        };
        let of = move |(i, j): (usize, usize)| {
            let places = std::iter::once(i).chain(std::iter::repeat(j));
            let element = |(operand, i): (&&Layout, usize)| {
                let i = if operand.len() == 1 { 0 } else { i };
                (i < operand.len()).then(|| extents(&operand.shape(i)))
            };
            let operands: Option<Vec<_>> = operands.iter().zip(places).map(element).collect();
            rule(options, &operands?)
        };
        // As many results as of the first pair.
        let results = pairs(options, sides)?
            .next()
            .and_then(of)
            .map_or(1, |all| all.len());
        let result = |k: usize| -> Option<Shapes<'a>> {
            let elements = pairs(options, sides)?;
            Some(Box::new(
                elements.map(move |pair| of(pair)?.into_iter().nth(k)),
            ))
        };
        (0..results).map(result).collect()
    }

    /// Whether the extents depend on values.
    pub fn depend_on_values(&self) -> bool {
        matches!(self.rule, Rule::Values)
    }
}

/// The extents of the elements of each result of a request; `None` if values decide, or if the library refuses it.
pub fn shapes(request: Request) -> Result<Option<Vec<Vec<Extents>>>> {
    let task = Task::new(request)?;
    let layouts: Vec<_> = (0..task.args.len()).map(|i| task.args.layout(i)).collect();
    let shapes = task.operation.results.shapes(&task.options, &layouts);
    Ok(shapes.and_then(|results| results.into_iter().map(Iterator::collect).collect()))
}

/// The pairs of batches of so many elements; if they are not paired, as many as the last batch has.
pub fn pairs(
    options: &Options,
    [a, b]: [usize; 2],
) -> Option<Box<dyn Iterator<Item = (usize, usize)>>> {
    Some(match options.pairs().ok()? {
        None => Box::new((0..a.min(b)).map(|i| (i, i))),
        Some(Pairs::OneToAll) if a == 0 => Box::new(std::iter::empty()),
        Some(Pairs::OneToAll) => Box::new((0..b).map(|j| (0, j))),
        Some(Pairs::AllToOne) if b == 0 => Box::new(std::iter::empty()),
        Some(Pairs::AllToOne) => Box::new((0..a).map(|i| (i, 0))),
        Some(Pairs::AllToAll) => Box::new((0..a).flat_map(move |i| (0..b).map(move |j| (i, j)))),
        Some(Pairs::List(pairs)) => {
            let pairs: Vec<_> = pairs.as_slice().to_vec();
            let pairs = pairs.into_iter().map(|(i, j)| (i as usize, j as usize));
            Box::new(pairs.filter(move |&(i, j)| i < a && j < b))
        }
    })
}

/// A single result, with 0 on each axis if an operand has no values.
pub fn product(result: Extents, operands: &[Extents]) -> Option<Vec<Extents>> {
    match operands.iter().flatten().any(|&n| n == 0) {
        true => one(vec![0; result.len()]),
        false => one(result),
    }
}

/// A single result.
pub fn one(extents: Extents) -> Option<Vec<Extents>> {
    Some(vec![extents])
}

/// A single result of a few elements.
pub fn listed<'a>(elements: Vec<Extents>) -> Option<Vec<Shapes<'a>>> {
    Some(vec![Box::new(elements.into_iter().map(Some))])
}

pub fn extents(shape: &Shape) -> Extents {
    shape
        .extents()
        .iter()
        .map(|&extent| extent as usize)
        .collect()
}

pub fn all_extents(layout: &Layout) -> Vec<Extents> {
    layout.shapes().map(|shape| extents(&shape)).collect()
}

/// The shapes that a request lists.
pub fn given<'a>(options: &Options) -> Option<Shapes<'a>> {
    let (_, shapes) = options.shapes().ok()?;
    Some(Box::new(
        shapes.into_iter().map(|shape| Some(extents(&shape))),
    ))
}

/// The largest extents; `None` for different ranks.
pub fn ambient(shapes: &[Extents]) -> Option<Extents> {
    let (first, others) = shapes.split_first()?;
    others.iter().try_fold(first.clone(), |most, other| {
        let both = (most.len() == other.len()).then(|| most.iter().zip(other));
        Some(both?.map(|(a, b)| *a.max(b)).collect())
    })
}

/// The extents without an axis.
pub fn without(extents: &[usize], axis: usize) -> Option<Extents> {
    let mut others = extents.to_vec();
    (axis < others.len()).then(|| others.remove(axis))?;
    Some(others)
}

/// The extents with another one along an axis.
pub fn with(extents: &[usize], axis: usize, extent: usize) -> Option<Extents> {
    let mut others = extents.to_vec();
    *others.get_mut(axis)? = extent;
    Some(others)
}

fn spread(options: &Options, s: &[Extents]) -> Option<Vec<Extents>> {
    let is_spread = options.each().ok()? || options.optional_axis().ok()?.is_some();
    let shaped = if is_spread { s.len() - 1 } else { s.len() };
    one(ambient(&s[..shaped])?)
}
