/* Calls mltune_sgemm_nn and mltune_sgemm_nn_batched rightly and wrongly, also from many threads;
   prints what went wrong and returns how much did. */

#define _POSIX_C_SOURCE 200112L

#include "mltune_sgemm_nn.h"
#include "mltune_sgemm_nn_batched.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { M = 9, N = 7, K = 5, SIZE = 4096, THREADS = 8, CALLS = 20 };

static int failures = 0;
static cl_context context;
static cl_device_id device;

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            printf("line %d: not %s\n", __LINE__, #condition);          \
            ++failures;                                                 \
        }                                                               \
    } while (0)

static cl_mem filled(float value)
{
    static float memory[SIZE];
    int i;

    for (i = 0; i < SIZE; ++i)
        memory[i] = value;
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof memory, memory,
                          NULL);
}

/* How many elements of a buffer have a value. */
static int count(cl_command_queue queue, cl_mem buffer, float value)
{
    float memory[SIZE];
    int i, found = 0;

    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof memory, memory, 0, NULL, NULL);
    for (i = 0; i < SIZE; ++i)
        found += memory[i] == value;
    return found;
}

static void check_arguments(cl_command_queue queue, cl_mem a, cl_mem b, cl_mem c)
{
#define CALL(m, n, k, a, offset_a, lda, b, offset_b, ldb, c, offset_c, ldc, queue)                \
    mltune_sgemm_nn(m, n, k, 1, a, offset_a, lda, b, offset_b, ldb, 0, c, offset_c, ldc, queue, 0, \
                    NULL, NULL)
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, c, 0, M, queue) == 0);
    CHECK(CALL(-1, N, K, a, 0, M, b, 0, K, c, 0, M, queue) == -1);
    CHECK(CALL(INT64_MAX, N, K, a, 0, M, b, 0, K, c, 0, M, queue) == -1);
    CHECK(CALL(M, -1, K, a, 0, M, b, 0, K, c, 0, M, queue) == -2);
    CHECK(CALL(M, N, -1, a, 0, M, b, 0, K, c, 0, M, queue) == -3);
    CHECK(CALL(M, N, K, NULL, 0, M, b, 0, K, c, 0, M, queue) == -5);
    CHECK(CALL(M, N, K, a, SIZE - M * K + 1, M, b, 0, K, c, 0, M, queue) == -5);
    CHECK(CALL(M, N, K, a, SIZE - M * K, M, b, 0, K, c, 0, M, queue) == 0);
    CHECK(CALL(M, N, K, a, INT64_MAX, INT64_MAX, b, 0, K, c, 0, M, queue) == -5);
    CHECK(CALL(M, N, K, a, -1, M, b, 0, K, c, 0, M, queue) == -6);
    CHECK(CALL(M, N, K, a, 0, M - 1, b, 0, K, c, 0, M, queue) == -7);
    CHECK(CALL(M, N, K, a, 0, M, NULL, 0, K, c, 0, M, queue) == -8);
    CHECK(CALL(M, N, K, a, 0, M, b, -1, K, c, 0, M, queue) == -9);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K - 1, c, 0, M, queue) == -10);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, NULL, 0, M, queue) == -12);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, c, SIZE, M, queue) == -12);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, c, -1, M, queue) == -13);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, c, 0, M - 1, queue) == -14);
    CHECK(CALL(M, N, K, a, 0, M, b, 0, K, c, 0, M, NULL) == -15);
    /* As in BLAS, an empty C needs no buffers but still right leading dimensions. */
    CHECK(CALL(0, N, K, NULL, 0, 1, NULL, 0, K, NULL, 0, 1, queue) == 0);
    CHECK(CALL(M, 0, K, NULL, 0, M, NULL, 0, K, NULL, 0, M, queue) == 0);
    CHECK(CALL(0, N, K, a, 0, 0, b, 0, K, c, 0, 1, queue) == -7);
    CHECK(mltune_sgemm_nn_with(M, N, K, 1, a, 0, M, b, 0, K, 0, c, 0, M, queue, 0, NULL, NULL,
                               2) == -19);
    CHECK(mltune_sgemm_nn_with(M, N, K, 1, a, 0, M, b, 0, K, 0, c, 0, M, queue, 0, NULL, NULL,
                               -2) == -19);
    /* OpenCL's own refusals come with the sign turned: here, events without a list. */
    CHECK(mltune_sgemm_nn(M, N, K, 1, a, 0, M, b, 0, K, 0, c, 0, M, queue, 1, NULL, NULL) ==
          -CL_INVALID_EVENT_WAIT_LIST);
    clFinish(queue);
}

static void check_batch_arguments(cl_command_queue queue, cl_mem a, cl_mem b, cl_mem c)
{
#define BATCH(batch, ldc, stride_a, stride_c)                                                     \
    mltune_sgemm_nn_batched(M, N, K, batch, 1, a, 0, M, stride_a, b, 0, K, 0, 0, c, 0, ldc,       \
                            stride_c, queue, 0, NULL, NULL)
    CHECK(BATCH(3, M, M * K, M * N) == 0);
    CHECK(BATCH(3, M, 0, M * N) == 0);
    CHECK(BATCH(0, M, 0, 0) == 0);
    CHECK(BATCH(1, M, 0, 0) == 0);
    CHECK(BATCH(-1, M, 0, 0) == -4);
    CHECK(BATCH(3, M, -1, M * N) == -9);
    CHECK(BATCH(3, M, 0, -1) == -18);
    CHECK(BATCH(3, M, 0, M * N - 1) == -18);
    CHECK(BATCH(3, 3 * M, 0, M) == 0); /* the columns of the three take turns */
    CHECK(BATCH(3, 3 * M - 1, 0, M) == -18);
    CHECK(BATCH(3, M, INT64_MAX, M * N) == -6);
    CHECK(BATCH(INT32_MAX, M, 0, M * N) == -15);
    clFinish(queue);
}

static void check_results(cl_command_queue queue, cl_mem a, cl_mem b)
{
    const cl_mem unknown = filled(NAN), ones = filled(1);
    cl_event first, second;
    int kernel;

    for (kernel = 0; kernel < mltune_sgemm_nn_num_kernels(); ++kernel) {
        /* Inside a larger matrix, of NaN: beta = 0 does not read C. */
        CHECK(mltune_sgemm_nn_with(M, N, K, 2, a, 3, M + 1, b, 4, K + 2, 0, unknown, 5, M + 3,
                                   queue, 0, NULL, NULL, kernel) == 0);
        CHECK(count(queue, unknown, 2 * K) == M * N);
    }
    /* k = 0 and alpha = 0 scale C; the second call waits for the first. */
    CHECK(mltune_sgemm_nn(M, N, 0, 1, NULL, 0, M, NULL, 0, 1, 3, ones, 0, M, queue, 0, NULL,
                          &first) == 0);
    CHECK(mltune_sgemm_nn(M, N, K, 0, unknown, 0, M, unknown, 0, K, 2, ones, 0, M, queue, 1,
                          &first, &second) == 0);
    CHECK(clWaitForEvents(1, &second) == CL_SUCCESS);
    CHECK(count(queue, ones, 6) == M * N && count(queue, ones, 1) == SIZE - M * N);
    clReleaseEvent(first);
    clReleaseEvent(second);
    /* An empty C still gives an event to wait for. */
    CHECK(mltune_sgemm_nn(0, N, K, 1, NULL, 0, 1, NULL, 0, K, 1, NULL, 0, 1, queue, 0, NULL,
                          &first) == 0);
    CHECK(clWaitForEvents(1, &first) == CL_SUCCESS);
    clReleaseEvent(first);
    clReleaseMemObject(unknown);
    clReleaseMemObject(ones);
}

/* Multiply ones by a value of this thread's own, so that mixed-up arguments show. The queue of
   the first thread keeps no order. */
static void *work(void *argument)
{
    const float own = *(const float *)argument;
    const cl_command_queue queue = clCreateCommandQueue(
        context, device, own == 1 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, NULL);
    float memory[SIZE];
    int i, call;
    cl_mem a, b, c;
    long wrong = 0;

    for (i = 0; i < SIZE; ++i)
        memory[i] = 1;
    a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof memory, memory, NULL);
    for (i = 0; i < SIZE; ++i)
        memory[i] = own;
    b = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof memory, memory, NULL);
    c = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof memory, NULL, NULL);
    for (call = 0; call < CALLS; ++call) {
        const int size = 1 + (call * 7 + (int)own) % 40;

        wrong += mltune_sgemm_nn_with(size, size, size, 1, a, 0, size, b, 0, size, 0, c, 0, size,
                                      queue, 0, NULL, NULL, call % 2) != 0;
        clFinish(queue);
        clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof memory, memory, 0, NULL, NULL);
        for (i = 0; i < size * size; ++i)
            wrong += memory[i] != own * (float)size;
    }
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
    clReleaseCommandQueue(queue);
    return wrong == 0 ? argument : NULL;
}

static void check_threads(void)
{
    static float own[THREADS] = {1, 2, 3, 4, 5, 6, 7, 8};
    pthread_t threads[THREADS];
    int i;

    mltune_sgemm_nn_release(); /* so that they race for the build too */
    for (i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, work, &own[i]) == 0);
    for (i = 0; i < THREADS; ++i) {
        void *result = NULL;

        pthread_join(threads[i], &result);
        CHECK(result != NULL);
    }
}

int main(void)
{
    cl_platform_id platform;
    cl_command_queue queue;
    cl_mem a, b, c;

    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    a = filled(1);
    b = filled(1);
    c = filled(0);
    CHECK(mltune_sgemm_nn_kernel_name(-1) == NULL);
    CHECK(mltune_sgemm_nn_kernel_name(1) != NULL);
    CHECK(mltune_sgemm_nn_kernel_name(2) == NULL);
    check_arguments(queue, a, b, c);
    check_batch_arguments(queue, a, b, c);
    check_results(queue, a, b);
    check_threads();
    mltune_sgemm_nn_release();
    mltune_sgemm_nn_release(); /* twice is once */
    mltune_sgemm_nn_batched_release();
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return failures;
}
