/* mltune_sgemm_nn: the kernels to pre-compile, by their numbers. */

#ifndef MLTUNE_SGEMM_NN_TO_PRECOMPILE_H
#define MLTUNE_SGEMM_NN_TO_PRECOMPILE_H

#define MLTUNE_SGEMM_NN_NUM_TO_PRECOMPILE 2

static const int mltune_sgemm_nn_to_precompile[] = {0, 1, -1}; /* ends with -1 */

#endif
