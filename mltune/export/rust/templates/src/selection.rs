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
    match fastest(sizes) {
        Some(kernel) => (kernel, "time formulas"),
        None => (tree(sizes), "tree"),
    }
}

/// The kernel with the least time, in femtoseconds; of equal ones the first. None where the work,
/// with {{ padding }} more on each side, is more than {{ limit }}.
#[allow(unused_variables)]
fn fastest([m, n, k, batch]: [u64; 4]) -> Option<usize> {
    if m.max(n).max(k).max(batch) > {{ most }}
        || (m + {{ padding }}) * (n + {{ padding }}) > {{ limit }} / ((k + {{ padding }}) * batch.max(1))
    {
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

#[allow(unused_variables)]
fn tree([m, n, k, batch]: [u64; 4]) -> usize {
{% for name, value in features.items() %}    let {{ name }} = {{ value }};
{% endfor %}
{{ guards | join("\n") }}
}
