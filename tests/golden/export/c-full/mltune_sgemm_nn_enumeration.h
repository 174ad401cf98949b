/* mltune_sgemm_nn: all parameters of the kernels, for tools and for selecting by them. */

#ifndef MLTUNE_SGEMM_NN_ENUMERATION_H
#define MLTUNE_SGEMM_NN_ENUMERATION_H

/* Rows and columns are those of C as the kernels see it, column by column. */
typedef struct mltune_sgemm_nn_tile {
    int work_group_rows, work_group_columns; /* work-items of a work-group */
    int micro_tile_rows, micro_tile_columns; /* elements of C that a work-item computes */
    int macro_tile_rows, macro_tile_columns; /* elements of C that a work-group computes */
    int unroll;                              /* terms per step of the sum; 0 if unknown */
} mltune_sgemm_nn_tile;

/* The same for all kernels. */
static const char mltune_sgemm_nn_precision[] = "s";
static const char mltune_sgemm_nn_order[] = "column";
static const char mltune_sgemm_nn_transposes[] = "NN"; /* of A and B */
static const char mltune_sgemm_nn_betas[] = "any";

#define MLTUNE_SGEMM_NN_NUM_KERNELS 2

/* The tiles by the kernels' numbers. */
static const mltune_sgemm_nn_tile mltune_sgemm_nn_tiles[MLTUNE_SGEMM_NN_NUM_KERNELS] = {
    {8, 8, 1, 1, 8, 8, 0}, /* one_element */
    {8, 8, 4, 1, 32, 8, 0}, /* four_rows */
};

#endif
