// Index of the first result that p.mode keeps, for a convolution with n values on the right.
fn first_of(n: u32) -> u32 {
    switch p.mode {
        case SAME: { return (n - 1u) / 2u; }
        case VALID: { return n - 1u; }
        default: { return 0u; } // full, causal
    }
}
