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
    {"one_element",
     {8, 8, 1}, {8, 8}, {mltune_sgemm_nn_rows, mltune_sgemm_nn_columns}, 1,
     {mltune_sgemm_nn_all, mltune_sgemm_nn_all}},
};
static const mltune_sgemm_nn_pass passes_1[] = {
    {"four_rows",
     {8, 8, 1}, {32, 8}, {mltune_sgemm_nn_rows, mltune_sgemm_nn_columns}, 1,
     {mltune_sgemm_nn_all, mltune_sgemm_nn_all}},
};

const mltune_sgemm_nn_kernel mltune_sgemm_nn_kernels[] = {
    {one_element_SOURCE, sizeof one_element_SOURCE / sizeof one_element_SOURCE[0],
     "-cl-std=CL1.2",
     passes_0, 1, NULL, 0, 0},
    {four_rows_SOURCE, sizeof four_rows_SOURCE / sizeof four_rows_SOURCE[0],
     "-cl-std=CL1.2",
     passes_1, 1, NULL, 0, 0},
};
