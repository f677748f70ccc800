//! One nearest neighbour: from a table of distances to classes and a confusion matrix.

use crate::ts::Dataset;

/// Each test series with its nearest training series, and the resulting classes.
pub struct Classified {
    /// Labels of both files: the training file's, then those that only the test file has.
    pub labels: Vec<String>,
    /// For each test series, the index of its class in `labels`.
    pub actual: Vec<usize>,
    /// For each test series, the class of its nearest training series.
    pub predicted: Vec<usize>,
    /// For each test series, the index of its nearest training series; the first of several.
    pub nearest: Vec<usize>,
}

impl Classified {
    /// `distances` is row-major, test × train.
    pub fn new(test: &Dataset, train: &Dataset, distances: &[f32]) -> Classified {
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
        let nearest: Vec<usize> = distances
            .chunks(train.series.len())
            .map(first_least)
            .collect();
        Classified {
            labels,
            actual: test.classes.iter().map(|&class| place[class]).collect(),
            predicted: nearest.iter().map(|&i| train.classes[i]).collect(),
            nearest,
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
}

fn first_least(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, distance) in row.iter().enumerate() {
        if *distance < row[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(labels: &[&str], classes: &[usize]) -> Dataset {
        Dataset {
            name: "x".to_owned(),
            labels: labels.iter().map(|&l| l.to_owned()).collect(),
            series: vec![vec![1.0]; classes.len()],
            classes: classes.to_vec(),
        }
    }

    #[test]
    fn of_equal_distances_the_first_wins() {
        assert_eq!(first_least(&[0.5, 0.25, 0.25, 0.75]), 1);
        assert_eq!(first_least(&[1.0, 1.0]), 0);
    }

    #[test]
    fn labels_are_matched_by_name() {
        let train = dataset(&["a", "b"], &[0, 1]);
        let test = dataset(&["c", "b", "a"], &[0, 1, 2, 2]);
        // Nearest: b, b, a, b.
        let distances = [1.0, 0.5, 0.9, 0.1, 0.2, 0.4, 0.7, 0.6];
        let got = Classified::new(&test, &train, &distances);
        assert_eq!(got.labels, ["a", "b", "c"]);
        assert_eq!(got.actual, [2, 1, 0, 0]);
        assert_eq!(got.predicted, [1, 1, 0, 1]);
        assert_eq!(got.nearest, [1, 1, 0, 1]);
        assert_eq!((got.correct(), got.accuracy()), (2, 0.5));
        assert_eq!(got.errors().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(
            got.confusion(),
            [vec![1, 1, 0], vec![0, 1, 0], vec![0, 1, 0]]
        );
    }
}
