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
    ([64, 64, 64, 1], 0),
    ([1024, 1024, 1024, 1], 1),
];

fn choose(problem: &Problem) -> (usize, &'static str) {
    let sizes = [problem.m, problem.n, problem.k, problem.batch];
    if let Ok(place) = EXACT.binary_search_by_key(&sizes, |(size, _)| *size) {
        return (EXACT[place].1, "exact size");
    }
    let sizes = sizes.map(|size| size.max(0) as u64);
    (tree(sizes), "tree")
}

#[allow(unused_variables)]
fn tree([m, n, k, batch]: [u64; 4]) -> usize {
    let mn = u64::saturating_mul(m, n);
    let k_per_m = k / u64::max(m, 1);
    if mn <= 4096 {
        if k_per_m <= 15 {
            return 0;
        }
        return 1;
    }
    if m <= 31 {
        return 0;
    }
    1
}
