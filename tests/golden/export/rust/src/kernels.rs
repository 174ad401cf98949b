//! The kernels: OpenCL sources in `opencl/`, with their arguments and launch geometry.

use crate::launch::{Error, Passed, Runs};
use crate::opencl::Handle;

/// One number of a matrix; a complex one is real part, imaginary part.
pub type Element = f32;
pub(crate) const ZERO: Element = 0.0;

/// Whether a problem is a batch of products.
pub const BATCHED: bool = false;
/// Whether neighbours in memory are those of a column: in A, in B and in C.
pub(crate) const COLUMN_MAJOR: [bool; 3] = [true, true, true];

/// What a launch follows from, each at least 1.
#[allow(dead_code)]
pub(crate) struct Extents {
    pub rows: u64,
    pub columns: u64,
    pub terms: u64,
    pub batch: u64,
    pub units: u64,
}

/// Work-items of each pass; one with a 0 is not launched.
pub(crate) struct Launch {
    pub global: Vec<[u64; 3]>,
    pub scratch_bytes: u64,
    pub counter_bytes: u64,
}

pub(crate) struct Kernel {
    pub source: &'static str,
    pub build_options: &'static str,
    pub passes: &'static [(&'static str, [usize; 3])],
    pub compute: fn(&Extents) -> Launch,
}

/// The kernels' names, by their numbers.
pub const NAMES: [&str; 2] = [
    "one_element",
    "four_rows",
];

pub(crate) static KERNELS: [Kernel; 2] = [
    Kernel {
        source: include_str!("../opencl/one_element.cl"),
        build_options: "-cl-std=CL1.2",
        passes: &[("one_element", [8, 8, 1])],
        compute: compute_0,
    },
    Kernel {
        source: include_str!("../opencl/four_rows.cl"),
        build_options: "-cl-std=CL1.2",
        passes: &[("four_rows", [8, 8, 1])],
        compute: compute_1,
    },
];

#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn set_arguments(
    kernel: Handle, of: &Extents, terms: u64, c: &Runs, a: &Runs, b: &Runs, alpha: Element,
    beta: Element, [scratch, counters]: [Option<Handle>; 2],
) -> Result<(), Error> {
    let mut passed = Passed(kernel, 0);
    passed.value(c.at.buffer)?;
    passed.value(a.at.buffer)?;
    passed.value(b.at.buffer)?;
    passed.value(alpha)?;
    passed.value(beta)?;
    passed.value(of.rows as u32)?;
    passed.value(of.columns as u32)?;
    passed.value(terms as u32)?;
    passed.value(c.at.offset)?;
    passed.value(c.at.ld)?;
    passed.value(c.at.stride)?;
    passed.value(a.at.offset)?;
    passed.value(a.at.ld)?;
    passed.value(a.at.stride)?;
    passed.value(b.at.offset)?;
    passed.value(b.at.ld)?;
    passed.value(b.at.stride)?;
    scratch.map_or(Ok(()), |memory| passed.value(memory))?;
    counters.map_or(Ok(()), |memory| passed.value(memory))?;
    Ok(())
}

fn compute_0(of: &Extents) -> Launch {
    Launch {
        global: vec![
            [u64::saturating_mul(u64::div_ceil(of.rows, 8), 8), u64::saturating_mul(u64::div_ceil(of.columns, 8), 8), of.batch],
        ],
        scratch_bytes: 0,
        counter_bytes: 0,
    }
}

fn compute_1(of: &Extents) -> Launch {
    Launch {
        global: vec![
            [u64::saturating_mul(u64::div_ceil(of.rows, 32), 8), u64::saturating_mul(u64::div_ceil(of.columns, 8), 8), of.batch],
        ],
        scratch_bytes: 0,
        counter_bytes: 0,
    }
}
