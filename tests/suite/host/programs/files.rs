//! Files, documents and arrays, in memory.

use vsla::io::Any;
use vsla::{Bsr, Device, Ragged, Result, Topology};

use super::values::*;

/// A size that no file or document here reaches.
const FILE: usize = 1 << 20;

pub fn files(_: &Device, n: usize) -> Result<u64> {
    let mut sum = Sum::default();
    let layout = series_layout(n, 0, &[])?;
    let series = Ragged::from_parts(layout.clone(), listed(layout.total(), number)?)?;
    let layout = matrix_layout(n, |i| [i % 3, 1 + i % 4])?;
    let boxes = Ragged::from_parts(layout.clone(), listed(layout.total(), number)?)?;
    let blocks = n / 10 + 4;
    let places = (0..blocks).map(|i| (i as u32, (i * 5 % blocks) as u32));
    let topology = Topology::from_unsorted([8 * blocks; 2], [8, 8], places)?;
    let sparse = Bsr::new(&topology, listed(64 * blocks, number)?)?;

    let mut file = room(FILE)?;
    for batch in [&series, &boxes] {
        file.clear();
        batch.write_to(&mut file)?;
        sum.host(&Ragged::<f32>::read_from(&file[..])?);
        assert!(matches!(Any::read_from(&file[..])?, Any::F32(_)));
    }
    file.clear();
    sparse.write_to(&mut file)?;
    sum.host(Bsr::<f32>::read_from(&file[..])?.values());

    // A file of version 1, with a capacity of twice the extent.
    file.clear();
    file.extend_from_slice(b"VSLAv01\0\0\x01\0\0\0\0\0\0");
    for word in [n as u64, 2 * n as u64, 8] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.resize(file.len() + 16 * n, 1);
    sum.host(&Ragged::<f64>::read_from(&file[..])?);

    #[cfg(feature = "safetensors")]
    {
        use vsla::io::safetensors::{Reader, Writer};
        file.clear();
        let mut writer = Writer::new();
        writer.add("series", &series)?.add("boxes", &boxes)?;
        writer.write_to(&mut file)?;
        let mut reader = Reader::new(std::io::Cursor::new(&file[..]))?;
        for name in ["series", "boxes"] {
            sum.host(&reader.read::<f32>(name)?);
        }
    }
    #[cfg(feature = "serde")]
    {
        sum.host(&through_json(&series, &mut file)?);
        sum.host(&through_json(&boxes, &mut file)?);
        sum.layout(&through_json(boxes.layout(), &mut file)?);
        sum.host(through_json(&sparse, &mut file)?.values());
    }
    #[cfg(feature = "ndarray")]
    {
        let arrays = (0..n).map(|i| boxes.array(i).unwrap());
        sum.host(&Ragged::from_arrays(2, arrays)?);
        let padded = boxes.to_padded_array(7.0)?;
        sum.host(&Ragged::from_padded_array(padded.view(), boxes.layout())?);
    }
    sum.value()
}

/// What JSON reads after writing it.
#[cfg(feature = "serde")]
fn through_json<T>(value: &T, text: &mut Vec<u8>) -> Result<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    // serde keeps only the text of an error.
    let out_of_memory = |error: serde_json::Error| {
        let said = error.to_string();
        assert!(said.contains("out of memory"), "{said}");
        vsla::Error::OutOfMemory {
            op: "deserialize",
            bytes: 1,
            available: None,
        }
    };
    text.clear();
    serde_json::to_writer(&mut *text, value).map_err(out_of_memory)?;
    serde_json::from_slice(text).map_err(out_of_memory)
}
