//! Parts of error messages.

use core::fmt;

/// An offset is never below 0, so only element 0 can have an invalid start, and the others only an invalid end.
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

/// Writes `element 3: `, or nothing.
pub(super) struct At<'a>(pub &'a Option<usize>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(element) => write!(f, "element {element}: "),
            None => Ok(()),
        }
    }
}

/// Writes `: unequal batches need a pairing, ...`, or nothing.
pub(super) struct OtherPairings(pub bool, pub usize);

impl fmt::Display for OtherPairings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OtherPairings(false, _) => Ok(()),
            OtherPairings(true, 1) => {
                f.write_str(": unequal batches need a pairing: OneToAll, AllToAll or a List")
            }
            OtherPairings(true, _) => {
                f.write_str(": unequal batches need a pairing: AllToAll or a List")
            }
        }
    }
}

/// Writes `: the pair fits with x`, or nothing.
pub(super) struct Fits<'a>(pub &'a Option<&'static str>);

impl fmt::Display for Fits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(what) => write!(f, ": the pair fits with {what}"),
            None => Ok(()),
        }
    }
}

pub(super) struct Available<'a>(pub &'a Option<u64>);

impl fmt::Display for Available<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, ", {bytes} available"),
            None => Ok(()),
        }
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
