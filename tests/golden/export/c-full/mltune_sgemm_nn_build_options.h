/* mltune_sgemm_nn: options for the driver's compiler, by the kernels' numbers. */

#ifndef MLTUNE_SGEMM_NN_BUILD_OPTIONS_H
#define MLTUNE_SGEMM_NN_BUILD_OPTIONS_H

extern const char *const mltune_sgemm_nn_build_options_source[];
extern const char *const mltune_sgemm_nn_build_options_binary[];

#endif
