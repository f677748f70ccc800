//! What the options of requests are: their kinds, what holds without them, and what they mean.

use serde_json::Value;

use crate::operations::TYPES;

/// An option of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    pub name: &'static str,
    pub kind: Kind,
    pub absent: Absent,
    /// What it lists for each element of the arguments.
    pub lists: Lists,
    pub about: &'static str,
}

/// What an option is. The library refuses numbers outside of a range.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Flag,
    Text,
    /// A whole number from the first to the last.
    Whole(u64, u64),
    Integer,
    /// A number from the first to the last.
    Number(f64, f64),
    /// A number of the type of the values.
    Value,
    OneOf(&'static [&'static str]),
    /// The name of a type.
    DType,
    /// Or null.
    OrNull(&'static Kind),
    /// Any number of items, with the name of one.
    List(&'static str, &'static Kind),
    /// Items with names.
    Tuple(&'static [(&'static str, Kind)]),
    /// Read where it is used, with errors that name an element.
    Read(&'static str),
}

/// What holds without an option.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Absent {
    /// The request is refused.
    Refused,
    /// This value, in JSON.
    Is(&'static str),
    /// This is what the operation does.
    Means(&'static str),
}

/// What an option lists for each element of the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lists {
    Nothing,
    Items,
    /// Its extents.
    Extents,
    /// Arrays that are as long as the element.
    AsLong,
}

impl Kind {
    /// Whether a value is of this kind, but for numbers in it, which are read as those of arguments are.
    pub fn fits(&self, value: &Value) -> bool {
        match self {
            Kind::Flag => value.is_boolean(),
            Kind::Text => value.is_string(),
            Kind::Whole(..) => value.as_f64().is_some_and(|x| x >= 0.0 && x.fract() == 0.0),
            Kind::Integer => value.is_i64(),
            Kind::OneOf(names) => names.iter().any(|name| value == name),
            Kind::DType => TYPES.iter().any(|dtype| value == dtype.name()),
            Kind::OrNull(kind) => value.is_null() || kind.fits(value),
            Kind::List(_, item) => {
                let items = value.as_array();
                items.is_some_and(|items| items.iter().all(|value| item.fits(value)))
            }
            Kind::Tuple(items) => value.as_array().is_some_and(|values| {
                let mut both = items.iter().zip(values);
                values.len() == items.len() && both.all(|((_, item), value)| item.fits(value))
            }),
            Kind::Number(..) | Kind::Value | Kind::Read(_) => true,
        }
    }

    /// How a value is written.
    pub fn form(&self) -> String {
        match self {
            Kind::Flag => "true or false".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Whole(0, u64::MAX) => "a whole number".to_owned(),
            Kind::Whole(least, u64::MAX) => format!("a whole number from {least}"),
            Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Integer => "an integer".to_owned(),
            Kind::Number(least, most) => match (least.is_finite(), most.is_finite()) {
                (true, true) => format!("a number from {least} to {most}"),
                (true, false) => format!("a number from {least}"),
                _ => "a number".to_owned(),
            },
            Kind::Value => "a number of the values' type".to_owned(),
            Kind::OneOf(names) => any_of(names),
            Kind::DType => any_of(&TYPES.map(|dtype| dtype.name())),
            Kind::OrNull(kind) => format!("{} or null", kind.form()),
            Kind::List("", item) => format!("[{}, ..]", item.form()),
            Kind::List(name, _) => format!("[{name}, ..]"),
            Kind::Tuple(items) => {
                let names: Vec<&str> = items.iter().map(|(name, _)| *name).collect();
                format!("[{}]", names.join(", "))
            }
            Kind::Read(form) => (*form).to_owned(),
        }
    }
}

/// Names in quotes.
fn any_of(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl Opt {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Opt {
        Opt {
            name,
            kind,
            absent: Absent::Refused,
            lists: Lists::Nothing,
            about,
        }
    }

    const fn flag(name: &'static str, about: &'static str) -> Opt {
        Opt::new(name, Kind::Flag, about).by_default("false")
    }

    const fn by_default(self, json: &'static str) -> Opt {
        Opt {
            absent: Absent::Is(json),
            ..self
        }
    }

    const fn otherwise(self, otherwise: &'static str) -> Opt {
        Opt {
            absent: Absent::Means(otherwise),
            ..self
        }
    }

    const fn listing(self, lists: Lists) -> Opt {
        Opt { lists, ..self }
    }

    const fn meaning(self, about: &'static str) -> Opt {
        Opt { about, ..self }
    }
}

const WHOLE: Kind = Kind::Whole(0, u64::MAX);
const POSITIVE: Kind = Kind::Whole(1, u64::MAX);
const NUMBER: Kind = Kind::Number(f64::NEG_INFINITY, f64::INFINITY);
const NOT_NEGATIVE: Kind = Kind::Number(0.0, f64::INFINITY);
const SIDES: Kind = Kind::OneOf(&["left", "right"]);
const INDICES: Kind = Kind::List("index", &WHOLE);
const PLACES_OF_BLOCKS: Kind = Kind::List("", &Kind::Tuple(&[("row", WHOLE), ("column", WHOLE)]));
const PLACE: Kind = Kind::OrNull(&Kind::Integer);
const ANY_NUMBER_OF_KEYS: Kind = Kind::OrNull(&WHOLE);

/// One constant for each option.
macro_rules! options {
    ($($constant:ident = $option:expr;)*) => {$(
        pub const $constant: Opt = $option;
    )*};
}

options! {
    DTYPE = Opt::new("dtype", Kind::DType, "the type of the values").otherwise("the operation's own");
    RANK = Opt::new("rank", Kind::Whole(1, 8), "needed if the arrays do not show it")
        .otherwise("the nesting depth of the numbers");
    PAIRING = Opt::new(
        "pairing",
        Kind::Read("\"one_to_all\", \"all_to_one\", \"all_to_all\" or [[left, right], ..]"),
        "which elements are combined",
    )
    .otherwise("element by element");
    METHOD = Opt::new(
        "method",
        Kind::OneOf(&["auto", "direct", "fft", "overlap_save"]),
        "the convolution method",
    )
    .by_default("\"auto\"");
    TRANSPOSE = Opt::new(
        "transpose",
        Kind::OneOf(&["left", "right", "both"]),
        "the factors to transpose",
    )
    .otherwise("neither");
    SCALE = Opt::new("scale", NUMBER, "the factor of all sums (f32 or f16, like the next three)")
        .otherwise("1");
    SCALE_OF_SCORES = Opt::new("scale", NUMBER, "the factor of all scores")
        .otherwise("1 / sqrt of the values of a head");
    BIAS = Opt::new(
        "bias",
        Kind::Read("[[number, ..], ..]"),
        "one vector added to all rows, or one per right matrix",
    )
    .otherwise("none")
    .listing(Lists::AsLong);
    BIAS_OF_SCORES = Opt::new("bias", Kind::Read("a batch"), "(queries, keys) or (heads, queries, keys)")
        .otherwise("none")
        .listing(Lists::AsLong);
    ACTIVATION = Opt::new(
        "activation",
        Kind::OneOf(&["relu", "gelu"]),
        "the function applied to each value",
    )
    .otherwise("none");
    RESIDUAL = Opt::new("residual", Kind::Read("a batch"), "matrices of the answer's shapes, added last")
        .otherwise("none")
        .listing(Lists::AsLong);
    SPARSE = Opt::new("sparse", SIDES, "the block-sparse factor").by_default("\"right\"");
    BLOCK = Opt::new(
        "block",
        Kind::Tuple(&[("rows", WHOLE), ("columns", WHOLE)]),
        "the extents of a block, each 8, 16, 32, 48, 64, 96 or 128",
    )
    .by_default("[8, 8]");
    TOLERANCE = Opt::new(
        "tolerance",
        NUMBER,
        "blocks without a larger absolute value are dropped",
    )
    .by_default("0");
    BLOCKS = Opt::new("blocks", PLACES_OF_BLOCKS, "the blocks to compute, in units of blocks").otherwise("all");
    BLOCKS_OF_SCORES = BLOCKS.meaning("the blocks of (queries, keys) that count, in units of blocks");
    FILE = Opt::new("file", Kind::Text, "the path of a .vsla file");
    FACTOR = Opt::new("factor", Kind::Value, "the factor of all values");
    FACTORS = Opt::new(
        "factors",
        Kind::List("", &Kind::Tuple(&[("rows", WHOLE), ("columns", WHOLE)])),
        "for all images, or for each",
    )
    .listing(Lists::Items);
    SHIFTS = Opt::new(
        "shifts",
        Kind::List("", &Kind::Tuple(&[("down", Kind::Integer), ("right", Kind::Integer)])),
        "the shift of all images, or of each",
    )
    .listing(Lists::Items);
    TURNS = Opt::new("turns", Kind::Integer, "quarter turns anticlockwise");
    TABLE = Opt::new(
        "table",
        Kind::Read("[[number, ..], ..]"),
        "a table for all elements, or one for each",
    )
    .listing(Lists::Items);
    TABLE_DTYPE = Opt::new("table_dtype", Kind::DType, "the type of the numbers of a table")
        .otherwise("that of the values");
    BOXES = Opt::new(
        "boxes",
        Kind::Read("[[top, left, bottom, right], ..]"),
        "a box for each element, half open",
    )
    .listing(Lists::Items);
    DRAWN_BOXES = Opt::new(
        "boxes",
        Kind::Read("[[[top, left, bottom, right], ..], ..]"),
        "the boxes of each element, half open",
    )
    .listing(Lists::Items);
    LINES = Opt::new(
        "lines",
        Kind::Read("[[[row, column, last row, last column], ..], ..]"),
        "the lines of each element",
    )
    .listing(Lists::Items);
    VALUES = Opt::new(
        "values",
        Kind::Read("[[number, ..], ..]"),
        "for each element, the value of each of its boxes or lines",
    )
    .listing(Lists::Items);
    STRICT = Opt::flag("strict", "values must have an entry in their table, or a bin");
    STRICT_BOXES = STRICT.meaning("boxes must lie inside of their images");
    FLAGS = Opt::new(
        "flags",
        Kind::Read("[[number, ..], ..]"),
        "for each slice of each element, 0 to remove it",
    )
    .listing(Lists::AsLong);
    NEGATIVE_SLOPE = Opt::new("negative_slope", NUMBER, "the factor of values below 0").by_default("0.01");
    EXPONENT = Opt::new("exponent", NUMBER, "the exponent");
    MIN = Opt::new("min", Kind::Value, "the lower bound");
    MAX = Opt::new("max", Kind::Value, "the upper bound");
    PLACES = Opt::new("places", Kind::Whole(0, 31), "the shift distance");
    VALUE = Opt::new("value", Kind::Value, "the other operand, or the value of new cells");
    LENGTHS = Opt::new(
        "lengths",
        Kind::List("n", &WHOLE),
        "the number of values of each element of the answer",
    )
    .listing(Lists::Extents);
    SHAPES = Opt::new("shapes", Kind::Read("[[extent, ..], ..]"), "the shape of each element")
        .listing(Lists::Extents);
    START = Opt::new(
        "start",
        Kind::List("index", &Kind::Integer),
        "the first index along each axis, which may be negative",
    );
    END = Opt::new(
        "end",
        Kind::List("index", &Kind::Integer),
        "the index after the last, along each axis",
    );
    WIDTHS = Opt::new(
        "widths",
        Kind::List("", &Kind::Tuple(&[("before", WHOLE), ("after", WHOLE)])),
        "the number of zeros along each axis",
    );
    AXES = Opt::new("axes", Kind::List("axis", &WHOLE), "axes, from 0").otherwise("all");
    ORDER = AXES.meaning("the axes in their new order, from 0").otherwise("all, reversed");
    AXIS = Opt::new("axis", WHOLE, "an axis, from 0").by_default("0");
    AXIS_OR_ALL = AXIS.otherwise("the whole element");
    ALONG = AXIS
        .meaning("the last argument is a vector along this axis, for each element, or for all")
        .otherwise("it is not spread");
    EACH = Opt::flag(
        "each",
        "the last argument has one value per element, or one in all, combined with all values of the other's",
    );
    EPS = Opt::new("eps", NOT_NEGATIVE, "added to a variance").by_default("1e-5");
    EPS_OF_NORM = EPS.meaning("the least norm").by_default("1e-12");
    EPS_OF_ELEMENT = EPS.by_default("0");
    GROUPS = Opt::new("groups", WHOLE, "the number of groups").otherwise("as many as labels need");
    CHANNEL_GROUPS = Opt::new("groups", POSITIVE, "the number of groups of channels").by_default("1");
    LABELS = Opt::new("labels", Kind::List("group", &WHOLE), "the group of each element")
        .listing(Lists::Items);
    K = Opt::new("k", WHOLE, "how many values of each line");
    AT_MOST = Opt::flag("at_most", "all values of lines that have fewer than k");
    DESCENDING = Opt::flag("descending", "the largest value first");
    Q = Opt::new("q", Kind::Number(0.0, 1.0), "0 for the least value, 1 for the largest");
    ELEMENTS = Opt::new("elements", INDICES, "elements by their indices");
    INNER = Opt::new("inner", WHOLE, "the columns of the left matrix and rows of the right matrix");
    COLUMNS = Opt::new("columns", POSITIVE, "columns of the matrices");
    COUNTS = Opt::new("counts", Kind::List("count", &WHOLE), "the number of elements in each part");
    SIZE = Opt::new("size", POSITIVE, "the number of elements of a window");
    SIZE_OF_VALUES = Opt::new("size", WHOLE, "the number of values");
    STRIDE = Opt::new(
        "stride",
        POSITIVE,
        "the number of elements from the start of one window to the start of the next",
    );
    SIZES = Opt::new("sizes", Kind::List("size", &POSITIVE), "the window size of each level");
    FLUSH = Opt::new(
        "flush",
        Kind::OneOf(&["discard", "pad"]),
        "what to do with an incomplete last group of a level",
    )
    .by_default("\"discard\"");
    MODE = Opt::new(
        "mode",
        Kind::OneOf(&["full", "same", "valid", "causal"]),
        "which results of a convolution to keep",
    )
    .by_default("\"full\"");
    SIDE = Opt::new("side", SIDES, "the argument whose extents a mode takes")
        .otherwise("the left one, which must not be the shorter of a pair");
    STRIDES = Opt::new(
        "strides",
        Kind::List("stride", &POSITIVE),
        "keep every s-th result along each axis",
    )
    .otherwise("all results");
    STRIDES_OF_WINDOWS = STRIDES
        .meaning("from the start of one window to the start of the next, along each axis")
        .otherwise("the window");
    DEPTH = Opt::new("depth", WHOLE, "the length of a row");
    BACKGROUND = Opt::new("background", Kind::Value, "cells that belong to no component").by_default("0");
    FOREGROUND = Opt::flag("foreground", "all values but the background are alike");
    DIAGONAL = Opt::flag("diagonal", "the diagonal cells are neighbours, too");
    IDS = Opt::new("ids", Kind::Read("[[id, ..], ..]"), "the rows of a table, from 0")
        .listing(Lists::Items);
    TARGETS = Opt::new(
        "targets",
        Kind::Read("[[index, ..], ..]"),
        "the index of the right score of each row",
    )
    .listing(Lists::AsLong);
    INDEX = Opt::new(
        "index",
        Kind::Read("a batch of indices"),
        "the index of each value in its line, from 0; a batch of the rank of the argument",
    )
    .listing(Lists::Items);
    RANGES = Opt::new(
        "ranges",
        Kind::List("", &Kind::Tuple(&[("start", PLACE), ("end", PLACE), ("step", Kind::Integer)])),
        "for each axis as in start:end:step, with null for what is left out",
    );
    FROM = Opt::new("from", Kind::Value, "the first value");
    FROM_ZERO = FROM.by_default("0");
    TO = Opt::new("to", Kind::Value, "the last value");
    STEP = Opt::new("step", Kind::Value, "the difference of two values");
    LOW = Opt::new("low", Kind::Value, "the least value");
    HIGH = Opt::new("high", Kind::Value, "a number above all values");
    MEAN = Opt::new("mean", Kind::Value, "the mean");
    DEVIATION = Opt::new("deviation", Kind::Value, "the standard deviation");
    P = Opt::new("p", Kind::Number(0.0, 1.0), "the probability of zero, below 1");
    SEED = Opt::new("seed", WHOLE, "another seed gives other random values").by_default("0");
    WINDOW = Opt::new(
        "window",
        Kind::List("extent", &POSITIVE),
        "the extents of a window of the last one or two axes",
    );
    WINDOW_OF_VALUES = Opt::new("window", Kind::List("number", &NUMBER), "the values of the window");
    WINDOW_OF_KEYS = Opt::new(
        "window",
        Kind::Tuple(&[("before", ANY_NUMBER_OF_KEYS), ("after", ANY_NUMBER_OF_KEYS)]),
        "the keys around a query's position that count, with null for all",
    )
    .otherwise("all");
    HOP = Opt::new(
        "hop",
        POSITIVE,
        "the number of values from the start of one frame to the start of the next",
    );
    INDEX_LISTS = Opt::new(
        "indices",
        Kind::Read("[[index, ..], ..]"),
        "a list of row indices for each element",
    )
    .listing(Lists::AsLong);
    RANGE = Opt::new(
        "range",
        Kind::Tuple(&[("start", WHOLE), ("end", WHOLE)]),
        "the elements from start to before end",
    );
    ENDS = Opt::new(
        "range",
        Kind::Tuple(&[("start", Kind::Value), ("end", Kind::Value)]),
        "the ends of the bins, both included",
    )
    .otherwise("given by edges");
    BINS = Opt::new("bins", WHOLE, "the number of bins");
    BINS_OF_RANGE = BINS.otherwise("given by edges");
    EDGES = Opt::new(
        "edges",
        Kind::List("number", &Kind::Value),
        "the edges of the bins, increasing, instead of bins and range",
    )
    .otherwise("bins of equal width");
    HEADS = Opt::new("heads", POSITIVE, "the number of heads that matrices hold side by side").otherwise("1");
    BASE = Opt::new("base", NUMBER, "the base of the angles").by_default("10000");
    POSITION = Opt::new("position", WHOLE, "the position of the first row of each element").by_default("0");
    POSITIONS = Opt::new(
        "positions",
        Kind::List("n", &WHOLE),
        "for each element: the position of its first row, to which position is added",
    )
    .otherwise("0")
    .listing(Lists::Items);
    NEIGHBOURS = Opt::flag(
        "neighbours",
        "pairs are neighbouring values, instead of values half a head apart",
    );
    KEY_HEADS = Opt::new("key_heads", POSITIVE, "the number of heads of keys and values")
        .otherwise("as many as heads");
    CAUSAL = Opt::flag(
        "causal",
        "keys after the query's position do not count; the last query is at the last key",
    );
    TOP_LEFT = Opt::flag(
        "top_left",
        "the first query is at the first key instead, for all masks and slopes",
    );
    CACHED = Opt::new(
        "cached",
        Kind::List("n", &WHOLE),
        "for each element: keys and values are a cache whose first n rows are in use; not with a bias",
    )
    .otherwise("they are no cache")
    .listing(Lists::Items);
    SOFTCAP = Opt::new("softcap", NOT_NEGATIVE, "above 0: scores s become cap tanh(s / cap)")
        .otherwise("none");
    SLOPES = Opt::new(
        "slopes",
        Kind::List("slope", &NUMBER),
        "for each head: slope times the distance of a key is subtracted from its score",
    )
    .otherwise("none");
    SINKS = Opt::new(
        "sinks",
        Kind::List("sink", &NUMBER),
        "for each head: exp(sink) is added to the denominator of each row",
    )
    .otherwise("none");
    LSE = Opt::flag(
        "lse",
        "answers {\"o\": .., \"lse\": ..}, with log of the sum of the scores' exponentials",
    );
    OF = Opt::new(
        "of",
        Kind::Read("{\"op\": .., \"args\": [..], \"options\": {..}}"),
        "the operation to differentiate, which may be a gradient",
    );
    COTANGENT = Opt::new(
        "cotangent",
        Kind::Read("a batch"),
        "a batch like the result; an array of batches if there are several results",
    )
    .otherwise("ones");
    OPERANDS = Opt::new("operands", Kind::Read("[index, ..]"), "the arguments to differentiate with respect to")
        .otherwise("all");
}
