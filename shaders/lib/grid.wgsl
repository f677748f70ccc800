// The linear index of a workgroup in its stage.
//
// A stage of more workgroups than one dimension takes is folded into x and y, and a long one is cut into several
// dispatches; p.first_group is where this dispatch begins. Workgroups from p.groups on have nothing to do.
fn group_index(wid: vec3<u32>, count: vec3<u32>) -> u32 {
    return p.first_group + wid.y * count.x + wid.x;
}
