/*
 * mltune_set_sgemm_nn: which kernel for which size.
 *
 * C = alpha * A * B + beta * C in single precision, column-major.
 * It chooses among 2 kernels by 2 exact sizes first, then a decision tree of depth 2.
 * What the choice loses, measured on 20 sizes held out from the fit: time of the best
 * known kernel / time of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th
 * percentile and 0.841 at worst (at 35x700x2048).
 * Measured: device an example, not a measurement; statistic median of 7 samples, kernel
 * time by device events.
 */

#include "mltune_select.h"

#include <stdlib.h>

const char *const mltune_set_sgemm_nn_names[] = {
    "one_element",
    "four_rows",
};

static int64_t at_least(int64_t least, int64_t size)
{
    return size < least ? least : size;
}

/* The product of two sizes, or INT64_MAX where it is larger than that. */
static int64_t product(int64_t x, int64_t y)
{
    if ((x | y) <= INT32_MAX) /* nearly always, and without a division */
        return x * y;
    return x != 0 && y > INT64_MAX / x ? INT64_MAX : x * y;
}

static uint64_t hash_of(const mltune_problem *problem)
{
    return (uint64_t)problem->m * 0x9e3779b97f4a7c15u + (uint64_t)problem->n * 0xc2b2ae3d27d4eb4fu +
        (uint64_t)problem->k * 0x165667b19e3779f9u + (uint64_t)problem->batch * 0xd6e8feb86659fd93u;
}

/* The sizes that were tuned for: m, n, k, in ascending order. */
static const int32_t exact_sizes[][3] = {
    {64, 64, 64},
    {1024, 1024, 1024},
};

/* The kernel of each. */
static const unsigned char exact_kernels[] = {
    0, 1
};

/* The place of each, counted from 1, where its hash says, or in the next free field; 0 is free. */
static const unsigned short exact_places[4] = {
    0, 0, 1, 2
};

/* The kernel of an exact size; -1 for any other. */
static int look_up(const mltune_problem *problem)
{
    size_t field = (size_t)(hash_of(problem) >> 62);

    for (; exact_places[field] != 0; field = (field + 1) % 4) {
        const int32_t *const found = exact_sizes[exact_places[field] - 1];

        if (found[0] == problem->m && found[1] == problem->n && found[2] == problem->k &&
            problem->batch == 1)
            return exact_kernels[exact_places[field] - 1];
    }
    return -1;
}

static int choose(const mltune_problem *problem, const char **reason)
{
    const int64_t m = at_least(0, problem->m);
    const int64_t n = at_least(0, problem->n);
    const int64_t k = at_least(0, problem->k);
    const int64_t mn = product(m, n);
    const int64_t k_per_m = k / at_least(1, m);
    const int exact = look_up(problem);

    if (exact >= 0) {
        *reason = "exact size";
        return exact;
    }
    *reason = "tree";
    if (mn <= 4096) {
        if (k_per_m <= 15) {
            return 0;
        }
        return 1;
    }
    if (m <= 31) {
        return 0;
    }
    return 1;
}

#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#elif defined(__GNUC__)
#define THREAD_LOCAL __thread
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define THREAD_LOCAL _Thread_local
#endif

#ifdef THREAD_LOCAL
/* The last answer to the sizes of each hash. Every thread has its own: nothing is locked. */
static THREAD_LOCAL struct answer {
    mltune_problem problem;
    const char *reason; /* NULL: none yet */
    int kernel;
} answers[256];

static int remember(const mltune_problem *problem, const char **reason)
{
    struct answer *const answer = &answers[hash_of(problem) >> 56];

    if (answer->reason == NULL || answer->problem.m != problem->m ||
        answer->problem.n != problem->n || answer->problem.k != problem->k ||
        answer->problem.batch != problem->batch) {
        answer->kernel = choose(problem, &answer->reason);
        answer->problem = *problem;
    }
    *reason = answer->reason;
    return answer->kernel;
}
#else
#define remember choose
#endif

int mltune_set_sgemm_nn_select(const mltune_problem *problem, const char **reason)
{
    return remember(problem, reason);
}

int mltune_set_sgemm_nn_likely(const mltune_problem *problem, int most, int *kernels)
{
    (void)problem; /* there are no formulas */
    (void)most;
    (void)kernels;
    return 0;
}
