//! The whole example: on its sample, on files with every kind of list, and on files with mistakes in them.

use std::fs;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, make_array};
use arrow_schema::{DataType, Field, Schema};
use vsla::io::ArrowValue;
use vsla::{Device, Ragged, f16};

use super::*;
use crate::folder::Folder;

fn of(folder: &Folder, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    of_device(folder, "cpu", arguments)
}

fn of_device(folder: &Folder, device: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let out = folder.0.to_str().unwrap();
    let all = ["vsla-parquet", "--out", out, "--device", device];
    run(&Args::try_parse_from(all.iter().chain(arguments))?)
}

fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let error = of(folder, arguments).unwrap_err().to_string();
    let files = fs::read_dir(&folder.0).unwrap();
    let mut names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.ends_with(".part")), "{error}");
    error.replace(&format!("{}/", folder.0.display()), "")
}

/// Writes a file of these columns, in row groups of three rows.
fn file(folder: &Folder, name: &str, columns: Vec<(&str, ArrayRef)>) -> String {
    let path = folder.0.join(name);
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut writer = sink::writer(&path, schema).unwrap();
    for first in (0..batch.num_rows()).step_by(3) {
        let rows = batch.slice(first, 3.min(batch.num_rows() - first));
        writer.write(&rows).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    path.to_str().unwrap().to_owned()
}

fn list<T: ArrowValue>(rows: &Ragged<T>, data_type: &DataType) -> ArrayRef {
    make_array(rows.clone().into_arrow(data_type).unwrap())
}

fn floats(rows: &[&[f32]]) -> ArrayRef {
    let rows = Ragged::from_rows(rows).unwrap();
    list(&rows, &DataType::new_list(DataType::Float32, true))
}

/// Lists with nulls: of a row, and of a value.
fn with_nulls(rows: &[Option<&[Option<f32>]>]) -> ArrayRef {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows {
        match row {
            Some(row) => lists.append_value(row.iter().copied()),
            None => lists.append_null(),
        }
    }
    Arc::new(lists.finish())
}

/// All rows of a file, as one batch.
fn table(path: &Path) -> RecordBatch {
    let mut batches = source::batches(path, 1 << 20).unwrap();
    let (first, batch) = batches.next().unwrap().unwrap();
    assert!(first == 0 && batches.next().is_none());
    batch
}

fn rows(column: &ArrayRef) -> Vec<Vec<f32>> {
    let lists = column.as_list::<i32>();
    let row = |i| {
        lists
            .value(i)
            .as_primitive::<Float32Type>()
            .values()
            .to_vec()
    };
    (0..lists.len()).map(row).collect()
}

/// The columns of results in a folder.
fn results(folder: &Folder, name: &str) -> [Vec<Vec<f32>>; 2] {
    let batch = table(&folder.0.join(name));
    let last = batch.num_columns();
    [2, 1].map(|back| rows(batch.column(last - back)))
}

#[test]
fn the_sample_is_smoothed_and_transformed() {
    let folder = Folder::new("parquet-sample");
    let report = of(&folder, &[]).unwrap();
    assert!(report.contains(": 1,000 series of 0 to 1,9"), "{report}");
    assert!(
        report.contains("; 1,000 of 1,000 rows against f64"),
        "{report}"
    );
    let (before, after) = (
        table(&folder.0.join("sample.parquet")),
        table(&folder.0.join("sample-spectra.parquet")),
    );
    let names: Vec<_> = after
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["id", "signal", "signal_smooth", "signal_spectrum"]);
    assert_eq!(&after.columns()[..2], before.columns());
    let [smooth, spectrum] = results(&folder, "sample-spectra.parquet");
    for ((series, smooth), spectrum) in rows(before.column(1)).iter().zip(&smooth).zip(&spectrum) {
        assert_eq!(series.len(), smooth.len());
        assert_eq!(
            spectrum.len(),
            if series.is_empty() {
                0
            } else {
                series.len() / 2 + 1
            }
        );
    }
}

/// Where there is a GPU, its results are within the tolerance of f64, too.
#[cfg(feature = "gpu")]
#[test]
fn a_gpu_gives_these_results() {
    match Device::gpu_blocking(vsla::device::GpuOptions::default()) {
        Ok(_) => {
            let folder = Folder::new("parquet-gpu");
            let report = of_device(&folder, "gpu", &[]).unwrap();
            assert!(report.contains("1,000 of 1,000"), "{report}");
        }
        Err(error) => assert!(std::env::var_os("VSLA_REQUIRE_GPU").is_none(), "{error}"),
    }
}

/// By hand: weights ½, 1, ½, of which those at the ends count ⅔ and ⅓.
#[test]
fn three_samples() {
    let folder = Folder::new("parquet-three");
    let series = floats(&[&[1.0, 2.0, 3.0], &[], &[5.0], &[4.0, -2.0]]);
    let path = file(&folder, "a.parquet", vec![("x", series)]);
    of(&folder, &[&path, "--window", "3"]).unwrap();
    let [smooth, spectrum] = results(&folder, "a-spectra.parquet");
    let expected = [
        vec![4.0 / 3.0, 2.0, 8.0 / 3.0],
        vec![],
        vec![5.0],
        vec![2.0, 0.0],
    ];
    assert_close(&smooth, &expected);
    // Of −1, 0, 1 and of 3, −3.
    assert_close(
        &spectrum,
        &[vec![0.0, 3f32.sqrt()], vec![], vec![0.0], vec![0.0, 6.0]],
    );
    // A window of one sample changes nothing.
    of(&folder, &[&path, "--window", "1"]).unwrap();
    let [smooth, _] = results(&folder, "a-spectra.parquet");
    assert_close(
        &smooth,
        &[vec![1.0, 2.0, 3.0], vec![], vec![5.0], vec![4.0, -2.0]],
    );
}

fn assert_close(results: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(result.len(), expected.len());
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
        assert!(
            result.iter().zip(expected).all(near),
            "{result:?} {expected:?}"
        );
    }
}

/// How many rows are read at a time changes no bit.
#[test]
fn batches_do_not_matter() {
    let folder = Folder::new("parquet-batches");
    of(&folder, &[]).unwrap();
    let sample = folder.0.join("sample.parquet");
    let expected = results(&folder, "sample-spectra.parquet");
    for rows in ["7", "333", "100000"] {
        of(&folder, &[sample.to_str().unwrap(), "--batch", rows]).unwrap();
        assert!(
            results(&folder, "sample-spectra.parquet") == expected,
            "{rows}"
        );
    }
}

/// Every kind of list and every type of numbers gives the results of lists of `Float32`.
#[test]
fn every_type() {
    let folder = Folder::new("parquet-types");
    let whole =
        Ragged::from_rows([[3i32, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 9, 3]]).unwrap();
    let expected = {
        let list = list(
            &whole.cast(|x| x as f32).unwrap(),
            &DataType::new_list(DataType::Float32, true),
        );
        let path = file(&folder, "f.parquet", vec![("x", list)]);
        of(&folder, &[&path]).unwrap();
        results(&folder, "f-spectra.parquet")
    };
    let entries = |number: &DataType| {
        [
            DataType::new_list(number.clone(), true),
            DataType::new_large_list(number.clone(), false),
            DataType::new_fixed_size_list(number.clone(), 4, true),
        ]
    };
    macro_rules! of_type {
        ($($t:ty, $number:ident, $convert:expr;)*) => {$(
            for data_type in entries(&DataType::$number) {
                let rows: Ragged<$t> = whole.cast($convert).unwrap();
                let path = file(&folder, "t.parquet", vec![("x", list(&rows, &data_type))]);
                of(&folder, &[&path, "--nulls", "7"]).unwrap();
                assert!(results(&folder, "t-spectra.parquet") == expected, "{data_type}");
            }
        )*};
    }
    of_type! {
        f64, Float64, f64::from;
        f32, Float32, |x| x as f32;
        f16, Float16, |x| f16::from_f32(x as f32);
        i8, Int8, |x| x as i8;
        i16, Int16, |x| x as i16;
        i32, Int32, |x| x;
        i64, Int64, i64::from;
        u8, UInt8, |x| x as u8;
        u16, UInt16, |x| x as u16;
        u32, UInt32, |x| x as u32;
        u64, UInt64, |x| x as u64;
    }
}

#[test]
fn files_without_values() {
    let folder = Folder::new("parquet-empty");
    for (rows, text) in [
        (&[][..], "0 series of 0 samples"),
        (&[&[][..]; 4], "4 series of 0 samples"),
    ] {
        let path = file(&folder, "e.parquet", vec![("x", floats(rows))]);
        let report = of(&folder, &[&path]).unwrap();
        assert!(report.contains(text), "{report}");
        let written = fs::read(folder.0.join("e-spectra.parquet")).unwrap();
        assert!(written.starts_with(b"PAR1"));
    }
}

/// NaN and infinity stay in their row.
#[test]
fn not_finite() {
    let folder = Folder::new("parquet-nan");
    let ramp: Vec<f32> = (0..50).map(|i| i as f32).collect();
    let path = file(
        &folder,
        "a.parquet",
        vec![("x", floats(&[&ramp, &ramp, &ramp]))],
    );
    of(&folder, &[&path]).unwrap();
    let expected = results(&folder, "a-spectra.parquet");
    let mut nan = ramp.clone();
    nan[20] = f32::NAN;
    nan[30] = f32::INFINITY;
    let path = file(
        &folder,
        "b.parquet",
        vec![("x", floats(&[&ramp, &nan, &ramp]))],
    );
    let report = of(&folder, &[&path]).unwrap();
    assert!(report.contains("2 of 3 rows against f64"), "{report}");
    assert!(report.contains("not compared: 1\n"), "{report}");
    let found = results(&folder, "b-spectra.parquet");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found[0] == expected[0] && found[2] == expected[2]);
        assert!(found[1].iter().any(|value| !value.is_finite()));
    }
}

#[test]
fn nulls() {
    let folder = Folder::new("parquet-nulls");
    let values: &[Option<f32>] = &[Some(1.0), Some(2.0)];
    let hole: &[Option<f32>] = &[Some(1.0), Some(2.0), None];
    let some = Some(values);
    let value = with_nulls(&[some, some, some, some, Some(hole), None]);
    let path = file(&folder, "a.parquet", vec![("x", value)]);
    // The row is counted in the file, and not in its batch.
    for batch in ["1", "3", "5", "100"] {
        let error = refused(&folder, &[&path, "--batch", batch]);
        assert_eq!(
            error,
            "a.parquet: row 4: column `x` is null at 2: see --nulls"
        );
    }
    let list = with_nulls(&[some, None, some]);
    let other = file(&folder, "b.parquet", vec![("x", list)]);
    let error = refused(&folder, &[&other]);
    assert_eq!(error, "b.parquet: row 1: column `x` is null: see --nulls");

    // The check reads nulls, too.
    let report = of(&folder, &[&path, "--nulls", "-4", "--window", "1"]).unwrap();
    assert!(report.contains("6 of 6 rows"), "{report}");
    let [smooth, _] = results(&folder, "a-spectra.parquet");
    assert_eq!(smooth[4], [1.0, 2.0, -4.0]);
    assert_eq!(smooth[5], []);
    // The column itself still has its nulls.
    let written = table(&folder.0.join("a-spectra.parquet"));
    assert!(written.column(0).is_null(5) && written.column(0).null_count() == 1);
    // As NaN, such a row is not compared.
    let report = of(&folder, &[&path, "--nulls", "NaN"]).unwrap();
    assert!(report.contains("5 of 6 rows"), "{report}");

    let whole = Ragged::from_rows([[1i16, 2]]).unwrap();
    let whole = self::list(&whole, &DataType::new_list(DataType::Int16, true));
    let path = file(&folder, "c.parquet", vec![("x", whole)]);
    let error = refused(&folder, &[&path, "--nulls", "0.5"]);
    assert_eq!(
        error,
        "c.parquet: --nulls 0.5: column `x` has values of Int16"
    );
}

#[test]
fn wrong_columns() {
    let folder = Folder::new("parquet-columns");
    let ids = || Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    let names = || Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
    let series = || floats(&[&[1.0], &[2.0]]);
    let boxes = Ragged::from_padded(&[1.0f32; 2], 1, &[1, 1]).unwrap();
    let nested = DataType::new_list(DataType::Float32, true);
    let nested = {
        let inner = list(&boxes, &nested).to_data();
        let outer = vsla::Ragged::<f32>::from_arrow(inner).unwrap();
        let shapes = [(); 2].map(|()| vsla::Shape::new(&[1, 1]).unwrap());
        let outer = Ragged::from_shapes(outer.into_parts().1, 2, shapes).unwrap();
        list(&outer, &DataType::new_list(nested, true))
    };
    let columns = vec![("id", ids()), ("name", names()), ("boxes", nested)];
    let path = file(&folder, "a.parquet", columns);
    let named = |name: &str| refused(&folder, &[&path, "--column", name]);
    let all = "`id` (Int32), `name` (Utf8), `boxes` (List(List(Float32)))";
    let types = [
        ("id", "Int32"),
        ("name", "Utf8"),
        ("boxes", "List(List(Float32))"),
    ];
    for (name, data_type) in types {
        let expected = format!(
            "a.parquet: column `{name}` is {data_type}: expected a list of numbers in each row"
        );
        assert_eq!(named(name), expected);
    }
    assert_eq!(
        named("Id"),
        format!("a.parquet: no column `Id`; the columns are {all}")
    );
    let expected = format!("a.parquet: no column holds lists of numbers; the columns are {all}");
    assert_eq!(refused(&folder, &[&path]), expected);

    let path = file(
        &folder,
        "b.parquet",
        vec![("x", series()), ("id", ids()), ("y", series())],
    );
    let expected = "b.parquet: several columns hold lists of numbers: choose one by --column, of `x` (List(Float32)), \
                    `y` (List(Float32))";
    assert_eq!(refused(&folder, &[&path]), expected);
    of(&folder, &[&path, "--column", "y"]).unwrap();
    // The results of a column beside it.
    let path = file(
        &folder,
        "c.parquet",
        vec![("x", series()), ("x_smooth", series())],
    );
    let error = refused(&folder, &[&path, "--column", "x"]);
    assert_eq!(error, "c.parquet: column `x_smooth` exists already");
}

#[test]
fn values_beyond_f32() {
    let folder = Folder::new("parquet-range");
    let rows = Ragged::from_rows([
        vec![1.0],
        vec![],
        vec![f64::NAN, f64::INFINITY],
        vec![1.0, 1e300],
    ]);
    let series = list(&rows.unwrap(), &DataType::new_list(DataType::Float64, true));
    let path = file(&folder, "a.parquet", vec![("x", series)]);
    for batch in ["1", "2", "100"] {
        let error = refused(&folder, &[&path, "--batch", batch]);
        let expected =
            "a.parquet: row 3: column `x` is 1e300 at 1, which is out of the range of f32";
        assert_eq!(error, expected);
    }
}

#[test]
fn broken_files() {
    let folder = Folder::new("parquet-broken");
    assert_eq!(
        refused(&folder, &["nowhere.parquet"]),
        "nowhere.parquet: No such file or directory (os error 2)"
    );
    let text = folder.0.join("text.parquet");
    fs::write(&text, "id,signal\n1,2\n").unwrap();
    let error = refused(&folder, &[text.to_str().unwrap()]);
    assert!(error.starts_with("text.parquet: "), "{error}");
    assert!(!refused(&folder, &[folder.0.to_str().unwrap()]).is_empty());

    let ramp: Vec<f32> = (0..300).map(|i| (i * i % 91) as f32).collect();
    let path = file(
        &folder,
        "a.parquet",
        vec![("x", floats(&[&ramp, &ramp[..7], &[], &ramp[2..]]))],
    );
    let bytes = fs::read(&path).unwrap();
    for end in (0..bytes.len()).step_by(41) {
        fs::write(&path, &bytes[..end]).unwrap();
        let error = refused(&folder, &[&path]);
        assert!(error.starts_with("a.parquet: "), "{end}: {error}");
    }
}

/// The check finds a wrong value, a wrong bit, and missing rows.
#[test]
fn mistakes_are_found() {
    let folder = Folder::new("parquet-mistakes");
    let ramp: Vec<f32> = (0..60).map(|i| (i * i % 91) as f32).collect();
    let path = file(
        &folder,
        "a.parquet",
        vec![("x", floats(&[&ramp[..1], &ramp, &ramp[..9]]))],
    );
    let source = Source::new(Path::new(&path), None, None).unwrap();
    let bar = indicatif::ProgressBar::hidden();
    let job = Job::new(&Device::cpu(), 5).unwrap();
    let result = folder.0.join("result");
    let totals = convert(&source, &job, &result, 2, &bar).unwrap();
    let check = |width, digest: &check::Digest| {
        let checked = check::check(&result, &source, width, digest, &bar);
        let text = checked
            .map(|checked| checked.rows)
            .map_err(|error| error.to_string());
        text.map_err(|error| error.replace(&format!("{}/", folder.0.display()), ""))
    };
    assert_eq!(check(5, &totals.digest), Ok(3));
    let error = check(7, &totals.digest).unwrap_err();
    assert!(error.starts_with("result: row 1: smoothed is "), "{error}");
    let error = check(5, &check::Digest::default()).unwrap_err();
    assert_eq!(error, "result: other results than those that were written");

    // Results of other series, and of a part of them.
    let other = |name: &str, rows: &[&[f32]]| {
        let path = file(&folder, name, vec![("x", floats(rows))]);
        let other = Source::new(Path::new(&path), None, None).unwrap();
        convert(&other, &job, &result, 2, &bar).unwrap()
    };
    let totals = other("b.parquet", &[&ramp[..1], &ramp]);
    let error = check(5, &totals.digest).unwrap_err();
    assert_eq!(error, "result: 2 rows were written of 3");
}

#[test]
fn wrong_arguments() {
    let refused = |arguments: &[&str]| {
        let all = ["vsla-parquet"].iter().chain(arguments);
        Args::try_parse_from(all).is_err()
    };
    assert!(refused(&["--window", "4"]) && refused(&["--window", "0"]));
    assert!(refused(&["--batch", "0"]) && refused(&["--nulls", "none"]));
    assert!(!refused(&["a.parquet", "--nulls", "-1.5", "--window", "3"]));
}

/// As the documentation of `from_arrow` promises for a column that is alone in its array.
#[test]
fn columns_are_read_without_a_copy() {
    let folder = Folder::new("parquet-copies");
    let ramp: Vec<f32> = (0..5000).map(|i| i as f32).collect();
    let path = file(
        &folder,
        "a.parquet",
        vec![("x", floats(&[&ramp, &ramp[7..], &ramp[5..]]))],
    );
    let mut batch = table(Path::new(&path));
    let column = batch.remove_column(0);
    drop(batch);
    let at = column
        .as_list::<i32>()
        .values()
        .as_primitive::<Float32Type>()
        .values()
        .as_ptr();
    let series = Ragged::<f32>::from_arrow(column.into_data()).unwrap();
    assert_eq!(series.values().as_ptr(), at);
}
