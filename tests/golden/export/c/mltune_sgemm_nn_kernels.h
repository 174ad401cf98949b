/* mltune_sgemm_nn: the kernels' sources and launch geometry; not part of the interface. */

#ifndef MLTUNE_SGEMM_NN_KERNELS_H
#define MLTUNE_SGEMM_NN_KERNELS_H

#include <stddef.h>

/* What a grid's first two dimensions walk over: the sizes, the device's compute units, or nothing.
   The third is the batch. */
enum {
    mltune_sgemm_nn_rows,
    mltune_sgemm_nn_columns,
    mltune_sgemm_nn_terms,
    mltune_sgemm_nn_units,
    mltune_sgemm_nn_one
};

/* Which tiles along an index: those that cover it, those inside of it, the one at its end. */
enum { mltune_sgemm_nn_all, mltune_sgemm_nn_whole, mltune_sgemm_nn_rim };

/* A __kernel function with its launch geometry. */
typedef struct mltune_sgemm_nn_pass {
    const char *entry;
    size_t work_group[3]; /* work-items of a work-group */
    size_t tile[2];       /* what a work-group takes of the two indices; of a column-major C */
    int over[2];          /* which indices */
    size_t split;         /* work-groups that share a tile, in the first dimension */
    int part[2];          /* which tiles; a pass that finds none is not launched */
} mltune_sgemm_nn_pass;

/* Scratch memory: so many matrices of whole tiles of two indices for each of a batch. */
typedef struct mltune_sgemm_nn_area {
    size_t element_bytes;
    size_t copies;
    size_t tile[2];
    int over[2];
} mltune_sgemm_nn_area;

typedef struct mltune_sgemm_nn_kernel {
    const char *const *source; /* string literals, to be put together */
    unsigned num_literals;
    const char *build_options;
    const mltune_sgemm_nn_pass *passes; /* launched one after the other, with the same arguments */
    int num_passes;
    const mltune_sgemm_nn_area *scratch; /* one area after the other */
    int num_areas;
    int has_counters; /* whether work-groups count themselves, in memory full of zeros */
} mltune_sgemm_nn_kernel;

#define MLTUNE_SGEMM_NN_MOST_PASSES 1

extern const mltune_sgemm_nn_kernel mltune_sgemm_nn_kernels[];

#endif
