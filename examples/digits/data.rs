//! The handwritten digits.
//! In: data/digits.csv.gz. Out: batches of images and labels. Left to neighbours: learning (`model`).

use std::io::Read;

use anyhow::{Context, Result, bail};
use candle_core::{Device, Tensor};

pub const PIXELS: usize = 64;

/// Images and their labels.
pub struct Digits {
    /// `(rows, 64)`, pixels from 0 to 1.
    pub images: Tensor,
    pub labels: Tensor,
    pub rows: usize,
}

impl Digits {
    fn new(rows: Vec<([f32; PIXELS], u32)>) -> Result<Self> {
        let count = rows.len();
        let (images, labels): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let images = Tensor::from_vec(images.concat(), (count, PIXELS), &Device::Cpu)?;
        Ok(Self { images, labels: Tensor::from_vec(labels, count, &Device::Cpu)?, rows: count })
    }

    /// The batch of an update, counted from 1: the rows in order, over and over, whole batches only.
    pub fn batch(&self, update: u64, size: usize) -> Result<(Tensor, Tensor)> {
        let batches = (self.rows / size) as u64;
        if batches == 0 {
            bail!("a batch of {size} digits: there are {} to train on", self.rows);
        }
        let start = ((update - 1) % batches) as usize * size;
        Ok((self.images.narrow(0, start, size)?, self.labels.narrow(0, start, size)?))
    }
}

/// Training rows, and every fifth row for the test.
pub fn load() -> Result<(Digits, Digits)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.csv.gz");
    let file = std::fs::File::open(path).with_context(|| path)?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).with_context(|| path)?;
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let numbers: Vec<u32> = line.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let Some((label, pixels)) = numbers.split_last().filter(|(_, pixels)| pixels.len() == PIXELS) else {
            bail!("{path}, line {}: not 65 numbers", index + 1);
        };
        let mut image = [0.0; PIXELS];
        image.iter_mut().zip(pixels).for_each(|(to, &pixel)| *to = pixel as f32 / 16.0);
        (if index % 5 == 4 { &mut test } else { &mut train }).push((image, *label));
    }
    Ok((Digits::new(train)?, Digits::new(test)?))
}
