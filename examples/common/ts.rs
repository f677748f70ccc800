//! Reader of the `.ts` text format of the UCR and UEA archives: one labelled series a line.
//!
//! ```text
//! # comments, and blank lines, anywhere
//! @problemName Walks
//! @timeStamps false
//! @univariate true
//! @classLabel true slow fast
//! @data
//! 0.1,0.2,0.1:slow
//! 1.5,-2.5:fast
//! ```
//!
//! A series of several channels lists one channel after the other, with a colon between them: `1,2:3,4:slow` has two
//! samples of two channels. Series may differ in length; the channels of one series may not.
//!
//! Header names are case-insensitive, and names that do not affect the form of the data are skipped. Missing values and
//! time stamps are refused with their line number, never guessed at.

use std::fmt;
use std::fs;
use std::path::Path;

/// The series of one file, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// `@problemName`, or the file's name.
    pub name: String,
    /// The class labels, in the header's order.
    pub labels: Vec<String>,
    /// The number of channels of every series.
    pub channels: usize,
    /// The values of each series, sample by sample, each with its channels; at least one sample; all finite.
    pub series: Vec<Vec<f64>>,
    /// For each series, the index of its class in `labels`.
    pub classes: Vec<usize>,
}

/// An error in a file, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct TsError {
    file: String,
    /// Counted from 1; none if the file could not be read at all.
    line: Option<usize>,
    problem: String,
}

impl fmt::Display for TsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}: line {line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for TsError {}

/// Reads a file.
///
/// # Errors
///
/// If the file cannot be opened, or for the first line that is not a labelled series.
pub fn read(path: &Path) -> Result<Dataset, TsError> {
    let file = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => parse(&file, &bytes),
        Err(error) => Err(TsError {
            file,
            line: None,
            problem: error.to_string(),
        }),
    }
}

/// Reads the bytes of a file; `file` is the name that errors mention.
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &str, bytes: &[u8]) -> Result<Dataset, TsError> {
    let mut reader = Reader::default();
    let mut number = 0;
    // Split before decoding, so that invalid UTF-8 can be reported with its line.
    let parsed = bytes.split(|&byte| byte == b'\n').try_for_each(|line| {
        number += 1;
        let text = str::from_utf8(line).map_err(|_| "the text is not UTF-8".to_owned())?;
        let text = match number {
            1 => text.strip_prefix('\u{feff}').unwrap_or(text),
            _ => text,
        };
        reader.line(text.trim()) // `trim` takes the carriage return of CRLF too
    });
    parsed
        .and_then(|()| reader.finish(file))
        .map_err(|problem| TsError {
            file: file.to_owned(),
            // A file that ends in a line break has no empty last line.
            line: Some(match bytes.last() {
                Some(b'\n') => number.min(bytes.iter().filter(|&&byte| byte == b'\n').count()),
                _ => number,
            }),
            problem,
        })
}

/// The state of the reader.
#[derive(Default)]
struct Reader {
    name: Option<String>,
    labels: Option<Vec<String>>,
    /// How many channels a series must have, and the reason.
    channels: Option<(usize, String)>,
    equal_length: bool,
    in_data: bool,
    series: Vec<Vec<f64>>,
    classes: Vec<usize>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with(['#', '%']) {
            return Ok(());
        }
        match line.strip_prefix('@') {
            Some(_) if self.in_data => {
                Err(format!("{} after @data: the header has ended", clip(line)))
            }
            Some(header) => self.header(header),
            None if self.in_data => self.row(line),
            None => Err(format!(
                "{} before @data: only @ lines and # comments are allowed here",
                clip(line)
            )),
        }
    }

    fn header(&mut self, header: &str) -> Result<(), String> {
        let mut words = header.split_whitespace();
        let name = words.next().unwrap_or_default().to_lowercase();
        match name.as_str() {
            "problemname" => self.name = words.next().map(str::to_owned),
            "timestamps" if flag(&name, words.next())? => {
                return Err("series with time stamps are not supported".to_owned());
            }
            "univariate" if flag(&name, words.next())? => {
                self.expect_channels(1, "@univariate is true")?;
            }
            "dimension" | "dimensions" => {
                let word = words.next().unwrap_or_default();
                match word.parse() {
                    Ok(channels) if channels > 0 => {
                        self.expect_channels(channels, &format!("@{name} is {channels}"))?;
                    }
                    _ => {
                        return Err(format!(
                            "@{name} must be a number of channels, not {}",
                            clip(word)
                        ));
                    }
                }
            }
            "targetlabel" if flag(&name, words.next())? => {
                return Err(
                    "the file is for regression (@targetLabel): class labels are needed".to_owned(),
                );
            }
            "equallength" => self.equal_length = flag(&name, words.next())?,
            "missing" => _ = flag(&name, words.next())?, // what counts is whether a value is missing
            "classlabel" => {
                if !flag(&name, words.next())? {
                    return Err("the series have no class labels (@classLabel false)".to_owned());
                }
                let labels: Vec<String> = words.map(str::to_owned).collect();
                if labels.is_empty() {
                    return Err("@classLabel true lists no labels".to_owned());
                }
                if let Some(label) = labels.iter().find(|l| l.contains(char::is_control)) {
                    return Err(format!("the label {} is not printable", clip(label)));
                }
                self.labels = Some(labels);
            }
            "data" if self.labels.is_none() => {
                return Err("@data before @classLabel: class labels are needed".to_owned());
            }
            "data" => self.in_data = true,
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with('(') {
            return Err("series with time stamps are not supported".to_owned());
        }
        let Some((values, label)) = line.rsplit_once(':') else {
            return Err("no class label after the values: is the file truncated?".to_owned());
        };
        let label = label.trim();
        let labels = self.labels.as_deref().unwrap_or_default();
        let class = match labels.iter().position(|known| known == label) {
            Some(class) => class,
            None if label.is_empty() => {
                return Err("the class label is empty: is the file truncated?".to_owned());
            }
            None => return Err(format!("the label {} is not in @classLabel", clip(label))),
        };
        let channels = channels(values)?;
        self.expect_channels(
            channels.len(),
            &format!("the first series has {}", channels.len()),
        )?;
        let samples = channels.first().map_or(0, Vec::len);
        if self.equal_length
            && let Some(first) = self.series.first().map(|s| s.len() / channels.len())
            && first != samples
        {
            return Err(format!(
                "{samples} values, but @equalLength is true and the first series has {first}"
            ));
        }
        let values = (0..samples).flat_map(|i| channels.iter().map(move |channel| channel[i]));
        self.series.push(values.collect());
        self.classes.push(class);
        Ok(())
    }

    /// Refuses a number of channels that is not the expected one, or expects it from now on, for this reason.
    fn expect_channels(&mut self, channels: usize, reason: &str) -> Result<(), String> {
        match &self.channels {
            Some((expected, why)) if *expected != channels => Err(match self.in_data {
                true => format!("{channels} channels, but {why}"),
                false => format!("{reason}, but {why}"),
            }),
            Some(_) => Ok(()),
            None => {
                self.channels = Some((channels, reason.to_owned()));
                Ok(())
            }
        }
    }

    fn finish(self, file: &str) -> Result<Dataset, String> {
        if !self.in_data {
            return Err("no @data line: the file is truncated, or not a .ts file".to_owned());
        }
        if self.series.is_empty() {
            return Err("no series after @data".to_owned());
        }
        let stem = || Path::new(file).file_stem().unwrap_or_default();
        Ok(Dataset {
            name: self
                .name
                .unwrap_or_else(|| stem().to_string_lossy().into_owned()),
            labels: self.labels.unwrap_or_default(),
            channels: self.channels.map_or(1, |(channels, _)| channels),
            series: self.series,
            classes: self.classes,
        })
    }
}

fn flag(name: &str, word: Option<&str>) -> Result<bool, String> {
    match word.map(str::to_lowercase).as_deref() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(format!(
            "@{name} must be true or false, not {}",
            clip(word.unwrap_or_default())
        )),
    }
}

/// The values of each channel of a series.
fn channels(text: &str) -> Result<Vec<Vec<f64>>, String> {
    let several = text.contains(':');
    let mut channels: Vec<Vec<f64>> = Vec::new();
    for (index, text) in text.split(':').enumerate() {
        // Counted from 1, like the values.
        let number = index + 1;
        if text.trim().is_empty() {
            return Err(match several {
                true => format!("channel {number} is empty"),
                false => "the series is empty".to_owned(),
            });
        }
        let values = text.split(',').enumerate();
        let values = values
            .map(|(index, text)| value(index + 1, text.trim()))
            .collect::<Result<Vec<f64>, String>>()
            .map_err(|problem| match several {
                true => format!("channel {number}: {problem}"),
                false => problem,
            })?;
        if let Some(first) = channels.first()
            && first.len() != values.len()
        {
            return Err(format!(
                "channel {number} has {} values, but channel 1 has {}",
                values.len(),
                first.len()
            ));
        }
        channels.push(values);
    }
    Ok(channels)
}

fn value(position: usize, text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) if value.is_nan() => Err(format!("value {position} is missing ({text})")),
        Ok(_) => Err(format!("value {position} is not finite ({})", clip(text))),
        Err(_) if text.is_empty() => Err(format!("value {position} is empty")),
        Err(_) if text == "?" => Err(format!("value {position} is missing (?)")),
        Err(_) => Err(format!("value {position} is not a number: {}", clip(text))),
    }
}

/// Text of the file, shortened for a message: a line may be megabytes long and contain anything.
fn clip(text: &str) -> String {
    const LONGEST: usize = 24;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
#[path = "ts/tests.rs"]
mod tests;
