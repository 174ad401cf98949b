//! Checks the arguments, builds kernels once and enqueues them. Kernels see C column by column.

use std::collections::{btree_map::Entry, BTreeMap};
use std::ffi::CString;
use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use crate::kernels::*;
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

/// Why the product is not in C: a wrong argument, which a buffer that is too small for its matrix
/// is, or OpenCL's error code. After the latter, a part of C may have been computed: do not repeat
/// such a call with the same C if beta is not zero.
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

impl Matrix {
    /// Whether a batch of `count` runs of `length` contiguous elements, `ld` apart, lies in the
    /// buffer. If it is written, its matrices must not share an element: they lie one after the
    /// other, or each one's runs lie between those of the others.
    fn fits(&self, [length, count]: [u64; 2], batch: u64, is_written: bool) -> bool {
        let span = (count - 1).saturating_mul(self.ld).saturating_add(length);
        let starts = (batch - 1).saturating_mul(self.stride);
        let between = self.stride < length || starts.saturating_add(length) > self.ld;
        let overlap = is_written && batch > 1 && self.stride < span && between;
        let end = self.offset.saturating_add(span).saturating_add(starts);
        let bytes = info::<usize>(self.buffer, MEM_SIZE, clGetMemObjectInfo);
        let holds = |bytes| end <= (bytes / size_of::<Element>()) as u64;
        !self.buffer.is_null() && !overlap && bytes.is_ok_and(holds)
    }
}

/// Hand a kernel its next argument.
pub(crate) unsafe fn pass<T>(kernel: Handle, place: &mut u32, value: T) -> Result<(), Error> {
    *place += 1;
    done(clSetKernelArg(kernel, *place - 1, size_of::<T>(), (&raw const value).cast()))
}

/// One of OpenCL's objects, with what releases it.
struct Owned(Handle, unsafe extern "C" fn(Handle) -> i32);

impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { self.1(self.0) };
    }
}

/// What was built for a context, a device and a kernel's number, and the scratch memory (0) and
/// counters (1) of a queue with their bytes. It keeps its objects alive, so that no pointer comes
/// to mean another one.
struct State {
    built: BTreeMap<(Handle, Handle, usize), Vec<Owned>>,
    memories: BTreeMap<(Handle, usize), (Owned, Owned, u64)>,
}

unsafe impl Send for State {} // OpenCL's handles may be used from any thread

static STATE: Mutex<State> =
    Mutex::new(State { built: BTreeMap::new(), memories: BTreeMap::new() });

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
    let (terms, batch) = (if alpha == ZERO { 0 } else { k as u64 }, batch as u64);
    let run = |x, y, by_column| if by_column { [x as u64, y as u64] } else { [y as u64, x as u64] };
    let [i, j, l] = COLUMN_MAJOR;
    let given = [("a", a, run(m, k, i)), ("b", b, run(k, n, j)), ("c", c, run(m, n, l))];
    if let Some((name, ..)) = given.iter().find(|(_, x, [length, _])| x.ld < *length.max(&1)) {
        return wrong(name);
    }
    if queue.is_null() || kernel.is_some_and(|number| number >= NAMES.len()) {
        return wrong(if queue.is_null() { "queue" } else { "kernel" });
    }
    let (mut event, mut waits) = (null_mut(), wait_list.len() as u32);
    let mut list = if waits == 0 { null() } else { wait_list.as_ptr() };
    if m == 0 || n == 0 || batch == 0 {
        return done(clEnqueueBarrierWithWaitList(queue, waits, list, &mut event)).map(|()| event);
    }
    for (name, x, shape) in given {
        if (terms > 0 || name == "c") && !x.fits(shape, batch, name == "c") {
            return wrong(name);
        }
    }
    let (number, device) = (kernel.unwrap_or_else(|| select(&problem)), owner(queue, QUEUE_DEVICE)?);
    let units: u32 = info(device, DEVICE_MAX_COMPUTE_UNITS, clGetDeviceInfo)?;
    let [rows, columns] = given[2].2;
    let written = describe(number, [rows, columns, terms.max(1), batch, units.into()]);
    let matrices = if COLUMN_MAJOR[2] { [c, a, b] } else { [c, b, a] };

    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut memories = [None, None];
    for kind in (0..2).filter(|&kind| written.bytes[kind] > 0) {
        memories[kind] = Some(state.memory(queue, kind, written.bytes[kind])?);
    }
    let kernels = state.kernels((owner(queue, QUEUE_CONTEXT)?, device, number), &written)?;
    for built in kernels {
        set_arguments(built.0, [rows, columns, terms], matrices, alpha, beta, memories)?;
    }
    let properties: u64 = info(queue, QUEUE_PROPERTIES, clGetCommandQueueInfo)?;
    let mut passes = kernels.iter().zip(&written.passes).filter(|(_, x)| !x.2.contains(&0)).peekable();
    while let Some((built, (_, local, global))) = passes.next() {
        if properties & OUT_OF_ORDER != 0 {
            done(clEnqueueBarrierWithWaitList(queue, 0, null(), null_mut()))?;
        }
        let (global, local) = (global.map(|x| usize::try_from(x).unwrap_or(usize::MAX)), local.as_ptr());
        let ended = if passes.peek().is_none() { &mut event } else { null_mut() };
        let sizes = global.as_ptr();
        done(clEnqueueNDRangeKernel(queue, built.0, 3, null(), sizes, local, waits, list, ended))?;
        (waits, list) = (0, null());
    }
    Ok(event)
}

/// Forget the built kernels and scratch memory, and with them their contexts.
pub fn release() {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    (state.built, state.memories) = Default::default();
}

impl State {
    /// Find a kernel's passes for a context and a device, or build them.
    unsafe fn kernels(
        &mut self, key: (Handle, Handle, usize), written: &Kernel,
    ) -> Result<&[Owned], Error> {
        if let Entry::Vacant(place) = self.built.entry(key) {
            let (mut status, mut kernels) = (0, Vec::new());
            let (text, length) = (written.source.as_ptr().cast(), written.source.len());
            let program = clCreateProgramWithSource(key.0, 1, &text, &length, &mut status);
            done(status)?;
            let program = Owned(program, clReleaseProgram); // the kernels keep what they need
            let options = CString::new(written.build_options).unwrap_or_default();
            done(clBuildProgram(program.0, 1, &key.1, options.as_ptr(), null(), null_mut()))?;
            for (entry, ..) in &written.passes {
                let name = CString::new(*entry).unwrap_or_default();
                let kernel = clCreateKernel(program.0, name.as_ptr(), &mut status);
                done(status)?;
                kernels.push(Owned(kernel, clReleaseKernel));
            }
            place.insert(kernels);
        }
        Ok(&self.built[&key])
    }

    /// Find a queue's scratch memory (0) or its counters, full of zeros (1), or make more.
    unsafe fn memory(&mut self, queue: Handle, kind: usize, bytes: u64) -> Result<Handle, Error> {
        let kept = self.memories.get(&(queue, kind)).filter(|kept| kept.2 >= bytes);
        if let Some((memory, ..)) = kept {
            return Ok(memory.0);
        }
        let (context, mut status) = (owner(queue, QUEUE_CONTEXT)?, 0);
        let size = usize::try_from(bytes).unwrap_or(usize::MAX); // which OpenCL refuses
        let made = clCreateBuffer(context, MEM_READ_WRITE, size, null_mut(), &mut status);
        done(status)?;
        let memory = Owned(made, clReleaseMemObject);
        if kind == 1 {
            let zero = (&raw const status).cast();
            done(clEnqueueFillBuffer(queue, made, zero, 4, 0, size, 0, null(), null_mut()))?;
        }
        done(clRetainCommandQueue(queue))?;
        // OpenCL keeps a smaller one until those who use it have ended.
        let kept = (memory, Owned(queue, clReleaseCommandQueue), bytes);
        self.memories.insert((queue, kind), kept);
        Ok(made)
    }
}
