// The end of the chain of parents from a cell that is not background. Chains become shorter on the way: every second
// cell gets the parent of its parent. Parents only ever decrease, so that other invocations may do the same.
fn root_of(v: u32) -> u32 {
    var at = v;
    var next = atomicLoad(&parents[at]);
    while next != at {
        let after = atomicLoad(&parents[next]);
        if after != next {
            atomicMin(&parents[at], after);
        }
        at = after;
        next = atomicLoad(&parents[at]);
    }
    return at;
}
