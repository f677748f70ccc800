//! Actual and predicted classes of test series, and a confusion matrix.

use std::fmt::Write;

use crate::numbers::thousands;
use crate::ts::Dataset;

/// Column headers longer than this are replaced by the class's number.
const LONGEST_HEAD: usize = 4;
/// With more classes than this, the table does not fit a terminal, and the most frequent confusions are listed instead.
const MOST_COLUMNS: usize = 40;
const MOST_LISTED: usize = 40;

/// The actual and the predicted class of each test series.
pub struct Classified {
    /// Labels of both files: the training file's, then those that only the test file has.
    pub labels: Vec<String>,
    /// For each test series, the index of its class in `labels`.
    pub actual: Vec<usize>,
    /// For each test series, the index of the predicted class in `labels`.
    pub predicted: Vec<usize>,
}

impl Classified {
    /// `predicted` has the index of a class of the training file for each test series.
    pub fn new(test: &Dataset, train: &Dataset, predicted: Vec<usize>) -> Classified {
        let mut labels = train.labels.clone();
        let place: Vec<usize> = test
            .labels
            .iter()
            .map(|label| {
                labels.iter().position(|l| l == label).unwrap_or_else(|| {
                    labels.push(label.clone());
                    labels.len() - 1
                })
            })
            .collect();
        Classified {
            labels,
            actual: test.classes.iter().map(|&class| place[class]).collect(),
            predicted,
        }
    }

    pub fn correct(&self) -> usize {
        self.actual.len() - self.errors().count()
    }

    /// The share of the test series that are assigned their own class.
    pub fn accuracy(&self) -> f64 {
        self.correct() as f64 / self.actual.len() as f64
    }

    /// The indices of the test series that are assigned another class.
    pub fn errors(&self) -> impl Iterator<Item = usize> {
        (0..self.actual.len()).filter(|&i| self.actual[i] != self.predicted[i])
    }

    /// How often class i is classified as class j, at [i][j].
    pub fn confusion(&self) -> Vec<Vec<usize>> {
        let mut table = vec![vec![0; self.labels.len()]; self.labels.len()];
        for (&actual, &predicted) in self.actual.iter().zip(&self.predicted) {
            table[actual][predicted] += 1;
        }
        table
    }

    /// The table as text, or a list if the table would be too wide.
    pub fn write_confusion(&self, out: &mut String) -> std::fmt::Result {
        let (labels, table) = (&self.labels, self.confusion());
        if labels.len() > MOST_COLUMNS {
            return self.write_confusions(out, &table);
        }
        let (rows, columns) = heads(labels);
        let width = |texts: &[String]| texts.iter().map(|t| t.chars().count()).max();
        let head = width(&rows).unwrap_or_default();
        let counts = table.iter().flatten().map(|n| n.to_string().len());
        let cell = counts.chain(width(&columns)).max().unwrap_or_default();

        writeln!(
            out,
            "confusion    rows: actual class, columns: predicted class"
        )?;
        write!(out, "  {:head$}  ", "")?;
        for column in columns {
            write!(out, " {column:>cell$}")?;
        }
        writeln!(out, "   found")?;
        for (i, row) in table.iter().enumerate() {
            write!(out, "  {:>head$} |", rows[i])?;
            for &n in row {
                match n {
                    0 => write!(out, " {:>cell$}", "·")?,
                    _ => write!(out, " {n:>cell$}")?,
                }
            }
            writeln!(out, "   {} of {}", row[i], row.iter().sum::<usize>())?;
        }
        Ok(())
    }

    fn write_confusions(&self, out: &mut String, table: &[Vec<usize>]) -> std::fmt::Result {
        let labels = &self.labels;
        let mut confusions: Vec<(usize, usize, usize)> = (0..labels.len())
            .flat_map(|i| (0..labels.len()).map(move |j| (i, j)))
            .filter(|&(i, j)| i != j && table[i][j] > 0)
            .map(|(i, j)| (table[i][j], i, j))
            .collect();
        confusions.sort_by_key(|&(count, i, j)| (usize::MAX - count, i, j));
        writeln!(
            out,
            "confusion    actual class → predicted class, most frequent first"
        )?;
        for (count, i, j) in confusions.iter().take(MOST_LISTED) {
            writeln!(out, "  {count:>6} × {} → {}", labels[*i], labels[*j])?;
        }
        match confusions.len() {
            0 => writeln!(out, "  none"),
            n if n > MOST_LISTED => writeln!(out, "  and {} more", thousands(n - MOST_LISTED)),
            _ => Ok(()),
        }
    }
}

/// Row and column headers of a table: the labels, or numbered labels if they are too long for a column.
fn heads(labels: &[String]) -> (Vec<String>, Vec<String>) {
    if labels
        .iter()
        .all(|label| label.chars().count() <= LONGEST_HEAD)
    {
        return (labels.to_vec(), labels.to_vec());
    }
    let number = |i: usize| format!("({i})");
    let row = |(i, label)| format!("{label} {:>4}", number(i));
    (
        labels.iter().enumerate().map(row).collect(),
        (0..labels.len()).map(number).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(labels: &[&str], classes: &[usize]) -> Dataset {
        Dataset {
            name: "x".to_owned(),
            labels: labels.iter().map(|&l| l.to_owned()).collect(),
            channels: 1,
            series: vec![vec![1.0]; classes.len()],
            classes: classes.to_vec(),
        }
    }

    #[test]
    fn labels_are_matched_by_name() {
        let train = dataset(&["a", "b"], &[0, 1]);
        let test = dataset(&["c", "b", "a"], &[0, 1, 2, 2]);
        let got = Classified::new(&test, &train, vec![1, 1, 0, 1]);
        assert_eq!(got.labels, ["a", "b", "c"]);
        assert_eq!(got.actual, [2, 1, 0, 0]);
        assert_eq!(got.predicted, [1, 1, 0, 1]);
        assert_eq!((got.correct(), got.accuracy()), (2, 0.5));
        assert_eq!(got.errors().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(
            got.confusion(),
            [vec![1, 1, 0], vec![0, 1, 0], vec![0, 1, 0]]
        );
    }
}
