//! The C interface as it is: include/oriel/c.h says what everything means. [`crate::Problem`] is the safe layer.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

pub const ORIEL_C_ABI: u32 = 1;
pub const ORIEL_MAX_RANK: usize = 16;
pub const ORIEL_MAX_POOLED: usize = 8;

pub type oriel_status = i32;
pub const ORIEL_OK: oriel_status = 0;
pub const ORIEL_INVALID: oriel_status = 1;
pub const ORIEL_NO_MEMORY: oriel_status = 2;
pub const ORIEL_NO_DEVICE: oriel_status = 3;
pub const ORIEL_INTERNAL: oriel_status = 4;

pub const ORIEL_PLANE: i32 = 0;
pub const ORIEL_TENSOR: i32 = 1;
pub const ORIEL_WINDOW: i32 = 2;

#[repr(C)]
pub struct oriel_problem {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct oriel_tensor {
    pub size: usize,
    pub data: *mut c_void,
    pub dtype: i32,
    pub device: i32,
    pub rank: i32,
    pub reserved: i32,
    pub shape: *const i64,
    pub pitch: *const i64,
}

#[repr(C)]
pub struct oriel_pool {
    pub size: usize,
    pub op: i32,
    pub kind: i32,
    pub padding: i32,
    pub nan_policy: i32,
    pub ceil_mode: i32,
    pub exclude: i32,
    pub divisor: i64,
    pub norm: f64,
    pub values: i32,
    pub pooled: i32,
    pub kernel: *const i64,
    pub stride: *const i64,
    pub pad_lo: *const i64,
    pub pad_hi: *const i64,
    pub dilation: *const i64,
    pub output_size: *const i64,
    pub axes: *const i64,
}

#[repr(C)]
pub struct oriel_run {
    pub size: usize,
    pub threads: i32,
    pub reserved: i32,
    pub stream: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct oriel_problem_info {
    pub size: usize,
    pub op: i32,
    pub dtype: i32,
    pub rank: i32,
    pub pooled: i32,
    pub direction: i32,
    pub index_dtype: i32,
    pub index_space: i32,
    pub reserved: i32,
    pub taps: i64,
    pub axes: [i64; ORIEL_MAX_POOLED],
    pub shape: [i64; ORIEL_MAX_RANK],
    pub output_shape: [i64; ORIEL_MAX_RANK],
    pub pitch: [i64; ORIEL_MAX_RANK],
    pub output_pitch: [i64; ORIEL_MAX_RANK],
}

extern "C" {
    pub fn oriel_problem_parse(name: *const c_char, problem: *mut *mut oriel_problem) -> oriel_status;
    pub fn oriel_problem_make(
        pool: *const oriel_pool,
        dtype: i32,
        rank: i32,
        shape: *const i64,
        problem: *mut *mut oriel_problem,
    ) -> oriel_status;
    pub fn oriel_problem_free(problem: *mut oriel_problem);
    pub fn oriel_problem_describe(problem: *const oriel_problem, info: *mut oriel_problem_info) -> oriel_status;
    pub fn oriel_problem_name(
        problem: *const oriel_problem,
        text: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> oriel_status;
    pub fn oriel_codes_pay(problem: *const oriel_problem, pay: *mut i32) -> oriel_status;
    pub fn oriel_forward(
        problem: *const oriel_problem,
        x: *const oriel_tensor,
        y: *const oriel_tensor,
        indices: *const oriel_tensor,
        space: i32,
        run: *const oriel_run,
    ) -> oriel_status;
    pub fn oriel_backward(
        problem: *const oriel_problem,
        x: *const oriel_tensor,
        dy: *const oriel_tensor,
        indices: *const oriel_tensor,
        space: i32,
        dx: *const oriel_tensor,
        run: *const oriel_run,
    ) -> oriel_status;
    pub fn oriel_unpool(
        pooled: i32,
        axes: *const i64,
        y: *const oriel_tensor,
        indices: *const oriel_tensor,
        space: i32,
        x: *const oriel_tensor,
        run: *const oriel_run,
    ) -> oriel_status;
    pub fn oriel_last_error() -> *const c_char;
    pub fn oriel_abi() -> u32;
    pub fn oriel_version() -> *const c_char;
    pub fn oriel_active_target(text: *mut c_char, capacity: usize, length: *mut usize) -> oriel_status;
    pub fn oriel_supported_targets(text: *mut c_char, capacity: usize, length: *mut usize) -> oriel_status;
    pub fn oriel_set_target(name: *const c_char) -> oriel_status;
    pub fn oriel_default_threads() -> i32;
    pub fn oriel_has_cuda() -> i32;
}
