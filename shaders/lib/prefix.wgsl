// The sum of the counts of all invocations before this one. The whole workgroup, of 256, calls it together, and once.
var<workgroup> sh_each: array<u32, 256>;
var<workgroup> sh_sixteens: array<u32, 16>;

fn sum_before(count: u32, lid: u32) -> u32 {
    sh_each[lid] = count;
    workgroupBarrier();
    if lid < 16u {
        var sum = 0u;
        for (var k = 0u; k < 16u; k += 1u) {
            sum += sh_each[16u * lid + k];
        }
        sh_sixteens[lid] = sum;
    }
    workgroupBarrier();
    let sixteen = lid / 16u;
    var before = 0u;
    for (var k = 0u; k < sixteen; k += 1u) {
        before += sh_sixteens[k];
    }
    for (var k = 16u * sixteen; k < lid; k += 1u) {
        before += sh_each[k];
    }
    return before;
}
