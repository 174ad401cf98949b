/* mltune: which kernel for which size; not part of the interface. */

#ifndef MLTUNE_SELECT_H
#define MLTUNE_SELECT_H

#include <stdint.h>

/* The product is m x n and its sums have k terms; batch is the number of products. */
typedef struct mltune_problem {
    int64_t m, n, k, batch;
} mltune_problem;

/* Each gives the number of a kernel, and why that one; or those that are expected to be the fastest,
   the best first, where there are formulas. Each kernel has a name. */
int mltune_set_sgemm_nn_select(const mltune_problem *problem, const char **reason);
int mltune_set_sgemm_nn_likely(const mltune_problem *problem, int most, int *kernels);
extern const char *const mltune_set_sgemm_nn_names[];

#endif
