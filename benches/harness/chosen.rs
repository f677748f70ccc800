//! Chosen rows of a stored run beside the peer's times, each with a caption, as a short table.

use serde_json::Value;

use super::table;
use super::text::number;

/// A row that both runs have. Times are in microseconds.
pub struct Chosen<'a> {
    pub name: &'a str,
    pub caption: &'a str,
    pub data: &'a str,
    pub ours: f64,
    /// The ways in which the peer implements it, the fastest one first.
    pub theirs: Vec<(&'a str, f64)>,
}

impl Chosen<'_> {
    pub fn times_as_fast(&self) -> f64 {
        self.theirs[0].1 / self.ours
    }
}

/// The rows of `list`, in its order. Each line of it is the name of a row, a space, and a caption.
pub fn rows<'a>(list: &'a str, run: &'a Value, peer: &'a Value) -> Result<Vec<Chosen<'a>>, String> {
    let common = table::common(run, peer);
    let chosen = list.lines().map(|line| {
        let (name, caption) = line
            .split_once(' ')
            .ok_or_else(|| format!("no caption: {line:?}"))?;
        let row = common.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| format!("{name} is not in both files"))?;
        let ways = row.theirs.as_object().into_iter().flatten();
        let times = ways.filter_map(|(way, time)| Some((way.as_str(), time["us"].as_f64()?)));
        let mut theirs: Vec<_> = times.collect();
        theirs.sort_by(|a, b| a.1.total_cmp(&b.1));
        if theirs.is_empty() {
            return Err(format!("{name}: the peer has no time"));
        }
        Ok(Chosen {
            name,
            caption: caption.trim(),
            data: row.row["data"].as_str().unwrap_or_default(),
            ours: row.ours,
            theirs,
        })
    });
    chosen.collect()
}

pub fn markdown(rows: &[Chosen<'_>], peer: &Value) -> String {
    let mut text = format!(
        "{}; µs\n\n| | vsla | PyTorch | times as fast | row |\n| --- | ---: | ---: | ---: | --- |\n",
        table::peer_name(peer)
    );
    for row in rows {
        let theirs = row.theirs.iter();
        let theirs = theirs.map(|(way, us)| format!("{} ({way})", number(*us)));
        text += &format!(
            "| {} | {} | {} | {:.1} | `{}` |\n",
            row.caption,
            number(row.ours),
            theirs.collect::<Vec<_>>().join(", "),
            row.times_as_fast(),
            row.name,
        );
    }
    text
}
