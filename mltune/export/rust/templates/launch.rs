//! Checks the arguments, builds kernels once and enqueues them. Kernels see C column by column.

use std::ffi::CString;
use std::mem::{size_of, size_of_val};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kernels::{set_arguments, Element, Extents, BATCHED, COLUMN_MAJOR, KERNELS, ZERO};
use crate::opencl::*;
use crate::selection::{select, Problem};

/// A matrix in a buffer: its first element, its leading dimension and, where it is one of a
/// batch, the way to the next one, all in elements.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    pub buffer: Handle,
    pub offset: u64,
    pub ld: u64,
    pub stride: u64,
}

/// Why nothing was computed: a wrong argument, which a buffer that is too small for its matrix is,
/// or OpenCL's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Argument(&'static str),
    OpenCl(i32),
}

impl std::fmt::Display for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "{self:?}")
    }
}

impl std::error::Error for Error {}

/// `count` runs of `length` contiguous elements, `ld` apart.
pub(crate) struct Runs {
    pub at: Matrix,
    pub length: u64,
    pub count: u64,
}

impl Runs {
    fn new(at: Matrix, rows: i64, columns: i64, column_major: bool) -> Runs {
        let (length, count) = if column_major { (rows, columns) } else { (columns, rows) };
        Runs { at, length: length as u64, count: count as u64 }
    }

    /// Elements from the first one to the last, both included.
    fn span(&self) -> u64 {
        (self.count - 1).saturating_mul(self.at.ld).saturating_add(self.length)
    }

    fn inside(&self, batch: u64) -> bool {
        let batches = (batch - 1).saturating_mul(self.at.stride);
        let end = self.at.offset.saturating_add(self.span()).saturating_add(batches);
        !self.at.buffer.is_null()
            && info::<usize>(self.at.buffer, MEM_SIZE, clGetMemObjectInfo)
                .is_ok_and(|bytes| end <= (bytes / size_of::<Element>()) as u64)
    }

    /// Whether matrices of a batch may share an element: they do not if they lie one after the
    /// other, or if each one's runs lie between those of the others.
    fn overlap(&self, batch: u64) -> bool {
        let (stride, length) = (self.at.stride, self.length);
        let between = (batch - 1).saturating_mul(stride).saturating_add(length);
        batch > 1 && stride < self.span() && (stride < length || between > self.at.ld)
    }
}

/// Hands a kernel its arguments, one after the other.
pub(crate) struct Passed(pub Handle, pub u32);

impl Passed {
    pub unsafe fn value<T>(&mut self, value: T) -> Result<(), Error> {
        self.1 += 1;
        done(clSetKernelArg(self.0, self.1 - 1, size_of_val(&value), (&raw const value).cast()))
    }
}

/// What was built for a context, a device and a kernel's number, and the scratch memory (0) and
/// counters (1) of a queue with their bytes. It keeps its objects alive, so that no pointer comes
/// to mean another one.
struct State {
    built: Vec<((Handle, Handle, usize), Vec<Handle>)>,
    memories: Vec<((Handle, usize), Handle, u64)>,
}

unsafe impl Send for State {} // OpenCL's handles may be used from any thread

static STATE: Mutex<State> = Mutex::new(State { built: Vec::new(), memories: Vec::new() });

fn locked() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn done(status: i32) -> Result<(), Error> {
    [Ok(()), Err(Error::OpenCl(status))][usize::from(status != 0)]
}

fn info<T: Default>(of: Handle, name: u32, query: Query) -> Result<T, Error> {
    let mut value = T::default();
    done(unsafe { query(of, name, size_of::<T>(), (&raw mut value).cast(), null_mut()) })?;
    Ok(value)
}

fn owner(queue: Handle, name: u32) -> Result<Handle, Error> {
    info::<usize>(queue, name, clGetCommandQueueInfo).map(|address| address as Handle)
}

/// Enqueue the product with the kernel that is chosen for the size, or with the one given, and
/// return the event of its end, which the caller releases.
///
/// A and B are not read if alpha or k is zero, C is not read if beta is zero. Sizes are from 0 to
/// 2^31 - 1, and `batch` is 1 unless the problem type is batched. Any number of threads may call;
/// the first call that needs a kernel on a device builds it.
///
/// # Safety
///
/// Handles must be valid, and memory must not be used by others until the event.
#[allow(clippy::too_many_arguments)]
pub unsafe fn gemm(
    queue: Handle, problem: Problem, alpha: Element, a: Matrix, b: Matrix, beta: Element,
    c: Matrix, wait_list: &[Handle], kernel: Option<usize>,
) -> Result<Handle, Error> {
    let Problem { m, n, k, batch } = problem;
    let wrong = |name| Err(Error::Argument(name));
    for (name, size) in [("m", m), ("n", n), ("k", k), ("batch", batch)] {
        if size < 0 || size > i32::MAX.into() || (name == "batch" && !BATCHED && size != 1) {
            return wrong(name);
        }
    }
    let a = Runs::new(a, m, k, COLUMN_MAJOR[0]);
    let b = Runs::new(b, k, n, COLUMN_MAJOR[1]);
    let c = Runs::new(c, m, n, COLUMN_MAJOR[2]);
    let (terms, batch) = (if alpha == ZERO { 0 } else { k as u64 }, batch as u64);
    for (name, x) in [("a", &a), ("b", &b), ("c", &c)] {
        if x.at.ld < x.length.max(1) {
            return wrong(name);
        }
    }
    if queue.is_null() || kernel.is_some_and(|number| number >= KERNELS.len()) {
        return wrong(if queue.is_null() { "queue" } else { "kernel" });
    }
    let (mut event, waits) = (null_mut(), wait_list.len() as u32);
    let list = if waits == 0 { null() } else { wait_list.as_ptr() };
    if m == 0 || n == 0 || batch == 0 {
        done(clEnqueueMarkerWithWaitList(queue, waits, list, &mut event))?;
        return Ok(event);
    }
    for (name, x, is_read) in [("a", &a, terms > 0), ("b", &b, terms > 0), ("c", &c, true)] {
        if (is_read && !x.inside(batch)) || (name == "c" && x.overlap(batch)) {
            return wrong(name);
        }
    }
    let number = kernel.unwrap_or_else(|| select(&problem));
    let (written, device) = (&KERNELS[number], owner(queue, QUEUE_DEVICE)?);
    let units: u32 = info(device, DEVICE_MAX_COMPUTE_UNITS, clGetDeviceInfo)?;
    let (rows, columns) = (c.length, c.count);
    let of = Extents { rows, columns, terms: terms.max(1), batch, units: units.into() };
    let launch = (written.compute)(&of);
    let (first, second) = if COLUMN_MAJOR[2] { (&a, &b) } else { (&b, &a) };

    let mut state = locked();
    let kernels = state.kernels(owner(queue, QUEUE_CONTEXT)?, device, number)?;
    let mut memories = [None, None];
    for (kind, bytes) in [launch.scratch_bytes, launch.counter_bytes].into_iter().enumerate() {
        if bytes > 0 {
            memories[kind] = Some(state.memory(queue, kind, bytes)?);
        }
    }
    for &built in &kernels {
        set_arguments(built, &of, terms, &c, first, second, alpha, beta, memories)?;
    }
    let properties: u64 = info(queue, QUEUE_PROPERTIES, clGetCommandQueueInfo)?;
    let has_work = |&i: &usize| !launch.global[i].contains(&0);
    let busy: Vec<usize> = (0..kernels.len()).filter(has_work).collect();
    for &i in &busy {
        if launch.global[i].iter().any(|&size| usize::try_from(size).is_err()) {
            return Err(Error::OpenCl(INVALID_GLOBAL_WORK_SIZE));
        }
        let (global, local) = (launch.global[i].map(|size| size as usize), written.passes[i].1);
        if properties & OUT_OF_ORDER != 0 {
            done(clEnqueueBarrierWithWaitList(queue, 0, null(), null_mut()))?;
        }
        let (count, list) = if i == busy[0] { (waits, list) } else { (0, null()) };
        let ended = if Some(&i) == busy.last() { &mut event } else { null_mut() };
        let (global, local) = (global.as_ptr(), local.as_ptr());
        done(clEnqueueNDRangeKernel(
            queue, kernels[i], 3, null(), global, local, count, list, ended,
        ))?;
    }
    Ok(event)
}

/// Forget the built kernels and scratch memory, and with them their contexts.
pub fn release() {
    let mut state = locked();
    for kernel in state.built.drain(..).flat_map(|(_, kernels)| kernels) {
        unsafe { clReleaseKernel(kernel) };
    }
    for ((queue, _), memory, _) in state.memories.drain(..) {
        unsafe { _ = (clReleaseMemObject(memory), clReleaseCommandQueue(queue)) };
    }
}

impl State {
    /// Find a kernel's passes for a device, or build them.
    unsafe fn kernels(
        &mut self, context: Handle, device: Handle, number: usize,
    ) -> Result<Vec<Handle>, Error> {
        let key = (context, device, number);
        if let Some((_, kernels)) = self.built.iter().find(|(known, _)| *known == key) {
            return Ok(kernels.clone());
        }
        let (written, mut status) = (&KERNELS[number], 0);
        let (text, length) = (written.source.as_ptr().cast(), written.source.len());
        let program = clCreateProgramWithSource(context, 1, &text, &length, &mut status);
        done(status)?;
        let options = CString::new(written.build_options).unwrap_or_default();
        status = clBuildProgram(program, 1, &device, options.as_ptr(), null(), null_mut());
        let mut kernels = Vec::new();
        for (entry, _) in written.passes {
            if status == 0 {
                let name = CString::new(*entry).unwrap_or_default();
                kernels.push(clCreateKernel(program, name.as_ptr(), &mut status));
            }
        }
        clReleaseProgram(program); // the kernels keep what they need
        if status != 0 {
            kernels.iter().filter(|x| !x.is_null()).for_each(|&x| _ = clReleaseKernel(x));
        }
        done(status)?;
        self.built.push((key, kernels.clone()));
        Ok(kernels)
    }

    /// Find a queue's scratch memory (0) or its counters, full of zeros (1), or make more.
    unsafe fn memory(&mut self, queue: Handle, kind: usize, bytes: u64) -> Result<Handle, Error> {
        let place = self.memories.iter().position(|kept| kept.0 == (queue, kind));
        if let Some((_, memory, _)) = place.map(|i| self.memories[i]).filter(|x| x.2 >= bytes) {
            return Ok(memory);
        }
        let size = usize::try_from(bytes);
        let size = size.map_err(|_| Error::OpenCl(MEM_OBJECT_ALLOCATION_FAILURE))?;
        let (context, mut status) = (owner(queue, QUEUE_CONTEXT)?, 0);
        let made = clCreateBuffer(context, MEM_READ_WRITE, size, null_mut(), &mut status);
        done(status)?;
        let zero = (&raw const status).cast();
        if kind == 1 {
            status = clEnqueueFillBuffer(queue, made, zero, 4, 0, size, 0, null(), null_mut());
        }
        if status != 0 {
            clReleaseMemObject(made);
            return Err(Error::OpenCl(status));
        }
        if let Some(smaller) = place {
            // OpenCL keeps it until those who use it have ended.
            clReleaseMemObject(self.memories.swap_remove(smaller).1);
        } else {
            clRetainCommandQueue(queue);
        }
        self.memories.push(((queue, kind), made, bytes));
        Ok(made)
    }
}
