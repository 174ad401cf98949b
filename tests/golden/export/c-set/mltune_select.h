/* mltune: which kernel for which size; not part of the interface. */

#ifndef MLTUNE_SELECT_H
#define MLTUNE_SELECT_H

#include <stdint.h>

/* The product is m x n and its sums have k terms; batch is the number of products. */
typedef struct mltune_problem {
    int64_t m, n, k, batch;
} mltune_problem;

/* Each gives the number of a kernel, and why that one; each kernel has a name. */
int mltune_sgemm_nn_select(const mltune_problem *problem, const char **reason);
extern const char *const mltune_sgemm_nn_names[];

#endif
