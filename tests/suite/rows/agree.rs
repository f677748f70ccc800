//! A GPU computes what the CPU computes.

use catalogue::Operation;
use vsla::Device;

use super::{accepted, large, short, small};
use crate::support::bench::{cpu, is_hurried};

pub fn check(device: &Device, operation: &Operation) {
    let mut requests = small(operation);
    if !is_hurried(device) {
        requests.extend(large(operation));
    }
    for request in requests {
        let [here, there] = [cpu(), device].map(|device| accepted(device, &request));
        let [here, there] = [here, there].map(|answer| answer.map(|answer| answer.json()));
        let (Some(here), Some(there)) = (&here, &there) else {
            assert_eq!(here, there, "{}", short(&request));
            continue;
        };
        assert!(
            operation.is_near(&request, here, there),
            "{}",
            short(&request)
        );
    }
}
