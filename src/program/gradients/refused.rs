//! Operations without gradients: their results are integers or random, they change their operands, or they enter
//! programs only after differentiation, as chains do.

use super::rule::Rule;
use crate::ops::{
    InWords, append, chain, figures, histogram, imaging, label, linear, lookup, morphology,
    occurrences, one_hot, period, random, regions, runs, sequence, written,
};

macro_rules! refused {
    ($($payload:ty),+ $(,)?) => {
        $(impl Rule for $payload {})+
    };
}

refused! {
    append::Append,
    chain::Chain,
    figures::Figures,
    histogram::Histogram,
    imaging::Imaging,
    InWords,
    label::Label,
    lookup::Lookup,
    linear::Full,
    morphology::Morphology,
    occurrences::Occurrences,
    one_hot::OneHot,
    period::Period,
    random::Random,
    regions::Regions,
    runs::Runs,
    sequence::Sequence,
    written::Apply,
}
