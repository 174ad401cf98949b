/* mltune_sgemm_nn: kernels that were pre-compiled, as the driver's binaries. */

#ifndef MLTUNE_SGEMM_NN_BINARIES_H
#define MLTUNE_SGEMM_NN_BINARIES_H

#include "mltune_sgemm_nn.h"

typedef struct mltune_sgemm_nn_binary {
    const unsigned char *bytes; /* NULL if there is none */
    size_t size;
} mltune_sgemm_nn_binary;

/* By the kernels' numbers. */
extern const mltune_sgemm_nn_binary mltune_sgemm_nn_binaries[];

/* The device and driver that they are for. */
extern const char mltune_sgemm_nn_binaries_device[];

/* Write a device's name and driver as one line. */
void mltune_sgemm_nn_describe_device(cl_device_id device, char *text, size_t size);

#endif
