//! Multiplies matrices that lie in files, one product a line of the standard input:
//! KERNEL M N K BATCH ALPHA BETA OFFSET GAP A B C. A kernel below 0 is the one for the size.

use std::ffi::c_void;
use std::io::BufRead;
use std::mem::size_of;
use std::ptr::{null, null_mut};

use LIBRARY::{gemm, release, Element, Error, Handle, Matrix, Problem, NAMES};

extern "C" {
    fn clGetPlatformIDs(room: u32, platforms: *mut Handle, count: *mut u32) -> i32;
    fn clGetDeviceIDs(platform: Handle, kind: u64, room: u32, to: *mut Handle, count: *mut u32) -> i32;
    fn clCreateContext(
        properties: *const isize, count: u32, devices: *const Handle, notify: *const c_void,
        data: *mut c_void, status: *mut i32,
    ) -> Handle;
    fn clCreateCommandQueue(context: Handle, device: Handle, kind: u64, status: *mut i32) -> Handle;
    fn clCreateBuffer(
        context: Handle, flags: u64, size: usize, host: *mut c_void, status: *mut i32,
    ) -> Handle;
    fn clEnqueueReadBuffer(
        queue: Handle, buffer: Handle, waits: u32, first: usize, size: usize, to: *mut c_void,
        count: u32, events: *const Handle, event: *mut Handle,
    ) -> i32;
    fn clReleaseMemObject(buffer: Handle) -> i32;
    fn clReleaseEvent(event: Handle) -> i32;
}

fn line(queue: Handle, context: Handle, words: &[&str]) -> Result<(), Error> {
    let number = |place: usize| words[place].parse::<i64>().unwrap();
    let (m, n, k, batch) = (number(1), number(2), number(3), number(4));
    let factor = |place: usize| words[place].parse::<f64>().unwrap();
    let (offset, gap) = (number(7) as u64, number(8));
    let mut files: Vec<Vec<u8>> =
        words[9..12].iter().map(|name| std::fs::read(name).unwrap()).collect();
    let mut status = 0;
    let shapes = [(m, k), (k, n), (m, n)];
    let mut matrices = Vec::new();
    for (place, file) in files.iter_mut().enumerate() {
        let (rows, columns) = shapes[place];
        let (length, count) = if ORDERS[place] { (rows, columns) } else { (columns, rows) };
        let ld = length.max(1) + gap;
        let host = file.as_mut_ptr().cast();
        let buffer = unsafe { clCreateBuffer(context, 1 | 32, file.len(), host, &mut status) };
        assert!(status == 0, "buffer of {} bytes: {status}", file.len());
        matrices.push(Matrix { buffer, offset, ld: ld as u64, stride: (ld * count) as u64 });
    }
    let kernel = usize::try_from(number(0)).ok();
    let problem = Problem { m, n, k, batch };
    let (alpha, beta): (Element, Element) = (FACTOR(factor(5)), FACTOR(factor(6)));
    let [a, b, c] = [matrices[0], matrices[1], matrices[2]];
    let event = unsafe { gemm(queue, problem, alpha, a, b, beta, c, &[], kernel) }?;
    let result = &mut files[2];
    let to = result.as_mut_ptr().cast();
    unsafe {
        status = clEnqueueReadBuffer(queue, c.buffer, 1, 0, result.len(), to, 1, &event, null_mut());
        clReleaseEvent(event);
        matrices.iter().for_each(|x| _ = clReleaseMemObject(x.buffer));
    }
    assert!(status == 0 && size_of::<Element>() > 0);
    std::fs::write(words[11], result).unwrap();
    Ok(())
}

fn main() {
    let (mut platform, mut device, mut status) = (null_mut(), null_mut(), 0);
    let (context, queue) = unsafe {
        clGetPlatformIDs(1, &mut platform, null_mut());
        clGetDeviceIDs(platform, 0xffff_ffff, 1, &mut device, null_mut());
        let context = clCreateContext(null(), 1, &device, null(), null_mut(), &mut status);
        (context, clCreateCommandQueue(context, device, 0, &mut status))
    };
    assert!(status == 0 && !NAMES.is_empty());
    for text in std::io::stdin().lock().lines() {
        let text = text.unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        match line(queue, context, &words) {
            Ok(()) => println!("done"),
            Err(error) => println!("{error}"),
        }
    }
    release();
}
