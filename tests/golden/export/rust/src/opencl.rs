//! The functions of OpenCL 1.2 that the library calls.

use std::ffi::{c_char, c_void};

pub type Handle = *mut c_void;
pub type Query = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;

#[rustfmt::skip]
#[cfg_attr(target_os = "macos", link(name = "OpenCL", kind = "framework"))]
#[cfg_attr(not(target_os = "macos"), link(name = "OpenCL"))]
extern "C" {
    pub fn clGetDeviceInfo(device: Handle, info: u32, size: usize, value: *mut c_void, needed: *mut usize) -> i32;
    pub fn clGetCommandQueueInfo(queue: Handle, info: u32, size: usize, value: *mut c_void, needed: *mut usize) -> i32;
    pub fn clGetMemObjectInfo(memory: Handle, info: u32, size: usize, value: *mut c_void, needed: *mut usize) -> i32;
    pub fn clRetainCommandQueue(queue: Handle) -> i32;
    pub fn clReleaseCommandQueue(queue: Handle) -> i32;
    pub fn clCreateBuffer(context: Handle, flags: u64, size: usize, host: *mut c_void, status: *mut i32) -> Handle;
    pub fn clReleaseMemObject(memory: Handle) -> i32;
    pub fn clCreateProgramWithSource(context: Handle, count: u32, texts: *const *const c_char, lengths: *const usize, status: *mut i32) -> Handle;
    pub fn clBuildProgram(program: Handle, count: u32, devices: *const Handle, options: *const c_char, notify: *const c_void, data: *mut c_void) -> i32;
    pub fn clReleaseProgram(program: Handle) -> i32;
    pub fn clCreateKernel(program: Handle, name: *const c_char, status: *mut i32) -> Handle;
    pub fn clReleaseKernel(kernel: Handle) -> i32;
    pub fn clSetKernelArg(kernel: Handle, place: u32, size: usize, value: *const c_void) -> i32;
    pub fn clEnqueueNDRangeKernel(queue: Handle, kernel: Handle, dimensions: u32, offset: *const usize, global: *const usize, local: *const usize, count: u32, waits: *const Handle, event: *mut Handle) -> i32;
    pub fn clEnqueueFillBuffer(queue: Handle, memory: Handle, pattern: *const c_void, pattern_size: usize, first: usize, size: usize, count: u32, waits: *const Handle, event: *mut Handle) -> i32;
    pub fn clEnqueueBarrierWithWaitList(queue: Handle, count: u32, waits: *const Handle, event: *mut Handle) -> i32;
}

pub const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub const QUEUE_CONTEXT: u32 = 0x1090;
pub const QUEUE_DEVICE: u32 = 0x1091;
pub const QUEUE_PROPERTIES: u32 = 0x1093;
pub const OUT_OF_ORDER: u64 = 1;
pub const MEM_SIZE: u32 = 0x1102;
pub const MEM_READ_WRITE: u64 = 1;
