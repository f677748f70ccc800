//! The choice of one or several devices on the examples' command lines.

use std::str::FromStr;

use vsla::fleet::{Fleet, FleetOptions};
use vsla::{Device, Error, Result};

use crate::device::Choice;

/// Where to compute.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Where {
    /// Device to compute on; auto uses a GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    pub device: Choice,
    /// Divide the work among this many equal devices, or among all
    #[arg(long, value_name = "N|all")]
    pub devices: Option<Count>,
}

/// A number of devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    Of(usize),
    All,
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Count, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Count::All),
            (_, Ok(count)) if count > 0 => Ok(Count::Of(count)),
            _ => Err("expected a number of devices of at least 1, or all".to_owned()),
        }
    }
}

impl Where {
    /// The devices: one, unless others were asked for.
    pub fn open(self) -> Result<Fleet> {
        let Some(count) = self.devices else {
            return Fleet::of([self.device.open()?]);
        };
        let options = FleetOptions {
            devices: match count {
                Count::Of(count) => Some(count),
                Count::All => None,
            },
            ..FleetOptions::default()
        };
        let fleet = match self.device {
            Choice::Auto => Fleet::open(options)?,
            Choice::Cpu => Fleet::of([Device::cpu()])?,
            Choice::Gpu => gpus(options)?,
        };
        let found = fleet.devices().len();
        match count {
            Count::Of(count) if found < count => Err(Error::NoDevice {
                reason: format!(
                    "--devices asks for {count} equal devices, and there {} {found}: {}",
                    if found == 1 { "is" } else { "are" },
                    names(&fleet)
                ),
            }),
            _ => Ok(fleet),
        }
    }
}

/// The devices of a fleet, which are equal.
pub fn names(fleet: &Fleet) -> String {
    let info = fleet.devices()[0].info();
    match fleet.devices().len() {
        1 => info.to_string(),
        count => format!("{count} x {info}"),
    }
}

/// GPUs, which are software adapters if there are no others.
#[cfg(feature = "gpu")]
fn gpus(mut options: FleetOptions) -> Result<Fleet> {
    let first = Choice::Gpu.open()?.info();
    if first.kind == vsla::device::DeviceKind::Software {
        options.gpu.adapter.get_or_insert(first.name);
    }
    Fleet::open(options)
}

#[cfg(not(feature = "gpu"))]
fn gpus(_: FleetOptions) -> Result<Fleet> {
    Fleet::of([Choice::Gpu.open()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_devices() {
        assert_eq!("all".parse(), Ok(Count::All));
        assert_eq!("3".parse(), Ok(Count::Of(3)));
        for bad in ["0", "-1", "some", ""] {
            assert!(bad.parse::<Count>().is_err(), "{bad}");
        }
    }

    #[test]
    fn more_devices_than_there_are() {
        let on = |devices| Where {
            device: Choice::Cpu,
            devices,
        };
        for one in [None, Some(Count::Of(1)), Some(Count::All)] {
            assert_eq!(on(one).open().unwrap().devices().len(), 1);
        }
        let error = on(Some(Count::Of(2))).open().unwrap_err().to_string();
        assert!(
            error.contains("--devices asks for 2 equal devices, and there is 1"),
            "{error}"
        );
    }
}
