/*
 * mltune_sgemm_nn: GEMM on an OpenCL device.
 *
 * C = alpha * A * B + beta * C in single precision, column-major.
 * It chooses among 2 kernels by 2 exact sizes first, then a decision tree of depth 2.
 * What the choice loses, measured on 20 sizes held out from the fit: time of the best
 * known kernel / time of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th
 * percentile and 0.841 at worst (at 35x700x2048).
 * Measured: device an example, not a measurement; statistic median of 7 samples, kernel
 * time by device events.
 */

#ifndef MLTUNE_SGEMM_NN_H
#define MLTUNE_SGEMM_NN_H

#include "mltune_sgemm_nn_select.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Enqueue C = alpha * A * B + beta * C with the kernel that is chosen for the size.
 *
 * The arguments are those of BLAS. A matrix is a buffer, an offset and a leading dimension,
 * in elements. A and B are not read if alpha or k is zero, C is not read if beta is zero. If C is
 * empty nothing is enqueued but, where `event` is not NULL, a marker. The call returns before the
 * work is done: wait for `event` or for the queue.
 *
 * Returns 0 on success; -i if argument i, counted from 1, is wrong (a buffer that is too small
 * for its matrix included); and an OpenCL error code with its sign turned, above 0, if OpenCL
 * refuses. Where a kernel does not build for the device, or needs a larger work-group or more local
 * memory than it has, or more scratch memory than is left, the others are tried: 11
 * (CL_BUILD_PROGRAM_FAILURE), 54 (CL_INVALID_WORK_GROUP_SIZE) and 55 (CL_INVALID_WORK_ITEM_SIZE)
 * mean that none of them runs, or that a later pass did not. After any OpenCL error a part of C may
 * have been computed: do not repeat such a call with the same C if beta is not zero.
 *
 * May be called from any number of threads at once. The first call that needs a kernel on a
 * device builds it, meanwhile other calls wait.
 */
int mltune_sgemm_nn(
    int64_t m, int64_t n, int64_t k, cl_float alpha, cl_mem a, int64_t offset_a, int64_t lda,
    cl_mem b, int64_t offset_b, int64_t ldb, cl_float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, cl_command_queue queue, cl_uint num_events, const cl_event *wait_list,
    cl_event *event);

/* The same with the kernel of this number and no other, or as above if it is -1. */
int mltune_sgemm_nn_with(
    int64_t m, int64_t n, int64_t k, cl_float alpha, cl_mem a, int64_t offset_a, int64_t lda,
    cl_mem b, int64_t offset_b, int64_t ldb, cl_float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, cl_command_queue queue, cl_uint num_events, const cl_event *wait_list,
    cl_event *event, int kernel);

/*
 * Learn in use from now on, and keep what is learned in a file, which Python's runtime and other
 * processes may share; NULL ends that. Without this call nothing is learned. On a queue with
 * CL_QUEUE_PROFILING_ENABLE the first calls of a size that was not measured try up to five kernels in
 * turn, until the times of their events leave no doubt, and the fastest is kept. Every queue of the
 * device uses it. No call waits for a time. What is known is saved now and then, and by
 * mltune_sgemm_nn_release and mltune_sgemm_nn_learn(NULL).
 *
 * Returns 0; -1 if the file holds something else, or cannot be read or written; 6
 * (CL_OUT_OF_HOST_MEMORY with its sign turned) without memory. No other call may be under way.
 */
int mltune_sgemm_nn_learn(const char *file);

/* Release the built kernels and each queue's scratch memory, which keep their contexts and queues
   alive until then, and learn no more. No other call may be under way. */
void mltune_sgemm_nn_release(void);

#ifdef __cplusplus
}
#endif

#endif
