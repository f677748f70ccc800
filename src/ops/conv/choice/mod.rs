//! How each pair is convolved: the window of its results, the methods, their costs, and the choice among them.

mod choices;
mod costs;
mod method;
mod profile;
mod report;
mod selection;
mod window;

#[cfg(test)]
mod extremes;

pub use costs::CostTable;
pub use method::ConvMethod;
pub use profile::{ByMethod, HeterogeneityProfile};
pub use report::{ConvChoice, ConvGroup};
pub use window::ConvMode;

pub(crate) use choices::Choices;
pub(crate) use costs::{Costs, Engine, FEW_RESULTS, transform_work};
pub(crate) use method::Choice;
pub(crate) use window::{AXES, Along, Flat, Meeting, Window};
