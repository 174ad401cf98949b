/*
 * mltune: GEMM on an OpenCL device, for these problem types.
 *
 * sgemm_nn: C = alpha * A * B + beta * C in single precision, column-major. It chooses
 * among 2 kernels by 2 exact sizes first, then a decision tree of depth 2. What the choice
 * loses, measured on 20 sizes held out from the fit: time of the best known kernel / time
 * of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th percentile and 0.841
 * at worst (at 35x700x2048). Measured: device an example, not a measurement; statistic
 * median of 7 samples, kernel time by device events.
 */

#ifndef MLTUNE_H
#define MLTUNE_H

#include <stdint.h>

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

enum {
    MLTUNE_NOT_HELD = 100000, /* returned where the library has no kernels for a problem type */
    MLTUNE_BEGUN = 200000     /* added to an OpenCL error if a part of C may have been computed */
};

/*
 * Enqueue C = alpha * op(A) * op(B) + beta * C, for one product or a batch of them, with the
 * kernel that is chosen for the size.
 *
 * precision is 'h' (half), 's', 'd', 'c' or 'z'; order is 'c' for column-major or 'r' for row-major
 * matrices; trans_a and trans_b are 'n', 't' or 'c' (conjugated). Capital letters mean the same.
 * alpha and beta point to one number of the precision; of half precision, to a float, which is
 * rounded to half. A matrix is a buffer, an offset, a leading dimension and a stride from each
 * product to the next, in elements. Other arguments are those of BLAS.
 *
 * A and B are not read if alpha or k is zero, C is not read if beta is zero. If C is empty nothing
 * is enqueued but, where `event` is not NULL, a marker. The call returns before the work is done:
 * wait for `event` or for the queue.
 *
 * A problem type that was tuned for one order also serves the other one, where A and B change
 * places. A batch of a problem type that has kernels for one product only is launched one by one.
 *
 * Returns 0 on success; -i if argument i, counted from 1, is wrong (a buffer that is too small
 * for its matrix included); MLTUNE_NOT_HELD; and an OpenCL error code with its sign turned, above
 * 0, if OpenCL refuses. MLTUNE_BEGUN is added to that code if a part of the work was enqueued: C
 * may have changed, so the call must not be repeated with it. Where a kernel does not build for the
 * device, or needs a larger work-group or more local memory than it has, or more scratch memory than
 * is left, the others of its problem type are tried: 11 (CL_BUILD_PROGRAM_FAILURE), 54
 * (CL_INVALID_WORK_GROUP_SIZE) and 55 (CL_INVALID_WORK_ITEM_SIZE) mean that none of them runs.
 *
 * May be called from any number of threads at once. The first call that needs a kernel on a
 * device builds it, meanwhile other calls wait.
 */
int mltune_gemm(
    char precision, char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
    int64_t batch, const void *alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a,
    cl_mem b, int64_t offset_b, int64_t ldb, int64_t stride_b, const void *beta, cl_mem c,
    int64_t offset_c, int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);

/* The same for each precision and for one product, with alpha and beta by value. */
int mltune_hgemm(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
    cl_mem a, int64_t offset_a, int64_t lda, cl_mem b, int64_t offset_b, int64_t ldb,
    float beta, cl_mem c, int64_t offset_c, int64_t ldc, cl_command_queue queue,
    cl_uint num_events, const cl_event *wait_list, cl_event *event);
int mltune_hgemm_batched(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, int64_t batch,
    float alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a, cl_mem b,
    int64_t offset_b, int64_t ldb, int64_t stride_b, float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);
int mltune_sgemm(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, cl_float alpha,
    cl_mem a, int64_t offset_a, int64_t lda, cl_mem b, int64_t offset_b, int64_t ldb,
    cl_float beta, cl_mem c, int64_t offset_c, int64_t ldc, cl_command_queue queue,
    cl_uint num_events, const cl_event *wait_list, cl_event *event);
int mltune_sgemm_batched(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, int64_t batch,
    cl_float alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a, cl_mem b,
    int64_t offset_b, int64_t ldb, int64_t stride_b, cl_float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);
int mltune_dgemm(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, cl_double alpha,
    cl_mem a, int64_t offset_a, int64_t lda, cl_mem b, int64_t offset_b, int64_t ldb,
    cl_double beta, cl_mem c, int64_t offset_c, int64_t ldc, cl_command_queue queue,
    cl_uint num_events, const cl_event *wait_list, cl_event *event);
int mltune_dgemm_batched(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, int64_t batch,
    cl_double alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a, cl_mem b,
    int64_t offset_b, int64_t ldb, int64_t stride_b, cl_double beta, cl_mem c, int64_t offset_c,
    int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);
int mltune_cgemm(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, cl_float2 alpha,
    cl_mem a, int64_t offset_a, int64_t lda, cl_mem b, int64_t offset_b, int64_t ldb,
    cl_float2 beta, cl_mem c, int64_t offset_c, int64_t ldc, cl_command_queue queue,
    cl_uint num_events, const cl_event *wait_list, cl_event *event);
int mltune_cgemm_batched(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, int64_t batch,
    cl_float2 alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a, cl_mem b,
    int64_t offset_b, int64_t ldb, int64_t stride_b, cl_float2 beta, cl_mem c, int64_t offset_c,
    int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);
int mltune_zgemm(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, cl_double2 alpha,
    cl_mem a, int64_t offset_a, int64_t lda, cl_mem b, int64_t offset_b, int64_t ldb,
    cl_double2 beta, cl_mem c, int64_t offset_c, int64_t ldc, cl_command_queue queue,
    cl_uint num_events, const cl_event *wait_list, cl_event *event);
int mltune_zgemm_batched(
    char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, int64_t batch,
    cl_double2 alpha, cl_mem a, int64_t offset_a, int64_t lda, int64_t stride_a, cl_mem b,
    int64_t offset_b, int64_t ldb, int64_t stride_b, cl_double2 beta, cl_mem c,
    int64_t offset_c, int64_t ldc, int64_t stride_c, cl_command_queue queue, cl_uint num_events,
    const cl_event *wait_list, cl_event *event);

/* The name of the kernel that is chosen for a problem, or NULL if there is none; where `reason` is
   not NULL, also why that one: "exact size", "time formulas" or "tree". A call launches another one
   if mltune_learn found that to be faster. */
const char *mltune_kernel_for(char precision, char order, char trans_a, char trans_b, int64_t m,
                              int64_t n, int64_t k, int64_t batch, const char **reason);

/* The problem types that have kernels, such as "sgemm_nn" or "dgemm_tn_row_batched"; NULL for a
   number that is not below mltune_num_types(). */
int mltune_num_types(void);
const char *mltune_type(int number);

/*
 * Learn in use from now on, and keep what is learned in a file, which Python's runtime and other
 * processes may share; NULL ends that. Without this call nothing is learned. On a queue with
 * CL_QUEUE_PROFILING_ENABLE the first calls of a size that was not measured try up to five kernels in
 * turn, until the times of their events leave no doubt, and the fastest is kept. Every queue of the
 * device uses it. No call waits for a time. What is known is saved now and then, and by
 * mltune_release and mltune_learn(NULL).
 *
 * Returns 0; -1 if the file holds something else, or cannot be read or written; 6
 * (CL_OUT_OF_HOST_MEMORY with its sign turned) without memory. No other call may be under way.
 */
int mltune_learn(const char *file);

/* Release the built kernels and each queue's scratch memory, which keep their contexts and queues
   alive until then, and learn no more. No other call may be under way. */
void mltune_release(void);

#ifdef __cplusplus
}
#endif

#endif
