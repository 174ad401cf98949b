/*
 * mltune_sgemm_nn: which kernel for which size.
 *
 * C = alpha * A * B + beta * C in single precision, column-major.
 * It chooses among 2 kernels by 2 exact sizes first, then a decision tree of depth 2.
 * What the choice loses, measured on 20 sizes held out from the fit: time of the best
 * known kernel / time of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th
 * percentile and 0.841 at worst (at 35x700x2048).
 * Measured: device an example, not a measurement; statistic median of 7 samples, kernel
 * time by device events.
 *
 * This file and mltune_sgemm_nn_select.c need no OpenCL.
 */

#ifndef MLTUNE_SGEMM_NN_SELECT_H
#define MLTUNE_SGEMM_NN_SELECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = alpha * A * B + beta * C; the product is m x n and its sums have k terms.
   batch is the number of products: 1 unless the problem type is batched. */
typedef struct mltune_sgemm_nn_problem {
    int64_t m, n, k, batch;
} mltune_sgemm_nn_problem;

/* The number of the kernel that is chosen for a problem. Every size is answered, 0 and below too.
   A call launches another one if mltune_sgemm_nn_learn found that to be faster. */
int mltune_sgemm_nn_select(const mltune_sgemm_nn_problem *problem);

/* Why that one: "exact size", "time formulas" or "tree". */
const char *mltune_sgemm_nn_reason(const mltune_sgemm_nn_problem *problem);

/* The kernels that time formulas expect to be the fastest, the best first: at most so many, and
   none that is a fifth slower. Gives their number: 0 where there are no formulas for a problem. */
int mltune_sgemm_nn_likely(const mltune_sgemm_nn_problem *problem, int most, int *kernels);

/* How many kernels there are; their numbers begin at 0. */
int mltune_sgemm_nn_num_kernels(void);

/* A kernel's name, or NULL if there is no kernel of this number. */
const char *mltune_sgemm_nn_kernel_name(int kernel);

/* The number of the kernel of this name, or -1. */
int mltune_sgemm_nn_kernel_number(const char *name);

#ifdef __cplusplus
}
#endif

#endif
