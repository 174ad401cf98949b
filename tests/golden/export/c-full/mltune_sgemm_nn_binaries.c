/*
 * mltune_sgemm_nn: kernels as the driver compiled them.
 *
 * `make precompile` writes kernel_binaries/precompiled.h, which defines those that exist. The others
 * are NULL here.
 */

#include "mltune_sgemm_nn_binaries.h"

#include "kernel_binaries/precompiled.h"

#include <string.h>

#ifndef one_element_BINARY
#define one_element_BINARY NULL
#define one_element_BINARY_SIZE 0
#endif

#ifndef four_rows_BINARY
#define four_rows_BINARY NULL
#define four_rows_BINARY_SIZE 0
#endif

const mltune_sgemm_nn_binary mltune_sgemm_nn_binaries[] = {
    {one_element_BINARY, one_element_BINARY_SIZE},
    {four_rows_BINARY, four_rows_BINARY_SIZE},
};

const char mltune_sgemm_nn_binaries_device[] = PRECOMPILED_DEVICE;

void mltune_sgemm_nn_describe_device(cl_device_id device, char *text, size_t size)
{
    const cl_device_info asked[] = {CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION};
    size_t used = 0;
    int i;

    memset(text, 0, size);
    for (i = 0; i < 3; ++i) {
        if (i > 0 && used + 3 < size) {
            memcpy(text + used, " / ", 3);
            used += 3;
        }
        clGetDeviceInfo(device, asked[i], size - used - 1, text + used, NULL);
        used += strlen(text + used);
    }
    /* It becomes a string literal. */
    for (i = 0; text[i] != 0; ++i)
        if (text[i] == '"' || text[i] == '\\' || text[i] < ' ')
            text[i] = '_';
}
