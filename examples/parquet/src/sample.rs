//! A file of made-up series: two tones and noise, most of them short and some long.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array, make_array};
use arrow_schema::{DataType, Field, Schema};
use fastrand::Rng;
use vsla::Ragged;

use crate::named;
use crate::sink::writer;

const SERIES: usize = 1000;
const LONGEST: f64 = 2000.0;

pub fn write(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut rng = Rng::with_seed(11);
    let rows = (0..SERIES).map(|_| series(&mut rng));
    let batch = Ragged::from_rows(rows)?;

    let lists = DataType::new_list(DataType::Float32, false);
    let fields = vec![
        Field::new("id", DataType::UInt32, false),
        Field::new("signal", lists.clone(), false),
    ];
    let schema = Arc::new(Schema::new(fields));
    let ids = Arc::new(UInt32Array::from_iter_values(0..SERIES as u32));
    let columns = vec![ids, make_array(batch.into_arrow(&lists)?)];
    let rows = RecordBatch::try_new(schema.clone(), columns);
    let mut writer = writer(path, schema)?;
    let written = rows.map_err(Into::into).and_then(|rows| {
        writer.write(&rows)?;
        writer.close()
    });
    written.map_err(|error| named(path, &error))?;
    Ok(())
}

fn series(rng: &mut Rng) -> Vec<f32> {
    let length = (LONGEST * rng.f64().powi(4)) as usize;
    let tones = [(); 2].map(|()| (rng.f64() * 2.0, rng.f64() * 3.0, rng.f64() * 6.0));
    let sample = |i: usize, rng: &mut Rng| {
        let tone =
            |&(size, speed, phase): &(f64, f64, f64)| size * (speed * i as f64 + phase).sin();
        (tones.iter().map(tone).sum::<f64>() + 0.5 * (rng.f64() - 0.5)) as f32
    };
    (0..length).map(|i| sample(i, rng)).collect()
}
