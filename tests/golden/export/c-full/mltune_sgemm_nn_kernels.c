/*
 * mltune_sgemm_nn: the kernels' sources and launch geometry.
 *
 * The user's kernels come first: one that defines a kernel's _SOURCE takes its place.
 */

#include "mltune_sgemm_nn_kernels.h"

#include "mltune_sgemm_nn_build_options.h"
#include "mltune_sgemm_nn_user_kernels.h"

#include "kernel_sources/one_element_src.c"
#include "kernel_sources/four_rows_src.c"

static const mltune_sgemm_nn_pass passes_0[] = {
    {"one_element", {8, 8, 1}},
};
static void compute_0(const mltune_sgemm_nn_extents *of, mltune_sgemm_nn_launch *launch)
{
    launch->global[0][0] = product(cover(of->rows, 8), 8);
    launch->global[0][1] = product(cover(of->columns, 8), 8);
    launch->global[0][2] = of->batch;
    launch->scratch_bytes = 0;
    launch->counter_bytes = 0;
}

static const mltune_sgemm_nn_pass passes_1[] = {
    {"four_rows", {8, 8, 1}},
};
static void compute_1(const mltune_sgemm_nn_extents *of, mltune_sgemm_nn_launch *launch)
{
    launch->global[0][0] = product(cover(of->rows, 32), 8);
    launch->global[0][1] = product(cover(of->columns, 8), 8);
    launch->global[0][2] = of->batch;
    launch->scratch_bytes = 0;
    launch->counter_bytes = 0;
}

const mltune_sgemm_nn_kernel mltune_sgemm_nn_kernels[] = {
    {one_element_SOURCE, sizeof one_element_SOURCE / sizeof one_element_SOURCE[0],
     "-cl-std=CL1.2 -w",
     passes_0, 1, 0, 0, 0, compute_0},
    {four_rows_SOURCE, sizeof four_rows_SOURCE / sizeof four_rows_SOURCE[0],
     "-cl-std=CL1.2 -w",
     passes_1, 1, 0, 0, 0, compute_1},
};
