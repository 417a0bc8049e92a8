//! The shared vectors (tests/vectors/vectors.txt, whose head says what they are) by the safe layer. ORIEL_VECTORS may
//! name another file.

use oriel::{Bf16, Dtype, Element, Index, Problem, Space, F16};

#[derive(Clone, Copy, PartialEq)]
enum Data {
    Numbers,
    Ties,
    Specials,
}

/// An element and its bits, which are the lowest of a `u64`.
trait Bits: Element {
    const FRACTION: u32 = 0; // of floating types
    const BIAS: u64 = 0;
    const SIGNED: bool = false;
    const BYTES: usize = std::mem::size_of::<Self>();
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! wholes {
    ($($t:ty, $unsigned:ty, $signed:expr);*) => { $(impl Bits for $t {
        const SIGNED: bool = $signed;
        fn from_bits(bits: u64) -> Self { bits as $t }
        fn bits(self) -> u64 { self as $unsigned as u64 }
    })* };
}
wholes!(i8, u8, true; u8, u8, false; i16, u16, true; u16, u16, false; i32, u32, true; u32, u32, false; i64, u64, true; u64, u64, false);

macro_rules! floats {
    ($($t:ty, $fraction:expr, $bias:expr, $from:expr, $to:expr);*) => { $(impl Bits for $t {
        const FRACTION: u32 = $fraction;
        const BIAS: u64 = $bias;
        fn from_bits(bits: u64) -> Self { $from(bits) }
        fn bits(self) -> u64 { $to(self) }
    })* };
}
floats!(f64, 52, 1023, f64::from_bits, f64::to_bits;
        f32, 23, 127, |b| f32::from_bits(b as u32), |v: f32| u64::from(v.to_bits());
        F16, 10, 15, |b| F16(b as u16), |v: F16| u64::from(v.0);
        Bf16, 7, 127, |b| Bf16(b as u16), |v: Bf16| u64::from(v.0));

impl Bits for bool {
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
    fn bits(self) -> u64 {
        self.into()
    }
}

fn sign<T: Bits>(negative: bool) -> u64 {
    u64::from(negative) << (8 * T::BYTES - 1)
}

fn infinity<T: Bits>() -> u64 {
    (2 * T::BIAS + 1) << T::FRACTION
}

fn quiet_nan<T: Bits>() -> u64 {
    infinity::<T>() | 1 << (T::FRACTION - 1)
}

fn small<T: Bits>(n: i64) -> u64 {
    let magnitude = n.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let power = 63 - magnitude.leading_zeros();
    sign::<T>(n < 0) | (T::BIAS + u64::from(power)) << T::FRACTION | (magnitude - (1 << power)) << (T::FRACTION - power)
}

fn special<T: Bits>(c: u32) -> u64 {
    match c {
        0 => quiet_nan::<T>(),
        1 => infinity::<T>(),
        2 => sign::<T>(true) | infinity::<T>(),
        3 => sign::<T>(true),
        4 => 0,
        5 => 1,
        6 => sign::<T>(true) | 1,
        _ => small::<T>(i64::from(c & 7) - 4),
    }
}

fn fill<T: Bits>(count: usize, data: Data, mut state: u32) -> Vec<T> {
    let mut next = move || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state
    };
    let mut element = || {
        let s = next();
        let whole = u64::from(s);
        if T::DTYPE == Dtype::Bool {
            return whole >> 31;
        }
        match data {
            Data::Ties if T::FRACTION > 0 => small::<T>(i64::from(s >> 29) - 4),
            Data::Ties => (i64::from(s >> 29) - if T::SIGNED { 4 } else { 0 }) as u64,
            Data::Specials => special::<T>(s >> 27),
            Data::Numbers if T::FRACTION > 0 => {
                let head = sign::<T>(s >> 31 != 0) | (T::BIAS - 8 + u64::from(s >> 27 & 15)) << T::FRACTION;
                if T::BYTES == 8 {
                    head | u64::from(s >> 7 & 0xfffff) << 32 | u64::from(next())
                } else {
                    head | u64::from((s & 0x7ffffff) >> (27 - T::FRACTION))
                }
            }
            Data::Numbers if T::BYTES == 8 => whole << 32 | u64::from(next()),
            Data::Numbers => whole >> (32 - 8 * T::BYTES),
        }
    };
    (0..count).map(|_| T::from_bits(element())).collect()
}

fn hash<T: Bits>(mut h: u64, values: &[T]) -> u64 {
    for value in values {
        let mut bits = value.bits();
        if T::FRACTION > 0 && bits & !sign::<T>(true) > infinity::<T>() {
            bits = quiet_nan::<T>();
        }
        for byte in &bits.to_le_bytes()[..T::BYTES] {
            h = (h ^ u64::from(*byte)).wrapping_mul(0x100000001b3);
        }
    }
    h
}

struct Line<'a> {
    problem: Problem,
    words: Vec<&'a str>,
    data: Data,
}

impl Line<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn indexed<T: Bits + Default, I: Bits + Index + Default>(&self, space: Space) -> oriel::Result<u64> {
        let p = &self.problem;
        let (x, mut y) = (
            fill::<T>(p.input_len(), self.data, 1),
            vec![T::default(); p.output_len()],
        );
        let mut indices = vec![I::default(); p.output_len()];
        p.forward_indices(&x, &mut y, &mut indices, space)?;
        let mut dx = vec![T::default(); p.input_len()];
        if p.is_backward() {
            p.backward_indices(&fill::<T>(p.output_len(), self.data, 2), &indices, space, &mut dx)?;
        } else if self.has("unpool") {
            let places: Vec<i64> = indices.iter().map(|i| i.bits() as i64).collect();
            p.unpool(&y, &places, space, &mut dx)?;
        } else {
            return Ok(hash(hash(START, &y), &indices));
        }
        Ok(hash(START, &dx))
    }

    fn run<T: Bits + Default>(&self) -> oriel::Result<u64> {
        let p = &self.problem;
        if let Some((dtype, space)) = p.indices() {
            let space = if self.has("tensor") {
                Space::Tensor
            } else if self.has("window") {
                Space::Window
            } else {
                space
            };
            return match dtype {
                Dtype::U8 if self.has("i32") => self.indexed::<T, i32>(space),
                Dtype::U8 => self.indexed::<T, u8>(space),
                _ => self.indexed::<T, i64>(space),
            };
        }
        let x = fill::<T>(p.input_len(), self.data, 1);
        if p.is_backward() {
            let mut dx = vec![T::default(); p.input_len()];
            p.backward(&x, &fill::<T>(p.output_len(), self.data, 2), &mut dx)?;
            return Ok(hash(START, &dx));
        }
        let mut y = vec![T::default(); p.output_len()];
        p.forward(&x, &mut y)?;
        Ok(hash(START, &y))
    }
}

const START: u64 = 0xcbf29ce484222325;

fn result(name: &str) -> oriel::Result<u64> {
    let mut words = name.split('@');
    let problem: Problem = words.next().unwrap_or_default().parse()?;
    let words: Vec<&str> = words.collect();
    let data = if words.contains(&"ties") {
        Data::Ties
    } else if words.contains(&"specials") {
        Data::Specials
    } else {
        Data::Numbers
    };
    let line = Line { problem, words, data };
    match line.problem.dtype() {
        Dtype::F64 => line.run::<f64>(),
        Dtype::F32 => line.run::<f32>(),
        Dtype::F16 => line.run::<F16>(),
        Dtype::Bf16 => line.run::<Bf16>(),
        Dtype::I8 => line.run::<i8>(),
        Dtype::U8 => line.run::<u8>(),
        Dtype::I16 => line.run::<i16>(),
        Dtype::U16 => line.run::<u16>(),
        Dtype::I32 => line.run::<i32>(),
        Dtype::U32 => line.run::<u32>(),
        Dtype::I64 => line.run::<i64>(),
        Dtype::U64 => line.run::<u64>(),
        Dtype::Bool => line.run::<bool>(),
    }
}

#[test]
fn shared_vectors() {
    let path = std::env::var("ORIEL_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/vectors.txt").into());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, wanted) = line.split_once(' ').expect("a name and a hash");
        let got = result(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{got:016x}"), wanted, "{name}");
        count += 1;
    }
    assert!(count > 1000, "{count} vectors");
    println!("{count} vectors on {}", oriel::active_target().unwrap());
}
