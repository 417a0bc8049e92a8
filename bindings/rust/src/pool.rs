//! A pool as a program asks for it.

use crate::sys;
use crate::{Dtype, Problem, Result};

/// What is done to which windows. Lists have one value for all pooled axes or one for each; those that are not named
/// have their defaults, and all axes are pooled unless [`Pool::axes`] names some.
///
/// ```
/// # fn main() -> oriel::Result<()> {
/// let problem = oriel::Pool::avg([3, 3]).stride([2, 2]).padding([1, 1]).axes([2, 3]).on(oriel::Dtype::F32, &[1, 8, 56, 56])?;
/// assert_eq!(problem.output_shape(), [1, 8, 28, 28]);
/// assert_eq!(problem.name(), "avg:f32:1x8x56x56:k3x3s2p1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pool {
    op: i32,
    kind: i32,
    same: i32,
    omit_nan: bool,
    ceil: bool,
    exclude: bool,
    divisor: i64,
    norm: f64,
    lists: [Option<Vec<i64>>; 6],
    axes: Vec<i64>,
}

const KERNEL: usize = 0;
const STRIDE: usize = 1;
const PAD_LO: usize = 2;
const PAD_HI: usize = 3;
const DILATION: usize = 4;
const OUTPUT_SIZE: usize = 5;

impl Pool {
    fn new(op: i32, kernel: impl Into<Vec<i64>>) -> Pool {
        let mut pool = Pool { op, ..Pool::default() };
        pool.lists[KERNEL] = Some(kernel.into());
        pool
    }
    pub fn max(kernel: impl Into<Vec<i64>>) -> Pool {
        Pool::new(0, kernel)
    }
    pub fn min(kernel: impl Into<Vec<i64>>) -> Pool {
        Pool::new(1, kernel)
    }
    pub fn avg(kernel: impl Into<Vec<i64>>) -> Pool {
        Pool::new(2, kernel)
    }
    pub fn sum(kernel: impl Into<Vec<i64>>) -> Pool {
        Pool::new(3, kernel)
    }
    /// `(|x1|^p + |x2|^p + ...)^(1/p)`.
    pub fn lp(p: f64, kernel: impl Into<Vec<i64>>) -> Pool {
        Pool {
            norm: p,
            ..Pool::new(4, kernel)
        }
    }

    fn list(mut self, which: usize, values: impl Into<Vec<i64>>) -> Pool {
        self.lists[which] = Some(values.into());
        self
    }
    pub fn stride(self, values: impl Into<Vec<i64>>) -> Pool {
        self.list(STRIDE, values)
    }
    /// Before and after the input.
    pub fn padding(self, values: impl Into<Vec<i64>>) -> Pool {
        let both = values.into();
        self.list(PAD_LO, both.clone()).list(PAD_HI, both)
    }
    pub fn padding_before(self, values: impl Into<Vec<i64>>) -> Pool {
        self.list(PAD_LO, values)
    }
    pub fn padding_after(self, values: impl Into<Vec<i64>>) -> Pool {
        self.list(PAD_HI, values)
    }
    pub fn dilation(self, values: impl Into<Vec<i64>>) -> Pool {
        self.list(DILATION, values)
    }
    pub fn axes(mut self, axes: impl Into<Vec<i64>>) -> Pool {
        self.axes = axes.into();
        self
    }
    /// As much padding as gives `ceil(n / stride)` outputs, the odd place after the input.
    pub fn same(mut self) -> Pool {
        self.same = 1;
        self
    }
    pub fn ceil_mode(mut self) -> Pool {
        self.ceil = true;
        self
    }
    /// Averages: padding does not count in the divisor.
    pub fn exclude_padding(mut self) -> Pool {
        self.exclude = true;
        self
    }
    /// Averages: divides by this instead.
    pub fn divisor(mut self, divisor: i64) -> Pool {
        self.divisor = divisor;
        self
    }
    /// NaN do not exist, instead of making results NaN.
    pub fn omit_nan(mut self) -> Pool {
        self.omit_nan = true;
        self
    }
    /// Instead of the kernel: so many windows that share the input evenly.
    pub fn adaptive(mut self, output_size: impl Into<Vec<i64>>) -> Pool {
        self.lists[KERNEL] = None;
        self.kind = 1;
        self.list(OUTPUT_SIZE, output_size)
    }
    /// Instead of the kernel: one window over everything.
    pub fn global(mut self) -> Pool {
        self.lists[KERNEL] = None;
        self.kind = 2;
        self
    }

    /// The problem of this pool on a tensor of that dtype and shape.
    pub fn on(&self, dtype: Dtype, shape: &[i64]) -> Result<Problem> {
        let values = self.lists.iter().flatten().map(Vec::len).max().unwrap_or(0);
        // The C interface has one count for all lists: a list of one value is spread out.
        let lists = self
            .lists
            .clone()
            .map(|list| list.map(|l| if l.len() == 1 { vec![l[0]; values] } else { l }));
        if let Some(list) = lists.iter().flatten().find(|list| list.len() != values) {
            return Err(crate::Error::new(
                sys::ORIEL_INVALID,
                format!(
                    "Pool: lists must have 1 value or as many as the others, {values}, but one has {}",
                    list.len()
                ),
            ));
        }
        let pointer = |which: usize| lists[which].as_ref().map_or(std::ptr::null(), |list| list.as_ptr());
        let pool = sys::oriel_pool {
            size: std::mem::size_of::<sys::oriel_pool>(),
            op: self.op,
            kind: self.kind,
            padding: self.same,
            nan_policy: self.omit_nan.into(),
            ceil_mode: self.ceil.into(),
            exclude: self.exclude.into(),
            divisor: self.divisor,
            norm: self.norm,
            values: crate::count(values)?,
            pooled: crate::count(self.axes.len())?,
            kernel: pointer(KERNEL),
            stride: pointer(STRIDE),
            pad_lo: pointer(PAD_LO),
            pad_hi: pointer(PAD_HI),
            dilation: pointer(DILATION),
            output_size: pointer(OUTPUT_SIZE),
            axes: if self.axes.is_empty() {
                std::ptr::null()
            } else {
                self.axes.as_ptr()
            },
        };
        let mut handle = std::ptr::null_mut();
        crate::check(unsafe {
            sys::oriel_problem_make(
                &pool,
                dtype as i32,
                crate::count(shape.len())?,
                shape.as_ptr(),
                &mut handle,
            )
        })?;
        Problem::own(handle)
    }
}
