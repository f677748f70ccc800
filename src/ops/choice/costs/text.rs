//! Prints and parses a cost table as one line of text.

use std::fmt;
use std::str::FromStr;

use super::{CostTable, Costs, Engine};
use crate::{Error, Result};

impl fmt::Display for CostTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Costs {
            workers,
            launch,
            item,
            multiply_add,
            result,
            fft,
        } = &self.numbers;
        write!(
            f,
            "{} workers={workers} launch={launch} item={item} multiply_add={multiply_add} result={result} fft=",
            self.engine
        )?;
        for (i, (k, cost)) in fft.iter().enumerate() {
            write!(f, "{}{k}:{cost}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for CostTable {
    type Err = Error;

    /// Parses the output of `Display`.
    ///
    /// # Errors
    /// [`Error::CostTable`] with the word that is missing, unknown or not a cost.
    fn from_str(text: &str) -> Result<CostTable> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let engine = Engine::ALL.into_iter().find(|engine| engine.name() == name);
        let engine = engine.ok_or_else(|| wrong("cpu, software or gpu", name))?;
        let mut value = |name: &'static str| {
            let word = words.next().unwrap_or_default();
            let value = word
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('='));
            value.ok_or_else(|| wrong(&format!("{name}=.."), word))
        };
        let workers = value("workers")?;
        let workers = workers
            .parse()
            .ok()
            .filter(|workers| (1..=MOST_WORKERS).contains(workers))
            .ok_or_else(|| wrong("a number of workers", workers))?;
        let numbers = Costs {
            workers,
            launch: cost(value("launch")?)?,
            item: cost(value("item")?)?,
            multiply_add: cost(value("multiply_add")?)?,
            result: cost(value("result")?)?,
            fft: transforms(engine, value("fft")?)?,
        };
        match words.next() {
            None => Ok(CostTable::of(engine, numbers)),
            Some(more) => Err(wrong("nothing after fft=", more)),
        }
    }
}

/// The highest cost, thirty years: sums of costs stay finite for all possible lengths.
const MOST: f64 = 1e18;
/// The largest number of workers.
const MOST_WORKERS: usize = 1 << 20;

fn cost(text: &str) -> Result<f64> {
    let cost = text.parse().ok();
    let cost = cost.filter(|cost: &f64| (0.0..=MOST).contains(cost));
    cost.ok_or_else(|| wrong("a cost in nanoseconds", text))
}

fn transforms(engine: Engine, text: &str) -> Result<Vec<(u32, f64)>> {
    let (least, most) = engine.reach();
    let mut fft: Vec<(u32, f64)> = Vec::new();
    for entry in text.split(',').filter(|entry| !entry.is_empty()) {
        let parts = entry.split_once(':');
        let (k, value) = parts.ok_or_else(|| wrong("k:cost", entry))?;
        let after = fft.last().map_or(least, |&(last, _)| last + 1);
        let k = k.parse().ok().filter(|k| (after..=most).contains(k));
        let k = k.ok_or_else(|| {
            let expected = format!("increasing exponents of 2 from {least} to {most}");
            wrong(&expected, entry)
        })?;
        fft.push((k, cost(value)?));
    }
    Ok(fft)
}

fn wrong(expected: &str, got: &str) -> Error {
    Error::CostTable {
        expected: expected.to_owned(),
        got: got.to_owned(),
    }
}

#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[apply(unit_test)]
    fn tables_are_read_back() {
        let all = [
            CostTable::cpu(),
            CostTable::gpu(),
            CostTable::software_gpu(),
        ];
        for table in all {
            let text = table.to_string();
            assert_eq!(text.parse(), Ok(table), "{text}");
        }
        let odd = "cpu workers=3 launch=0.1 item=1e-9 multiply_add=0.30000000000000004 result=0 fft=4:1.5,7:2";
        let table: CostTable = odd.parse().unwrap();
        assert_eq!(table.to_string().parse(), Ok(table.clone()));
        assert_ne!(table.key(), CostTable::cpu().key());
        let more = table.clone().with_workers(9);
        assert_eq!((more.key(), more.numbers().workers), (table.key(), 9));
    }

    #[apply(unit_test)]
    fn what_is_no_table_is_refused() {
        let good = "cpu workers=1 launch=0 item=1 multiply_add=1 result=1 fft=4:1";
        for (from, to, expected) in [
            (
                "cpu",
                "tpu",
                "costs: expected cpu, software or gpu, got \"tpu\"",
            ),
            (
                "workers=1 ",
                "",
                "costs: expected workers=.., got \"launch=0\"",
            ),
            (
                "workers=1",
                "workers=0",
                "costs: expected a number of workers, got \"0\"",
            ),
            (
                "workers=1",
                "workers=1048577",
                "costs: expected a number of workers, got \"1048577\"",
            ),
            (
                "item=1",
                "item=NaN",
                "costs: expected a cost in nanoseconds, got \"NaN\"",
            ),
            (
                "item=1",
                "item=-1",
                "costs: expected a cost in nanoseconds, got \"-1\"",
            ),
            (
                "item=1",
                "item=1e19",
                "costs: expected a cost in nanoseconds, got \"1e19\"",
            ),
            ("fft=4:1", "", "costs: expected fft=.., got \"\""),
            (
                "4:1",
                "4:1,4:2",
                "costs: expected increasing exponents of 2 from 3 to 31, got \"4:2\"",
            ),
            (
                "4:1",
                "32:1",
                "costs: expected increasing exponents of 2 from 3 to 31, got \"32:1\"",
            ),
            ("4:1", "4", "costs: expected k:cost, got \"4\""),
            (
                "4:1",
                "4:1 5:1",
                "costs: expected nothing after fft=, got \"5:1\"",
            ),
        ] {
            let text = good.replacen(from, to, 1);
            let error = text.parse::<CostTable>().unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
            assert_eq!((error.kind(), error.op()), ("cost_table", "costs"));
        }
        assert!(good.parse::<CostTable>().is_ok());
        assert!("".parse::<CostTable>().is_err());
    }
}
