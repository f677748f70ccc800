//! The core of the example: every sound in every room, whatever their lengths, one batch at a time.

use indicatif::ProgressBar;
use vsla::{Device, Pairing, Ragged, Tensor, batch::PairList};

use crate::wav::Sound;

/// Most values in the results of one call.
const VALUES: usize = 1 << 25;

/// A sound in a room.
pub struct Job<'a> {
    pub sound: &'a Sound,
    pub room: &'a Sound,
}

impl Job<'_> {
    /// The result's channels as pairs of channels: a mono side is paired with both channels of the other.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let (m, n) = (self.sound.channels.len(), self.room.channels.len());
        (0..m.max(n))
            .map(|c| (c.min(m - 1), c.min(n - 1)))
            .collect()
    }

    fn values(&self) -> usize {
        let length = |sound: &Sound| sound.channels[0].len();
        self.pairs().len() * (length(self.sound) + length(self.room))
    }
}

/// Every sound with every room.
pub fn jobs<'a>(sounds: &'a [Sound], rooms: &'a [Sound]) -> Vec<Job<'a>> {
    let all = sounds
        .iter()
        .flat_map(|sound| rooms.iter().map(move |room| Job { sound, room }));
    all.collect()
}

/// Convolves every job and hands each result to `done`; `progress` counts the jobs.
pub fn all<E: From<vsla::Error>>(
    device: &Device,
    jobs: &[Job<'_>],
    progress: &ProgressBar,
    mut done: impl FnMut(&Job<'_>, Vec<Vec<f32>>) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = jobs;
    while !rest.is_empty() {
        // As many as fit, but at least one.
        let mut values = 0;
        let fitting = rest.iter().take_while(|job| {
            values += job.values();
            values <= VALUES
        });
        let count = fitting.count().max(1);
        let (chunk, others) = rest.split_at(count);
        let product = convolve(device, chunk)?.download_blocking()?;
        let mut rows = product.iter();
        for job in chunk {
            let channels = rows.by_ref().take(job.pairs().len());
            done(job, channels.map(<[f32]>::to_vec).collect())?;
            progress.inc(1);
        }
        rest = others;
    }
    Ok(())
}

/// One call for all jobs: a batch of the sounds' channels, one of the rooms', and a list of pairs.
fn convolve(device: &Device, jobs: &[Job<'_>]) -> vsla::Result<Tensor<f32>> {
    let mut list = Vec::new();
    let (mut sounds, mut rooms) = (Channels::default(), Channels::default());
    for job in jobs {
        let (sound, room) = (sounds.place(job.sound), rooms.place(job.room));
        let pairs = job.pairs().into_iter();
        list.extend(pairs.map(|(c, d)| (sound + c as u32, room + d as u32)));
    }
    let x = device.upload(&Ragged::from_rows(sounds.rows)?)?;
    let h = device.upload(&Ragged::from_rows(rooms.rows)?)?;
    x.pair(&h, Pairing::List(&PairList::new(list)?))?.conv()
}

/// The channels of distinct sounds, each stored once.
#[derive(Default)]
struct Channels<'a> {
    rows: Vec<&'a [f32]>,
    known: Vec<(*const Sound, u32)>,
}

impl<'a> Channels<'a> {
    /// The index of the sound's first channel.
    fn place(&mut self, sound: &'a Sound) -> u32 {
        let same = |&&(known, _): &&(*const Sound, u32)| std::ptr::eq(known, sound);
        if let Some(&(_, place)) = self.known.iter().find(same) {
            return place;
        }
        let place = self.rows.len() as u32;
        self.known.push((sound, place));
        self.rows.extend(sound.channels.iter().map(Vec::as_slice));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wav::Format;

    fn sound(channels: &[&[f32]]) -> Sound {
        Sound {
            name: String::new(),
            rate: 8000,
            format: Format::Float,
            channels: channels.iter().map(|c| c.to_vec()).collect(),
        }
    }

    #[test]
    fn mono_meets_both_channels_of_stereo() {
        let mono = sound(&[&[1.0, 2.0]]);
        let stereo = sound(&[&[1.0, 0.0, 1.0], &[0.0, 3.0, 0.0]]);
        let (sounds, rooms) = ([mono.clone(), stereo.clone()], [mono, stereo]);
        let jobs = jobs(&sounds, &rooms);
        let mut results = Vec::new();
        let bar = ProgressBar::hidden();
        all::<vsla::Error>(&Device::cpu(), &jobs, &bar, |_, channels| {
            results.push(channels);
            Ok(())
        })
        .unwrap();
        assert_eq!(results[0], [[1.0, 4.0, 4.0]]);
        let both = [[1.0, 2.0, 1.0, 2.0], [0.0, 3.0, 6.0, 0.0]];
        assert_eq!(
            (&results[1][..], &results[2][..]),
            (&both.map(Vec::from)[..], &both.map(Vec::from)[..])
        );
        assert_eq!(
            results[3],
            [[1.0, 0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 9.0, 0.0, 0.0]]
        );
    }
}
