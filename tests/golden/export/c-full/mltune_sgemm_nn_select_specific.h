/* mltune_sgemm_nn: a kernel by its tile in place of the size, for tools. */

#ifndef MLTUNE_SGEMM_NN_SELECT_SPECIFIC_H
#define MLTUNE_SGEMM_NN_SELECT_SPECIFIC_H

struct mltune_sgemm_nn_tile;

#ifdef __cplusplus
extern "C" {
#endif

/* The number of the first kernel that has all parameters of `wanted` that are not 0; -1 if none
   has. mltune_sgemm_nn_with computes with the kernel of a number. */
int mltune_sgemm_nn_select_specific(const struct mltune_sgemm_nn_tile *wanted);

#ifdef __cplusplus
}
#endif

#endif
