/*
 * mltune_sgemm_nn: checks the arguments, builds kernels once and enqueues them.
 *
 * Kernels see C column by column.
 */

#define _POSIX_C_SOURCE 200112L

#include "mltune_sgemm_nn.h"
#include "mltune_sgemm_nn_kernels.h"

#include <pthread.h>
#include <stdlib.h>

/* A matrix is `count` runs of `length` contiguous elements, `ld` apart. */
typedef struct matrix {
    cl_mem buffer;
    int64_t offset, length, count, ld, stride; /* the stride leads to the next of a batch */
} matrix;

/* A built kernel keeps its context alive, so the pointer cannot come to mean another one. */
typedef struct built {
    cl_context context;
    cl_device_id device;
    int number;
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
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static built *cache = NULL;
static scratch *scratches = NULL;

static cl_int create_kernels(cl_program program, int number, cl_kernel *kernels)
{
    const mltune_sgemm_nn_kernel *const written = &mltune_sgemm_nn_kernels[number];
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

static cl_int build(cl_context context, cl_device_id device, int number, cl_kernel *kernels)
{
    const mltune_sgemm_nn_kernel *const written = &mltune_sgemm_nn_kernels[number];
    cl_int status;
    cl_program program = clCreateProgramWithSource(
        context, written->num_literals, (const char **)written->source, NULL, &status);

    if (status != CL_SUCCESS)
        return status;
    status = clBuildProgram(program, 1, &device, written->build_options, NULL, NULL);
    if (status == CL_SUCCESS)
        status = create_kernels(program, number, kernels);
    clReleaseProgram(program); /* the kernels keep what they need */
    return status;
}

/* Find a kernel's passes for the queue's device, or build them. The mutex must be held. */
static cl_int kernels_for(cl_command_queue queue, int number, const cl_kernel **kernels)
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
        if (entry->context == context && entry->device == device && entry->number == number) {
            *kernels = entry->kernels;
            return CL_SUCCESS;
        }
    }
    entry = malloc(sizeof *entry);
    if (entry == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    status = build(context, device, number, entry->kernels);
    if (status != CL_SUCCESS) {
        free(entry);
        return status;
    }
    entry->context = context;
    entry->device = device;
    entry->number = number;
    entry->next = cache;
    cache = entry;
    *kernels = entry->kernels;
    return CL_SUCCESS;
}

/* Kernels whose work-groups walk over C have so many for each compute unit of the device. */
static cl_int compute_units(cl_command_queue queue, size_t *units)
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

static cl_int set_arguments(cl_kernel kernel, const matrix *c, const matrix *first,
                            const matrix *second, cl_float alpha, cl_float beta, cl_uint terms,
                            const cl_mem *const *memories)
{
    const matrix *const matrices[3] = {c, first, second};
    const cl_uint sizes[3] = {(cl_uint)c->length, (cl_uint)c->count, terms};
    cl_int status = CL_SUCCESS;
    cl_uint argument = 0;
    int i;

    for (i = 0; i < 3 && status == CL_SUCCESS; ++i)
        status = clSetKernelArg(kernel, argument++, sizeof(cl_mem), &matrices[i]->buffer);
    if (status == CL_SUCCESS)
        status = clSetKernelArg(kernel, argument++, sizeof alpha, &alpha);
    if (status == CL_SUCCESS)
        status = clSetKernelArg(kernel, argument++, sizeof beta, &beta);
    for (i = 0; i < 3 && status == CL_SUCCESS; ++i)
        status = clSetKernelArg(kernel, argument++, sizeof sizes[i], &sizes[i]);
    for (i = 0; i < 3 && status == CL_SUCCESS; ++i) {
        const cl_ulong place[3] = {(cl_ulong)matrices[i]->offset, (cl_ulong)matrices[i]->ld,
                                   (cl_ulong)matrices[i]->stride};
        int j;

        for (j = 0; j < 3 && status == CL_SUCCESS; ++j)
            status = clSetKernelArg(kernel, argument++, sizeof place[j], &place[j]);
    }
    for (i = 0; i < num_memories && status == CL_SUCCESS; ++i)
        if (memories[i] != NULL)
            status = clSetKernelArg(kernel, argument++, sizeof(cl_mem), memories[i]);
    return status;
}

/* Unsigned sums and products that stay at UINT64_MAX rather than overflow. */
static uint64_t sum(uint64_t x, uint64_t y)
{
    return x > UINT64_MAX - y ? UINT64_MAX : x + y;
}

static uint64_t product(uint64_t x, uint64_t y)
{
    return x != 0 && y > UINT64_MAX / x ? UINT64_MAX : x * y;
}

/* So many tiles cover an extent, at least one: a grid and a buffer must not be empty. */
static size_t tiles(size_t extent, size_t tile)
{
    return extent == 0 ? 1 : (extent - 1) / tile + 1;
}

/* How many tiles of an index a pass takes. */
static size_t part_tiles(size_t extent, size_t tile, int part)
{
    const size_t whole = extent / tile;

    if (part == mltune_sgemm_nn_whole)
        return whole;
    return tiles(extent, tile) - (part == mltune_sgemm_nn_rim ? whole : 0);
}

static uint64_t scratch_bytes(const mltune_sgemm_nn_kernel *written, const size_t *extents, size_t batch)
{
    uint64_t bytes = 0;
    int i, j;

    for (i = 0; i < written->num_areas; ++i) {
        const mltune_sgemm_nn_area *const area = &written->scratch[i];
        uint64_t elements = product(batch, area->copies);

        for (j = 0; j < 2; ++j)
            elements = product(
                elements, tiles(extents[area->over[j]], area->tile[j]) * (uint64_t)area->tile[j]);
        bytes = sum(bytes, product(elements, area->element_bytes));
    }
    return bytes;
}

/* A counter for each work-group of the largest pass. */
static uint64_t counter_bytes(const mltune_sgemm_nn_kernel *written, const size_t *extents, size_t batch)
{
    uint64_t most = 0;
    int i, j;

    for (i = 0; i < written->num_passes; ++i) {
        const mltune_sgemm_nn_pass *const pass = &written->passes[i];
        uint64_t groups = product(batch, pass->split);

        for (j = 0; j < 2; ++j)
            groups = product(groups, tiles(extents[pass->over[j]], pass->tile[j]));
        most = groups > most ? groups : most;
    }
    return product(most, sizeof(cl_uint));
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
                      const cl_kernel *kernels, const size_t *extents, size_t batch,
                      cl_uint num_events, const cl_event *wait_list, cl_event *event)
{
    size_t groups[MLTUNE_SGEMM_NN_MOST_PASSES][2];
    cl_command_queue_properties properties = 0;
    cl_int status = CL_SUCCESS;
    int first = -1, last = -1, i, j;

    for (i = 0; i < written->num_passes; ++i) {
        const mltune_sgemm_nn_pass *const pass = &written->passes[i];

        for (j = 0; j < 2; ++j)
            groups[i][j] = part_tiles(extents[pass->over[j]], pass->tile[j], pass->part[j]);
        if (groups[i][0] > 0 && groups[i][1] > 0) {
            first = first < 0 ? i : first;
            last = i;
        }
    }
    if (last > first || written->num_areas > 0)
        status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                       NULL);
    for (i = first; i <= last && status == CL_SUCCESS; ++i) {
        const mltune_sgemm_nn_pass *const pass = &written->passes[i];
        const size_t *const local = pass->work_group;
        const size_t global[3] = {
            groups[i][0] * pass->split * local[0],
            groups[i][1] * local[1],
            batch * local[2],
        };

        if (groups[i][0] == 0 || groups[i][1] == 0)
            continue;
        if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
            status = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
        if (status == CL_SUCCESS)
            status = clEnqueueNDRangeKernel(
                queue, kernels[i], 3, NULL, global, local, i == first ? num_events : 0,
                i == first ? wait_list : NULL, i == last ? event : NULL);
    }
    return status;
}

/* Elements from a matrix's first one to its last, both included. */
static uint64_t span(const matrix *x)
{
    return sum(product((uint64_t)x->count - 1, (uint64_t)x->ld), (uint64_t)x->length);
}

/* Whether every matrix of a batch ends inside the buffer. */
static int inside(const matrix *x, int64_t batch)
{
    const uint64_t batches = product((uint64_t)batch - 1, (uint64_t)x->stride);
    size_t bytes = 0;

    return x->buffer != NULL &&
           clGetMemObjectInfo(x->buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) == CL_SUCCESS &&
           sum(sum((uint64_t)x->offset, span(x)), batches) <= bytes / sizeof(cl_float);
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
    if (m == 0 || n == 0 || problem.batch == 0)
        return event == NULL ? 0 : -clEnqueueMarkerWithWaitList(queue, num_events, wait_list, event);
    if (terms > 0 && !inside(&matrix_a, problem.batch))
        return -5;
    if (terms > 0 && !inside(&matrix_b, problem.batch))
        return -8;
    if (!inside(&matrix_c, problem.batch))
        return -12;
    {
        const int number = kernel < 0 ? mltune_sgemm_nn_select(&problem) : kernel;
        const mltune_sgemm_nn_kernel *const written = &mltune_sgemm_nn_kernels[number];
        size_t extents[5] = {(size_t)matrix_c.length, (size_t)matrix_c.count, (size_t)terms, 0, 1};
        const cl_kernel *kernels = NULL;
        const cl_mem *memories[num_memories] = {NULL, NULL};
        cl_int status;
        int i;

        pthread_mutex_lock(&mutex);
        status = kernels_for(queue, number, &kernels);
        if (status == CL_SUCCESS)
            status = compute_units(queue, &extents[mltune_sgemm_nn_units]);
        if (status == CL_SUCCESS && written->num_areas > 0)
            status = memory_for(queue, plain,
                                scratch_bytes(written, extents, (size_t)problem.batch),
                                &memories[plain]);
        if (status == CL_SUCCESS && written->has_counters)
            status = memory_for(queue, zeroed,
                                counter_bytes(written, extents, (size_t)problem.batch),
                                &memories[zeroed]);
        for (i = 0; i < written->num_passes && status == CL_SUCCESS; ++i)
            status = set_arguments(kernels[i], &matrix_c, &matrix_a, &matrix_b, alpha, beta,
                                   (cl_uint)terms, memories);
        if (status == CL_SUCCESS)
            status = enqueue(queue, written, kernels, extents, (size_t)problem.batch, num_events,
                             wait_list, event);
        pthread_mutex_unlock(&mutex);
        return -status;
    }
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
    int i;

    pthread_mutex_lock(&mutex);
    while (cache != NULL) {
        built *const next = cache->next;

        for (i = 0; i < mltune_sgemm_nn_kernels[cache->number].num_passes; ++i)
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
    pthread_mutex_unlock(&mutex);
}
