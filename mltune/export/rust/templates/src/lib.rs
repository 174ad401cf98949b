{% for line in paragraphs.splitlines() %}
//!{{ " " ~ line if line }}
{% endfor %}

mod kernels;
mod launch;
#[allow(non_snake_case)]
mod opencl;
mod selection;

pub use kernels::{Element, BATCHED, NAMES};
pub use launch::{gemm, release, Error, Matrix};
pub use opencl::Handle;
pub use selection::{reason, select, Problem};
