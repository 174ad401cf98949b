    if (mine && slice == 0 && count == steps) {
${store}
    } else if (mine && slice == 0) {
        /* A part of a sum goes into the scratch memory, which has room for two macro tiles of each
           work-group: the one whose sum it goes on with, and the one whose sum it begins. */
        const size_t place = (get_group_id(2) * get_num_groups(0) + get_group_id(0)) * 2;
        __global TYPE *const part = scratch + (place + (begun == 0)) * (MT0 * MT1);
#pragma unroll
        for (int y = 0; y < TT1; ++y) {
            const uint j = (y / VWB * WG1 + item_1) * VWB + y % VWB;
            __global VECTOR *column = (__global VECTOR *)(part + j * MT0);
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                column[x * WG0 + item_0] = sum[y][x];
        }
    }
