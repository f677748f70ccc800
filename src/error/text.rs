//! Parts of error messages.

use core::fmt;

/// Offsets are unsigned, so only element 0 can have an invalid start; any other element can only have an invalid end.
pub(super) fn offsets_fault(element: &usize) -> &'static str {
    match element {
        0 => "does not start at 0",
        _ => "ends before it starts",
    }
}

pub(super) fn at_most(element: &Option<usize>) -> &'static str {
    match element {
        Some(_) => "at most ",
        None => "",
    }
}

/// Writes a value between two texts, or nothing.
struct Optional<'a, T>(&'static str, &'a Option<T>, &'static str);

impl<T: fmt::Display> fmt::Display for Optional<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Optional(before, Some(value), after) => write!(f, "{before}{value}{after}"),
            Optional(_, None, _) => Ok(()),
        }
    }
}

pub(super) fn at(element: &Option<usize>) -> impl fmt::Display {
    Optional("element ", element, ": ")
}

/// Writes ` at [1, 2]`, or nothing for the element itself.
pub(super) fn null_at(index: &[usize]) -> impl fmt::Display {
    match index {
        [] => String::new(),
        index => format!(" at {index:?}"),
    }
}

pub(super) fn pair_fits(what: &Option<&'static str>) -> impl fmt::Display {
    Optional("; to make the pair fit, use ", what, "")
}

pub(super) fn bytes_available(bytes: &Option<u64>) -> impl fmt::Display {
    Optional(", ", bytes, " available")
}

/// What fits batches of unequal sizes.
pub(super) fn other_pairings(
    pairing: bool,
    [left, right]: [usize; 2],
    spread: &[String],
) -> String {
    let way = spread.join(" or ");
    match (pairing, spread.is_empty()) {
        (false, true) => String::new(),
        (true, true) => {
            let one = match (left, right) {
                (1, _) => "OneToAll, ",
                (_, 1) => "AllToOne, ",
                _ => "",
            };
            format!("; pair unequal batches by {one}AllToAll or a List")
        }
        (false, false) => format!("; spread the only element of a batch by {way}"),
        (true, false) => format!(
            "; spread the only element of a batch by {way}, since a pairing such as AllToAll combines values of equal \
             index only and takes all others as missing"
        ),
    }
}

/// Writes `1 value`, `2 values`.
pub(crate) struct Count(pub usize, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count(count, noun) = self;
        write!(f, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}
