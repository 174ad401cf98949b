/* mltune_sgemm_nn: options for the driver's compiler, by the kernels' numbers. */

#include "mltune_sgemm_nn_build_options.h"

#include "mltune_sgemm_nn_kernels.h"

const char *const mltune_sgemm_nn_build_options_source[] = {
    "-cl-std=CL1.2 -w",
    "-cl-std=CL1.2 -w",
};

/* Binaries need none: they are compiled. */
const char *const mltune_sgemm_nn_build_options_binary[] = {
    "",
    "",
};
