/* mltune_sgemm_nn: the kernels' sources and launch geometry; not part of the interface. */

#ifndef MLTUNE_SGEMM_NN_KERNELS_H
#define MLTUNE_SGEMM_NN_KERNELS_H

#include <stddef.h>

typedef struct mltune_sgemm_nn_kernel {
    const char *const *source; /* string literals, to be put together */
    unsigned num_literals;
    const char *build_options;
    size_t work_group[3];  /* work-items of a work-group */
    size_t macro_tile[2];  /* rows and columns of a column-major C that a work-group computes */
} mltune_sgemm_nn_kernel;

extern const mltune_sgemm_nn_kernel mltune_sgemm_nn_kernels[];

#endif
