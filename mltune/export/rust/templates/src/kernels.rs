//! The kernels: OpenCL sources in `opencl/`, with their arguments and launch geometry.

use crate::launch::{pass, Error, Matrix};
use crate::opencl::Handle;

/// One number of a matrix; a complex one is real part, imaginary part.
pub type Element = {{ element[0] }};
pub(crate) const ZERO: Element = {{ element[1] }};

/// Whether a problem is a batch of products.
pub const BATCHED: bool = {{ library.batched | lower }};
/// Whether neighbours in memory are those of a column: in A, in B and in C.
pub(crate) const COLUMN_MAJOR: [bool; 3] = [{% for order in library.orders %}{{ (order == "F") | lower }}{{ ", " if not loop.last }}{% endfor %}];

/// The kernels' names, by their numbers.
pub const NAMES: [&str; {{ library.kernels | length }}] = [
{% for kernel in library.kernels %}    {{ literal(kernel.name) }},
{% endfor %}
];

/// A kernel with its launch: of each pass the name, the work-group and the work-items, where one
/// with a 0 is not launched; the bytes of scratch memory and of counters.
pub(crate) struct Kernel {
    pub source: &'static str,
    pub build_options: &'static str,
    pub passes: Vec<(&'static str, [usize; 3], [u64; 3])>,
    pub bytes: [u64; 2],
}

{% macro numbers(nodes) %}[{% for node in nodes %}{{ text(node) }}{{ ", " if not loop.last }}{% endfor %}]{% endmacro %}
#[allow(unused_variables)] // all are at least 1
pub(crate) fn describe(number: usize, [rows, columns, terms, batch, units]: [u64; 5]) -> Kernel {
    match number {
{% for kernel in library.kernels %}
        {{ "_" if loop.last else loop.index0 }} => Kernel {
            source: include_str!("../opencl/{{ kernel.name }}.cl"),
            build_options: {{ literal(exported_options(kernel.build_options)) }},
            passes: vec![
    {% for pass in kernel.passes %}
                ({{ literal(pass.entry) }}, {{ pass.work_group | list }}, {{ numbers(kernel.geometry.global_sizes[loop.index0]) }}),
    {% endfor %}
            ],
            bytes: {{ numbers((kernel.geometry.scratch_bytes, kernel.geometry.counter_bytes)) }},
        },
{% endfor %}
    }
}

#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn set_arguments(
    kernel: Handle, [rows, columns, terms]: [u64; 3], [c, a, b]: [Matrix; 3],
    alpha: Element, beta: Element, [scratch, counters]: [Option<Handle>; 2],
) -> Result<(), Error> {
    let mut place = 0;
{% for each in arguments %}
    {% if each.kind.value in ("scratch", "counters") %}
    {{ each.name }}.map_or(Ok(()), |memory| pass(kernel, &mut place, memory))?;
    {% else %}
    pass(kernel, &mut place, {{ text(each.value) if each.value else each.name }}{{ {"matrix": ".buffer", "uint": " as u32"}.get(each.kind.value, "") }})?;
    {% endif %}
{% endfor %}
    Ok(())
}
