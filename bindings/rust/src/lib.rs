//! Pooling by Oriel: the same bits on every processor, number of threads and memory layout.
//!
//! A [`Problem`] is a pool on a tensor of one dtype and shape; it is made of a name, or of a [`Pool`]. Tensors are slices
//! that hold all elements without gaps, in the problem's memory order (row-major unless its name says another one).
//!
//! ```
//! # fn main() -> oriel::Result<()> {
//! let problem: oriel::Problem = "max:f32:4x4:k2".parse()?;
//! let x: Vec<f32> = (1..=16).map(|i| i as f32).collect();
//! let mut y = vec![0.0; problem.output_len()];
//! problem.forward(&x, &mut y)?;
//! assert_eq!(y, [6.0, 8.0, 14.0, 16.0]);
//! # Ok(())
//! # }
//! ```

mod element;
mod pool;
pub mod sys;

pub use element::{Bf16, Dtype, Element, Index, F16};
pub use pool::Pool;

use std::ffi::{CStr, CString};
use std::os::raw::c_void;
use std::ptr::NonNull;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `ORIEL_INVALID` ... of [`sys`].
    pub status: i32,
    text: String,
}

impl Error {
    pub(crate) fn new(status: i32, text: impl Into<String>) -> Error {
        Error {
            status,
            text: text.into(),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn check(status: sys::oriel_status) -> Result<()> {
    if status == sys::ORIEL_OK {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(sys::oriel_last_error()) };
    Err(Error::new(status, text.to_string_lossy()))
}

pub(crate) fn count(n: usize) -> Result<i32> {
    i32::try_from(n).map_err(|_| {
        Error::new(
            sys::ORIEL_INVALID,
            format!("a list must have less than 2^31 values, but has {n}"),
        )
    })
}

/// What indices count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Space {
    /// Places of the pooled plane.
    Plane = sys::ORIEL_PLANE,
    /// Places of the whole tensor.
    Tensor = sys::ORIEL_TENSOR,
    /// Taps of the window.
    Window = sys::ORIEL_WINDOW,
}

/// A pool on a tensor of one dtype and shape, checked.
#[derive(Debug)]
pub struct Problem {
    handle: NonNull<sys::oriel_problem>,
    info: Box<sys::oriel_problem_info>,
    threads: i32,
}

// A problem does not change after it was made.
unsafe impl Send for Problem {}
unsafe impl Sync for Problem {}

impl Drop for Problem {
    fn drop(&mut self) {
        unsafe { sys::oriel_problem_free(self.handle.as_ptr()) }
    }
}

impl std::str::FromStr for Problem {
    type Err = Error;

    /// The problem that a name such as `max:f32:8x64x112x112:k3x3s2p1` describes.
    fn from_str(name: &str) -> Result<Problem> {
        let text =
            CString::new(name).map_err(|_| Error::new(sys::ORIEL_INVALID, "problem name: must have no zero byte"))?;
        let mut handle = std::ptr::null_mut();
        check(unsafe { sys::oriel_problem_parse(text.as_ptr(), &mut handle) })?;
        Problem::own(handle)
    }
}

enum Side {
    Input,
    Output,
}

impl Problem {
    pub(crate) fn own(handle: *mut sys::oriel_problem) -> Result<Problem> {
        let handle = NonNull::new(handle).ok_or_else(|| Error::new(sys::ORIEL_INTERNAL, "no problem was made"))?;
        let mut info = Box::new(unsafe { std::mem::zeroed::<sys::oriel_problem_info>() });
        info.size = std::mem::size_of::<sys::oriel_problem_info>();
        let status = unsafe { sys::oriel_problem_describe(handle.as_ptr(), &mut *info) };
        let problem = Problem {
            handle,
            info,
            threads: 0,
        };
        check(status)?;
        Ok(problem)
    }

    /// The same problem, whose calls use at most so many threads; 0: all that the process may use.
    pub fn with_threads(mut self, threads: i32) -> Problem {
        self.threads = threads;
        self
    }

    pub fn dtype(&self) -> Dtype {
        Dtype::from_number(self.info.dtype).expect("the library has no other dtypes within an ABI")
    }
    /// Of the input.
    pub fn shape(&self) -> &[i64] {
        &self.info.shape[..self.info.rank as usize]
    }
    pub fn output_shape(&self) -> &[i64] {
        &self.info.output_shape[..self.info.rank as usize]
    }
    /// Elements of the input, and of the result.
    pub fn input_len(&self) -> usize {
        self.shape().iter().product::<i64>() as usize
    }
    pub fn output_len(&self) -> usize {
        self.output_shape().iter().product::<i64>() as usize
    }
    /// The pooled axes.
    pub fn axes(&self) -> &[i64] {
        &self.info.axes[..self.info.pooled as usize]
    }
    /// Whether the name asks for the gradient, and the dtype and the space of the indices that it asks for.
    pub fn is_backward(&self) -> bool {
        self.info.direction == 1
    }
    pub fn indices(&self) -> Option<(Dtype, Space)> {
        let space = if self.info.index_space == sys::ORIEL_WINDOW {
            Space::Window
        } else {
            Space::Plane
        };
        Dtype::from_number(self.info.index_dtype).map(|dtype| (dtype, space))
    }
    /// The shortest name of the problem.
    pub fn name(&self) -> String {
        text(|t, capacity, length| unsafe { sys::oriel_problem_name(self.handle.as_ptr(), t, capacity, length) })
            .unwrap_or_default()
    }
    /// Whether max or min and its gradient take less time together with stored `u8` codes than without.
    pub fn codes_pay(&self) -> Result<bool> {
        let mut pay = 0;
        check(unsafe { sys::oriel_codes_pay(self.handle.as_ptr(), &mut pay) })?;
        Ok(pay == 1)
    }

    /// y = the pool of x.
    pub fn forward<T: Element>(&self, x: &[T], y: &mut [T]) -> Result<()> {
        let (x, y) = (self.input("x", Side::Input, x)?, self.output("y", Side::Output, y)?);
        let run = self.run();
        check(unsafe { sys::oriel_forward(self.handle.as_ptr(), &x, &y, std::ptr::null(), 0, &run) })
    }

    /// y = the pool of x, a maximum or a minimum, and where each result came from.
    pub fn forward_indices<T: Element, I: Index>(
        &self,
        x: &[T],
        y: &mut [T],
        indices: &mut [I],
        space: Space,
    ) -> Result<()> {
        let (x, y) = (self.input("x", Side::Input, x)?, self.output("y", Side::Output, y)?);
        let indices = self.output("indices", Side::Output, indices)?;
        let run = self.run();
        check(unsafe { sys::oriel_forward(self.handle.as_ptr(), &x, &y, &indices, space as i32, &run) })
    }

    /// dx = the gradient of the pool at x, given dy.
    pub fn backward<T: Element>(&self, x: &[T], dy: &[T], dx: &mut [T]) -> Result<()> {
        let (x, dy) = (self.input("x", Side::Input, x)?, self.input("dy", Side::Output, dy)?);
        let dx = self.output("dx", Side::Input, dx)?;
        let run = self.run();
        check(unsafe { sys::oriel_backward(self.handle.as_ptr(), &x, &dy, std::ptr::null(), 0, &dx, &run) })
    }

    /// dx = the gradient of a maximum or minimum whose indices `forward_indices` gave.
    pub fn backward_indices<T: Element, I: Index>(
        &self,
        dy: &[T],
        indices: &[I],
        space: Space,
        dx: &mut [T],
    ) -> Result<()> {
        let (dy, indices) = (
            self.input("dy", Side::Output, dy)?,
            self.input("indices", Side::Output, indices)?,
        );
        let dx = self.output("dx", Side::Input, dx)?;
        let run = self.run();
        check(unsafe {
            sys::oriel_backward(
                self.handle.as_ptr(),
                std::ptr::null(),
                &dy,
                &indices,
                space as i32,
                &dx,
                &run,
            )
        })
    }

    /// x = zeros, but the elements of y where their indices say.
    pub fn unpool<T: Element>(&self, y: &[T], indices: &[i64], space: Space, x: &mut [T]) -> Result<()> {
        let (y, indices) = (
            self.input("y", Side::Output, y)?,
            self.input("indices", Side::Output, indices)?,
        );
        let x = self.output("x", Side::Input, x)?;
        let (axes, run) = (self.axes(), self.run());
        check(unsafe { sys::oriel_unpool(count(axes.len())?, axes.as_ptr(), &y, &indices, space as i32, &x, &run) })
    }

    fn run(&self) -> sys::oriel_run {
        sys::oriel_run {
            size: std::mem::size_of::<sys::oriel_run>(),
            threads: self.threads,
            reserved: 0,
            stream: std::ptr::null_mut(),
        }
    }

    fn input<T: Element>(&self, name: &str, side: Side, values: &[T]) -> Result<sys::oriel_tensor> {
        self.tensor(name, side, T::DTYPE, values.as_ptr() as *mut c_void, values.len())
    }

    fn output<T: Element>(&self, name: &str, side: Side, values: &mut [T]) -> Result<sys::oriel_tensor> {
        self.tensor(name, side, T::DTYPE, values.as_mut_ptr().cast(), values.len())
    }

    // A slice as a tensor: it must have as many elements as the tensor.
    fn tensor(&self, name: &str, side: Side, dtype: Dtype, data: *mut c_void, len: usize) -> Result<sys::oriel_tensor> {
        let (wanted, shape, pitch) = match side {
            Side::Input => (self.input_len(), &self.info.shape, &self.info.pitch),
            Side::Output => (self.output_len(), &self.info.output_shape, &self.info.output_pitch),
        };
        if len != wanted {
            return Err(Error::new(
                sys::ORIEL_INVALID,
                format!("{name} must have {wanted} elements, but has {len}"),
            ));
        }
        Ok(sys::oriel_tensor {
            size: std::mem::size_of::<sys::oriel_tensor>(),
            data,
            dtype: dtype as i32,
            device: 0,
            rank: self.info.rank,
            reserved: 0,
            shape: shape.as_ptr(),
            pitch: pitch.as_ptr(),
        })
    }
}

// A text that a function writes for a caller with enough room.
fn text(write: impl Fn(*mut std::os::raw::c_char, usize, *mut usize) -> sys::oriel_status) -> Result<String> {
    let mut length = 0;
    check(write(std::ptr::null_mut(), 0, &mut length))?;
    let mut bytes = vec![0u8; length + 1];
    check(write(bytes.as_mut_ptr().cast(), bytes.len(), &mut length))?;
    bytes.truncate(length.min(bytes.len() - 1));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The version of the library, such as `0.2.0`.
pub fn version() -> String {
    unsafe { CStr::from_ptr(sys::oriel_version()) }
        .to_string_lossy()
        .into_owned()
}

/// The instruction set in use.
pub fn active_target() -> Result<String> {
    text(|t, capacity, length| unsafe { sys::oriel_active_target(t, capacity, length) })
}

/// All instruction sets that the library has and this processor runs, best first.
pub fn supported_targets() -> Result<Vec<String>> {
    let all = text(|t, capacity, length| unsafe { sys::oriel_supported_targets(t, capacity, length) })?;
    Ok(all.split(' ').map(str::to_owned).collect())
}

/// Uses that instruction set from now on; the empty name: the best.
pub fn set_target(name: &str) -> Result<()> {
    let text = CString::new(name).map_err(|_| Error::new(sys::ORIEL_INVALID, "target: must have no zero byte"))?;
    check(unsafe { sys::oriel_set_target(text.as_ptr()) })
}

/// Threads that a call uses by default.
pub fn default_threads() -> i32 {
    unsafe { sys::oriel_default_threads() }
}
