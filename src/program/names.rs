//! The names of operations on programs in errors.

pub(super) const PLAN: &str = "plan";
pub(super) const RUN: &str = "run";
