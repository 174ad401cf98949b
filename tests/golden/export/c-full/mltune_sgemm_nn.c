/*
 * mltune_sgemm_nn: checks the arguments, builds kernels once and enqueues them.
 *
 * Kernels see C column by column.
 */

#define _POSIX_C_SOURCE 200809L

#include "mltune_sgemm_nn.h"
#include "mltune_sgemm_nn_kernels.h"
#include "mltune_sgemm_nn_binaries.h"
#include "mltune_sgemm_nn_build_options.h"

#include <string.h>

#include <stdlib.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#endif

/* A matrix is `count` runs of `length` contiguous elements, `ld` apart. */
typedef struct matrix {
    cl_mem buffer;
    int64_t offset, length, count, ld, stride; /* the stride leads to the next of a batch */
} matrix;

/* A built kernel keeps its context alive, so the pointer cannot come to mean another one. One that
   cannot be built for the device is kept as well, so that it is tried once. */
typedef struct built {
    cl_context context;
    cl_device_id device;
    const mltune_sgemm_nn_kernel *written;
    cl_int status; /* of the build */
    cl_kernel kernels[MLTUNE_SGEMM_NN_MOST_PASSES];
    struct built *next;
} built;

enum { plain, zeroed, num_memories };

/* The scratch memory of a queue, which is kept alive for the same reason, and counters, which
   kernels leave full of zeros, as they have found them. */
typedef struct scratch {
    cl_command_queue queue;
    cl_mem buffers[num_memories];
    size_t bytes[num_memories];
    struct scratch *next;
} scratch;

/* The mutex guards the lists, and the arguments of the kernels until they are enqueued. */
#ifdef _WIN32
static SRWLOCK mutex = SRWLOCK_INIT;
#define LOCK() AcquireSRWLockExclusive(&mutex)
#define UNLOCK() ReleaseSRWLockExclusive(&mutex)
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&mutex)
#define UNLOCK() pthread_mutex_unlock(&mutex)
#endif
static built *cache = NULL;
static scratch *scratches = NULL;

static cl_int create_kernels(cl_program program, const mltune_sgemm_nn_kernel *written,
                             cl_kernel *kernels)
{
    cl_int status = CL_SUCCESS;
    int created = 0;

    while (created < written->num_passes && status == CL_SUCCESS) {
        kernels[created] = clCreateKernel(program, written->passes[created].entry, &status);
        created += status == CL_SUCCESS;
    }
    while (status != CL_SUCCESS && created > 0)
        clReleaseKernel(kernels[--created]);
    return status;
}

/* Take a kernel from a binary, where there is one that was made for this very device. */
static cl_int build_from_binary(cl_context context, cl_device_id device,
                                const mltune_sgemm_nn_kernel *written, cl_kernel *kernels)
{
    const ptrdiff_t number = written - mltune_sgemm_nn_kernels;
    const mltune_sgemm_nn_binary *const made = &mltune_sgemm_nn_binaries[number];
    const unsigned char *bytes = made->bytes;
    char here[512];
    cl_program program;
    cl_int status;

    mltune_sgemm_nn_describe_device(device, here, sizeof here);
    if (made->size == 0 || strcmp(here, mltune_sgemm_nn_binaries_device) != 0)
        return CL_INVALID_BINARY;
    program = clCreateProgramWithBinary(context, 1, &device, &made->size, &bytes, NULL, &status);
    if (status != CL_SUCCESS)
        return status;
    status = clBuildProgram(program, 1, &device, mltune_sgemm_nn_build_options_binary[number], NULL,
                            NULL);
    if (status == CL_SUCCESS)
        status = create_kernels(program, written, kernels);
    clReleaseProgram(program);
    return status;
}

static cl_int build_from_source(cl_context context, cl_device_id device,
                                const mltune_sgemm_nn_kernel *written, cl_kernel *kernels)
{
    const ptrdiff_t number = written - mltune_sgemm_nn_kernels;
    cl_int status;
    cl_program program = clCreateProgramWithSource(
        context, written->num_literals, (const char **)written->source, NULL, &status);

    if (status != CL_SUCCESS)
        return status;
    status = clBuildProgram(program, 1, &device, mltune_sgemm_nn_build_options_source[number], NULL,
                            NULL);
    if (status == CL_SUCCESS)
        status = create_kernels(program, written, kernels);
    clReleaseProgram(program); /* the kernels keep what they need */
    return status;
}

static cl_int build(cl_context context, cl_device_id device, const mltune_sgemm_nn_kernel *written,
                    cl_kernel *kernels)
{
    if (build_from_binary(context, device, written, kernels) == CL_SUCCESS)
        return CL_SUCCESS;
    return build_from_source(context, device, written, kernels);
}

/* Whether trying again is in vain. */
static int does_not_build(cl_int status)
{
    return status == CL_BUILD_PROGRAM_FAILURE || status == CL_INVALID_BINARY ||
           status == CL_INVALID_BUILD_OPTIONS;
}

/* Find a kernel's passes for the queue's device, or build them. The mutex must be held. */
static cl_int kernels_for(cl_command_queue queue, const mltune_sgemm_nn_kernel *written,
                          const cl_kernel **kernels)
{
    cl_context context;
    cl_device_id device;
    built *entry;
    cl_int status =
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);

    if (status == CL_SUCCESS)
        status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (status != CL_SUCCESS)
        return status;
    for (entry = cache; entry != NULL; entry = entry->next) {
        if (entry->context == context && entry->device == device && entry->written == written) {
            *kernels = entry->kernels;
            return entry->status;
        }
    }
    entry = malloc(sizeof *entry);
    if (entry == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    status = build(context, device, written, entry->kernels);
    if (status != CL_SUCCESS && !does_not_build(status)) {
        free(entry);
        return status;
    }
    entry->status = status;
    entry->context = context;
    entry->device = device;
    entry->written = written;
    entry->next = cache;
    cache = entry;
    *kernels = entry->kernels;
    return status;
}

/* Kernels whose work-groups walk over C have so many for each compute unit of the device. */
static cl_int compute_units(cl_command_queue queue, uint64_t *units)
{
    cl_device_id device;
    cl_uint count = 0;
    cl_int status =
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);

    if (status == CL_SUCCESS)
        status = clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof count, &count, NULL);
    *units = count;
    return status;
}

static cl_int set_arguments(cl_kernel kernel, const mltune_sgemm_nn_extents *of, uint64_t terms,
                            const matrix *c, const matrix *a, const matrix *b,
                            const void *alpha, const void *beta, size_t factor_bytes,
                            const cl_mem *const *memories)
{
    const cl_uint size_i = (cl_uint)of->rows;
    const cl_uint size_j = (cl_uint)of->columns;
    const cl_uint size_l = (cl_uint)terms;
    const cl_ulong offset_c = (uint64_t)c->offset;
    const cl_ulong ld_c = (uint64_t)c->ld;
    const cl_ulong batch_stride_c = (uint64_t)c->stride;
    const cl_ulong offset_a = (uint64_t)a->offset;
    const cl_ulong ld_a = (uint64_t)a->ld;
    const cl_ulong batch_stride_a = (uint64_t)a->stride;
    const cl_ulong offset_b = (uint64_t)b->offset;
    const cl_ulong ld_b = (uint64_t)b->ld;
    const cl_ulong batch_stride_b = (uint64_t)b->stride;
    const struct {
        size_t bytes;
        const void *value; /* NULL: the kernel does not have it */
    } arguments[] = {
        {sizeof c->buffer, &c->buffer},
        {sizeof a->buffer, &a->buffer},
        {sizeof b->buffer, &b->buffer},
        {factor_bytes, alpha},
        {factor_bytes, beta},
        {sizeof size_i, &size_i},
        {sizeof size_j, &size_j},
        {sizeof size_l, &size_l},
        {sizeof offset_c, &offset_c},
        {sizeof ld_c, &ld_c},
        {sizeof batch_stride_c, &batch_stride_c},
        {sizeof offset_a, &offset_a},
        {sizeof ld_a, &ld_a},
        {sizeof batch_stride_a, &batch_stride_a},
        {sizeof offset_b, &offset_b},
        {sizeof ld_b, &ld_b},
        {sizeof batch_stride_b, &batch_stride_b},
        {sizeof(cl_mem), memories[plain]},
        {sizeof(cl_mem), memories[zeroed]},
    };
    const size_t count = sizeof arguments / sizeof arguments[0];
    cl_int status = CL_SUCCESS;
    cl_uint place = 0;
    size_t i;

    for (i = 0; i < count && status == CL_SUCCESS; ++i)
        if (arguments[i].value != NULL)
            status = clSetKernelArg(kernel, place++, arguments[i].bytes, arguments[i].value);
    return status;
}

/* Find the queue's scratch memory or counters, or make more. The mutex must be held. */
static cl_int memory_for(cl_command_queue queue, int kind, uint64_t bytes, const cl_mem **buffer)
{
    const cl_uint zero = 0;
    scratch *entry = scratches;
    cl_context context;
    cl_mem larger = NULL;
    cl_int status;

    while (entry != NULL && entry->queue != queue)
        entry = entry->next;
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry);
        if (entry == NULL)
            return CL_OUT_OF_HOST_MEMORY;
        clRetainCommandQueue(queue);
        entry->queue = queue;
        entry->next = scratches;
        scratches = entry;
    }
    if (entry->bytes[kind] < bytes) {
        if (bytes > SIZE_MAX)
            return CL_MEM_OBJECT_ALLOCATION_FAILURE;
        status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        if (status == CL_SUCCESS)
            larger = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &status);
        if (status == CL_SUCCESS && kind == zeroed)
            status = clEnqueueFillBuffer(queue, larger, &zero, sizeof zero, 0, (size_t)bytes, 0,
                                         NULL, NULL);
        if (status != CL_SUCCESS) {
            if (larger != NULL)
                clReleaseMemObject(larger);
            return status;
        }
        if (entry->buffers[kind] != NULL) /* OpenCL keeps it until those who use it have ended */
            clReleaseMemObject(entry->buffers[kind]);
        entry->buffers[kind] = larger;
        entry->bytes[kind] = (size_t)bytes;
    }
    *buffer = &entry->buffers[kind];
    return CL_SUCCESS;
}

/* Start the passes that have work one after the other, whatever the queue's order. */
static cl_int enqueue(cl_command_queue queue, const mltune_sgemm_nn_kernel *written,
                      const cl_kernel *kernels, const mltune_sgemm_nn_launch *launch,
                      cl_uint num_events, const cl_event *wait_list, cl_event *event)
{
    cl_command_queue_properties properties = 0;
    cl_int status = CL_SUCCESS;
    int first = -1, last = -1, i, j;

    for (i = 0; i < written->num_passes; ++i) {
        if (launch->global[i][0] > 0 && launch->global[i][1] > 0) {
            first = first < 0 ? i : first;
            last = i;
        }
    }
    if (last > first || written->has_scratch)
        status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                       NULL);
    for (i = first; i <= last && status == CL_SUCCESS; ++i) {
        size_t global[3];

        if (launch->global[i][0] == 0 || launch->global[i][1] == 0)
            continue;
        for (j = 0; j < 3; ++j) {
            if (launch->global[i][j] > SIZE_MAX)
                return CL_INVALID_GLOBAL_WORK_SIZE;
            global[j] = (size_t)launch->global[i][j];
        }
        if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
            status = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(
                queue, kernels[i], 3, NULL, global, written->passes[i].work_group,
                i == first ? num_events : 0, i == first ? wait_list : NULL,
                i == last ? event : NULL);
    }
    return status;
}

/* Elements from a matrix's first one to its last, both included. */
static uint64_t span(const matrix *x)
{
    return sum(product((uint64_t)x->count - 1, (uint64_t)x->ld), (uint64_t)x->length);
}

/* Whether every matrix of a batch ends inside the buffer. */
static int inside(const matrix *x, int64_t batch, size_t element_bytes)
{
    const uint64_t batches = product((uint64_t)batch - 1, (uint64_t)x->stride);
    size_t bytes = 0;

    return x->buffer != NULL &&
           clGetMemObjectInfo(x->buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) == CL_SUCCESS &&
           sum(sum((uint64_t)x->offset, span(x)), batches) <= bytes / element_bytes;
}

/* Start a kernel of C = alpha * A * B + beta * C, where all three lie column by column or are
   transposed, and the sums have so many terms: with 0, A and B are not read. */
static cl_int launch(const mltune_sgemm_nn_kernel *written, cl_command_queue queue, const matrix *c,
                     const matrix *a, const matrix *b, int64_t terms, int64_t batch,
                     const void *alpha, const void *beta, size_t factor_bytes, cl_uint num_events,
                     const cl_event *wait_list, cl_event *event)
{
    mltune_sgemm_nn_extents extents = {(uint64_t)c->length, (uint64_t)c->count,
                              terms > 0 ? (uint64_t)terms : 1, (uint64_t)batch, 0};
    mltune_sgemm_nn_launch computed;
    const cl_kernel *kernels = NULL;
    const cl_mem *memories[num_memories] = {NULL, NULL};
    cl_int status;
    int i;

    LOCK();
    status = kernels_for(queue, written, &kernels);
    if (status == CL_SUCCESS)
        status = compute_units(queue, &extents.units);
    written->compute(&extents, &computed);
    if (status == CL_SUCCESS && written->has_scratch)
        status = memory_for(queue, plain, computed.scratch_bytes, &memories[plain]);
    if (status == CL_SUCCESS && written->has_counters)
        status = memory_for(queue, zeroed, computed.counter_bytes, &memories[zeroed]);
    for (i = 0; i < written->num_passes && status == CL_SUCCESS; ++i)
        status = set_arguments(kernels[i], &extents, (uint64_t)terms, c, a, b, alpha, beta,
                               factor_bytes, memories);
    if (status == CL_SUCCESS)
        status = enqueue(queue, written, kernels, &computed, num_events, wait_list, event);
    UNLOCK();
    return status;
}

/* Forget what was built, and the memory. */
static void release(void)
{
    int i;

    LOCK();
    while (cache != NULL) {
        built *const next = cache->next;

        for (i = 0; i < cache->written->num_passes && cache->status == CL_SUCCESS; ++i)
            clReleaseKernel(cache->kernels[i]);
        free(cache);
        cache = next;
    }
    while (scratches != NULL) {
        scratch *const next = scratches->next;

        for (i = 0; i < num_memories; ++i)
            if (scratches->buffers[i] != NULL)
                clReleaseMemObject(scratches->buffers[i]);
        clReleaseCommandQueue(scratches->queue);
        free(scratches);
        scratches = next;
    }
    UNLOCK();
}

int mltune_sgemm_nn_with(
    int64_t m, int64_t n, int64_t k, cl_float alpha, cl_mem a, int64_t offset_a, int64_t lda,
    cl_mem b, int64_t offset_b, int64_t ldb, cl_float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, cl_command_queue queue, cl_uint num_events, const cl_event *wait_list,
    cl_event *event, int kernel)
{
    const mltune_sgemm_nn_problem problem = {m, n, k, 1};
    const matrix matrix_a = {a, offset_a, m, k, lda, 0};
    const matrix matrix_b = {b, offset_b, k, n, ldb, 0};
    const matrix matrix_c = {c, offset_c, m, n, ldc, 0};
    const cl_float factors[] = {alpha, beta};
    const int64_t terms = alpha == 0 ? 0 : k; /* so that no kernel reads A and B in vain */

    if (m < 0 || m > INT32_MAX)
        return -1;
    if (n < 0 || n > INT32_MAX)
        return -2;
    if (k < 0 || k > INT32_MAX)
        return -3;
    if (offset_a < 0)
        return -6;
    if (lda < 1 || lda < m)
        return -7;
    if (offset_b < 0)
        return -9;
    if (ldb < 1 || ldb < k)
        return -10;
    if (offset_c < 0)
        return -13;
    if (ldc < 1 || ldc < m)
        return -14;
    if (queue == NULL)
        return -15;
    if (kernel < -1 || kernel >= mltune_sgemm_nn_num_kernels())
        return -19;
    if ((num_events == 0) != (wait_list == NULL)) /* not every driver looks */
        return -CL_INVALID_EVENT_WAIT_LIST;
    if (m == 0 || n == 0 || problem.batch == 0)
        return event == NULL ? 0 : -clEnqueueMarkerWithWaitList(queue, num_events, wait_list, event);
    if (terms > 0 && !inside(&matrix_a, problem.batch, sizeof(cl_float)))
        return -5;
    if (terms > 0 && !inside(&matrix_b, problem.batch, sizeof(cl_float)))
        return -8;
    if (!inside(&matrix_c, problem.batch, sizeof(cl_float)))
        return -12;
    return -launch(&mltune_sgemm_nn_kernels[kernel < 0 ? mltune_sgemm_nn_select(&problem) : kernel], queue,
                   &matrix_c, &matrix_a, &matrix_b, terms, problem.batch, &factors[0], &factors[1],
                   sizeof factors[0], num_events, wait_list, event);
}

int mltune_sgemm_nn(
    int64_t m, int64_t n, int64_t k, cl_float alpha, cl_mem a, int64_t offset_a, int64_t lda,
    cl_mem b, int64_t offset_b, int64_t ldb, cl_float beta, cl_mem c, int64_t offset_c,
    int64_t ldc, cl_command_queue queue, cl_uint num_events, const cl_event *wait_list,
    cl_event *event)
{
    return mltune_sgemm_nn_with(
        m, n, k, alpha, a, offset_a, lda, b, offset_b, ldb, beta, c, offset_c, ldc, queue,
        num_events, wait_list, event, -1);
}

void mltune_sgemm_nn_release(void)
{
    release();
}
