//! C = alpha * A * B + beta * C in single precision, column-major.
//!
//! It chooses among 2 kernels by 2 exact sizes first, then a decision tree of depth 2.
//!
//! What the choice loses, measured on 20 sizes held out from the fit: time of the best known
//! kernel / time of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th percentile
//! and 0.841 at worst (at 35x700x2048).
//!
//! Measured: device an example, not a measurement; statistic median of 7 samples, kernel time by
//! device events.

mod kernels;
mod launch;
#[allow(non_snake_case)]
mod opencl;
mod selection;

pub use kernels::{Element, BATCHED, NAMES};
pub use launch::{gemm, release, Error, Matrix};
pub use opencl::Handle;
pub use selection::{reason, select, Problem};
