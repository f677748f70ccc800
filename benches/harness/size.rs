//! Sizes and limits of measurements.

use std::time::Duration;

use vsla::device::DeviceInfo;

/// Sizes and limits of all measurements.
#[derive(Clone, Copy)]
pub struct Size {
    /// Whether only correctness is checked and times mean nothing.
    pub quick: bool,
    /// Values of a large operand.
    pub values: usize,
    /// Elements of a batch of many elements.
    pub elements: usize,
    /// The copies of the `peaks` rows: names, and bytes read and written.
    pub footprints: &'static [(&'static str, u64)],
    /// Bytes read and written by the reference copy that is timed with every row.
    pub reference: u64,
    /// Values to copy from: half of the bytes of the largest operation.
    pub(super) source: usize,
    /// Operations of a chain, and number of batches with new lengths.
    pub many: usize,
    /// How long to run copies before a row at most. A tenth of it is enough if they are fast by then.
    pub(super) warm: Duration,
    /// How long to repeat a row.
    pub time: Duration,
    /// The least and the most runs of a row.
    pub runs: (usize, usize),
}

const MIB: u64 = 1 << 20;
const COPIES: &[(&str, u64)] = &[
    ("peaks/copy-1MiB", MIB),
    ("peaks/copy-4MiB", 4 * MIB),
    ("peaks/copy-32MiB", 32 * MIB),
    ("peaks/copy-256MiB", 256 * MIB),
    ("peaks/copy-1GiB", 1024 * MIB),
];

impl Size {
    /// The sizes for a device.
    pub fn of(quick: bool, device: &DeviceInfo) -> Size {
        if quick {
            return Size {
                quick,
                values: 1 << 18,
                elements: 1 << 14,
                footprints: &COPIES[..2],
                reference: MIB,
                source: 1 << 20,
                many: 300,
                warm: Duration::from_millis(20),
                time: Duration::from_millis(50),
                runs: (3, 20),
            };
        }
        let gpu = device.backend != "cpu";
        Size {
            quick,
            values: if gpu { 1 << 26 } else { 1 << 24 },
            elements: if gpu { 1 << 22 } else { 1 << 20 },
            footprints: if gpu { &COPIES[1..] } else { &COPIES[1..4] },
            reference: if gpu { 1024 * MIB } else { 256 * MIB },
            source: if gpu {
                (1 << 27) + (1 << 25)
            } else {
                (1 << 25) + (1 << 23)
            },
            many: 10_000,
            warm: Duration::from_millis(if gpu { 1000 } else { 200 }),
            time: Duration::from_millis(if gpu { 150 } else { 500 }),
            runs: (7, 60),
        }
    }
}
