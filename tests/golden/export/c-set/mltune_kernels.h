/* mltune: the kernels' sources and launch geometry; not part of the interface. */

#ifndef MLTUNE_KERNELS_H
#define MLTUNE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define MLTUNE_MOST_PASSES 1

/* The numbers that a launch depends on, each at least 1: rows and columns of C, column-major as
   kernels see it, terms of a sum, products of a batch, and the device's compute units. */
typedef struct mltune_extents {
    uint64_t rows, columns, terms, batch, units;
} mltune_extents;

typedef struct mltune_launch {
    uint64_t global[MLTUNE_MOST_PASSES][3]; /* work-items; a pass with a 0 is not launched */
    uint64_t scratch_bytes;                  /* of memory that the passes share */
    uint64_t counter_bytes;                  /* of memory that is zero */
} mltune_launch;

/* A __kernel function. */
typedef struct mltune_pass {
    const char *entry;
    size_t work_group[3]; /* work-items of a work-group */
} mltune_pass;

typedef struct mltune_kernel {
    const char **source; /* string literals, to be joined; as clCreateProgramWithSource takes them */
    unsigned num_literals;
    const char *build_options;
    const mltune_pass *passes; /* launched one after the other, with the same arguments */
    int num_passes;
    int has_scratch;  /* whether it needs scratch memory */
    int has_counters; /* whether it needs counters: memory that is zero */
    int two_steps;    /* whether it is built in two steps, see build_again */
    void (*compute)(const mltune_extents *of, mltune_launch *launch);
} mltune_kernel;

extern const mltune_kernel mltune_set_sgemm_nn_kernels[];

/* Sums and products that saturate at UINT64_MAX. */
static inline uint64_t sum(uint64_t x, uint64_t y)
{
    return x > UINT64_MAX - y ? UINT64_MAX : x + y;
}

static inline uint64_t product(uint64_t x, uint64_t y)
{
    return x != 0 && y > UINT64_MAX / x ? UINT64_MAX : x * y;
}

static inline uint64_t higher(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* The number of parts that cover a size. */
static inline uint64_t cover(uint64_t size, uint64_t part)
{
    return size / part + (size % part > 0);
}

#endif
