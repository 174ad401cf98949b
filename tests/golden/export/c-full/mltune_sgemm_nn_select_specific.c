/* mltune_sgemm_nn: a kernel by its tile in place of the size, for tools. */

#include "mltune_sgemm_nn_select_specific.h"

#include "mltune_sgemm_nn_enumeration.h"

static int fits(int wanted, int has)
{
    return wanted == 0 || wanted == has;
}

int mltune_sgemm_nn_select_specific(const mltune_sgemm_nn_tile *wanted)
{
    int number;

    for (number = 0; number < MLTUNE_SGEMM_NN_NUM_KERNELS; ++number) {
        const mltune_sgemm_nn_tile *const has = &mltune_sgemm_nn_tiles[number];

        if (fits(wanted->work_group_rows, has->work_group_rows) &&
            fits(wanted->work_group_columns, has->work_group_columns) &&
            fits(wanted->micro_tile_rows, has->micro_tile_rows) &&
            fits(wanted->micro_tile_columns, has->micro_tile_columns) &&
            fits(wanted->macro_tile_rows, has->macro_tile_rows) &&
            fits(wanted->macro_tile_columns, has->macro_tile_columns) &&
            fits(wanted->unroll, has->unroll))
            return number;
    }
    return -1;
}
