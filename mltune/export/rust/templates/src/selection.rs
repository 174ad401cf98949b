//! Which kernel for which size.

/// The product is m x n and its sums have k terms; batch is the number of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub batch: i64,
}

/// The number of the kernel for a problem. Every size is answered, 0 and below too.
pub fn select(problem: &Problem) -> usize {
    choose(problem).0
}

/// Why that one: "exact size", "time formulas" or "tree".
pub fn reason(problem: &Problem) -> &'static str {
    choose(problem).1
}

static EXACT: &[([i64; 4], usize)] = &[
{% for size, kernel in library.selector.exact | sort %}    ({{ size | list }}, {{ kernel }}),
{% endfor %}
];

fn choose(problem: &Problem) -> (usize, &'static str) {
    let sizes = [problem.m, problem.n, problem.k, problem.batch];
    if let Ok(place) = EXACT.binary_search_by_key(&sizes, |(size, _)| *size) {
        return (EXACT[place].1, "exact size");
    }
    let sizes = sizes.map(|size| size.max(0) as u64);
{% if times %}
    if let Some(kernel) = fastest(sizes) {
        return (kernel, "time formulas");
    }
{% endif %}
    (tree(sizes), "tree")
}

{% if limit %}
/// Whether the work of a size, with {{ padding }} more on each side, is at most {{ limit }}.
fn has_time([m, n, k, batch]: [u64; 4]) -> bool {
    m.max(n).max(k).max(batch) <= {{ most }}
        && (m + {{ padding }}) * (n + {{ padding }}) <= {{ limit }} / ((k + {{ padding }}) * batch.max(1))
}

{% endif %}
{% if times %}
/// The kernel with the least time, in femtoseconds; of equal ones the first. None where the work
/// is too much for formulas.
#[allow(unused_variables)]
fn fastest([m, n, k, batch]: [u64; 4]) -> Option<usize> {
    if !has_time([m, n, k, batch]) {
        return None;
    }
{% for name, value in counts.items() %}    let {{ name }} = {{ value }};
{% endfor %}
    let times: &[u64] = &[
{% for time in times %}        {{ time }},
{% endfor %}
    ];
    (0..times.len()).min_by_key(|&kernel| times[kernel])
}

{% endif %}
{% if compared %}
/// What a kernel is expected to take, in femtoseconds, where `has_time` says so.
#[allow(unused_variables)]
fn time_of(kernel: usize, [m, n, k, batch]: [u64; 4]) -> u64 {
    match kernel {
{% for number, (counts, time) in compared.items() %}        {{ number }} => {
{% for name, value in counts.items() %}            let {{ name }} = {{ value }};
{% endfor %}
            {{ time }}
        }
{% endfor %}
        _ => 0,
    }
}

/// The first kernel, if its share in the sum of both expected times is at most so many {{ parts }}ths;
/// else the second.
fn faster_of(sizes: [u64; 4], first: usize, second: usize, threshold: u64) -> usize {
    let units = |kernel| (time_of(kernel, sizes) >> {{ shift }}).min({{ most_time }});
    let is_first = if has_time(sizes) {
        let (one, other) = (units(first), units(second));
        {{ parts }} * one < (threshold + 1) * (one + other + 1)
    } else {
        {{ parts // 2 }} <= threshold
    };
    if is_first {
        first
    } else {
        second
    }
}

{% endif %}
#[allow(unused_variables)]
fn tree([m, n, k, batch]: [u64; 4]) -> usize {
{% for name, value in features.items() %}    let {{ name }} = {{ value }};
{% endfor %}
{{ guards | join("\n") }}
}
