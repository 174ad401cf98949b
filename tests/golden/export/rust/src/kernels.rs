//! The kernels: OpenCL sources in `opencl/`, with their arguments and launch geometry.

use crate::launch::{pass, Error, Matrix};
use crate::opencl::Handle;

/// One number of a matrix; a complex one is real part, imaginary part.
pub type Element = f32;
pub(crate) const ZERO: Element = 0.0;

/// Whether a problem is a batch of products.
pub const BATCHED: bool = false;
/// Whether neighbours in memory are those of a column: in A, in B and in C.
pub(crate) const COLUMN_MAJOR: [bool; 3] = [true, true, true];

/// The kernels' names, by their numbers.
pub const NAMES: [&str; 2] = [
    "one_element",
    "four_rows",
];

/// A kernel with its launch: of each pass the name, the work-group and the work-items, where one
/// with a 0 is not launched; the bytes of scratch memory and of counters.
pub(crate) struct Kernel {
    pub source: &'static str,
    pub build_options: &'static str,
    pub passes: Vec<(&'static str, [usize; 3], [u64; 3])>,
    pub bytes: [u64; 2],
}

#[allow(unused_variables)] // all are at least 1
pub(crate) fn describe(number: usize, [rows, columns, terms, batch, units]: [u64; 5]) -> Kernel {
    match number {
        0 => Kernel {
            source: include_str!("../opencl/one_element.cl"),
            build_options: "-cl-std=CL1.2 -w",
            passes: vec![
                ("one_element", [8, 8, 1], [u64::saturating_mul(u64::div_ceil(rows, 8), 8), u64::saturating_mul(u64::div_ceil(columns, 8), 8), batch]),
            ],
            bytes: [0, 0],
        },
        _ => Kernel {
            source: include_str!("../opencl/four_rows.cl"),
            build_options: "-cl-std=CL1.2 -w",
            passes: vec![
                ("four_rows", [8, 8, 1], [u64::saturating_mul(u64::div_ceil(rows, 32), 8), u64::saturating_mul(u64::div_ceil(columns, 8), 8), batch]),
            ],
            bytes: [0, 0],
        },
    }
}

#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn set_arguments(
    kernel: Handle, [rows, columns, terms]: [u64; 3], [c, a, b]: [Matrix; 3],
    alpha: Element, beta: Element, [scratch, counters]: [Option<Handle>; 2],
) -> Result<(), Error> {
    let mut place = 0;
    pass(kernel, &mut place, c.buffer)?;
    pass(kernel, &mut place, a.buffer)?;
    pass(kernel, &mut place, b.buffer)?;
    pass(kernel, &mut place, alpha)?;
    pass(kernel, &mut place, beta)?;
    pass(kernel, &mut place, rows as u32)?;
    pass(kernel, &mut place, columns as u32)?;
    pass(kernel, &mut place, terms as u32)?;
    pass(kernel, &mut place, c.offset)?;
    pass(kernel, &mut place, c.ld)?;
    pass(kernel, &mut place, c.stride)?;
    pass(kernel, &mut place, a.offset)?;
    pass(kernel, &mut place, a.ld)?;
    pass(kernel, &mut place, a.stride)?;
    pass(kernel, &mut place, b.offset)?;
    pass(kernel, &mut place, b.ld)?;
    pass(kernel, &mut place, b.stride)?;
    scratch.map_or(Ok(()), |memory| pass(kernel, &mut place, memory))?;
    counters.map_or(Ok(()), |memory| pass(kernel, &mut place, memory))?;
    Ok(())
}
