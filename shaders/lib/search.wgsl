// The element of the result that contains value v: the last e below n with c_meta[e] <= v.
//
// All invocations of the workgroup search together, with WG probes per round: three rounds for 16 million elements.
// Requires v < c_meta[n], the same v in every invocation, and workgroup-uniform control flow.
var<workgroup> sh_found: u32;

fn find_element(v: u32, n: u32, lid: u32) -> u32 {
    var low = 0u;
    var high = n;
    while high - low > 1u {
        let step = (high - low + WG - 1u) / WG;
        let here = low + lid * step;
        let next = here + step;
        if here < high && c_meta[here] <= v && (next >= high || c_meta[next] > v) {
            sh_found = here;
        }
        low = workgroupUniformLoad(&sh_found);
        high = min(low + step, high);
    }
    return low;
}
