/*
 * mltune_sgemm_nn: checks the arguments, builds kernels once and enqueues them.
 *
 * Kernels see C column by column.
 */

#define _POSIX_C_SOURCE 200809L

#include "mltune_sgemm_nn.h"
#include "mltune_sgemm_nn_kernels.h"

#include <stdio.h>
#include <string.h>

#include <stdlib.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
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

/* Built kernels are kept on disk, so that the next process compiles nothing: in MLTUNE_CACHE_DIR,
   or in the user's cache; in none if that variable is set to nothing. A binary is machine code that
   runs in this process. So it is read from a folder and a file that this user owns and nobody else
   can write. A file is named after a hash of all that it holds for, appears whole or not at all,
   and is not used if it is damaged. Windows has no such folders: nothing is kept there. */
#ifdef _WIN32

enum { key_size = 1 };

static int write_key(cl_device_id device, const mltune_sgemm_nn_kernel *written, char *key)
{
    (void)device;
    (void)written;
    (void)key;
    return 0;
}

static cl_program kept_program(cl_context context, cl_device_id device, const char *options,
                               const char *key)
{
    (void)context;
    (void)device;
    (void)options;
    (void)key;
    return NULL;
}

static void keep_program(cl_program program, const char *key)
{
    (void)program;
    (void)key;
}

#else

enum { key_size = 33, head_size = 49, most_binary = 1 << 26 };

typedef struct hash {
    uint64_t a, b;
} hash;

static void mix(hash *of, const void *bytes, size_t size)
{
    const unsigned char *const given = bytes;
    size_t i;

    for (i = 0; i < size; ++i) {
        of->a = (of->a ^ given[i]) * UINT64_C(0x100000001b3);
        of->b = (of->b ^ given[i]) * UINT64_C(0x9e3779b97f4a7c15);
        of->b ^= of->b >> 29;
    }
}

static void write_hash(const hash *of, char *text)
{
    snprintf(text, key_size, "%016llx%016llx", (unsigned long long)of->a,
             (unsigned long long)of->b);
}

static void write_head(const char *key, const unsigned char *binary, size_t size, char *head)
{
    hash of = {UINT64_C(0xcbf29ce484222325), size};

    mix(&of, key, key_size);
    mix(&of, binary, size);
    memcpy(head, "mltune binary 1\n", 17);
    write_hash(&of, head + 16);
}

/* Name the file of a binary; 0 if the driver does not say for what it would hold. */
static int write_key(cl_device_id device, const mltune_sgemm_nn_kernel *written, char *key)
{
    static const cl_device_info of_device[] = {CL_DEVICE_VENDOR, CL_DEVICE_NAME, CL_DEVICE_VERSION,
                                               CL_DRIVER_VERSION};
    static const cl_platform_info of_platform[] = {CL_PLATFORM_NAME, CL_PLATFORM_VERSION};
    hash of = {UINT64_C(0xcbf29ce484222325), (uint64_t)written->two_steps};
    cl_platform_id platform;
    char text[1024];
    size_t size, i;

    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        return 0;
    for (i = 0; i < sizeof of_platform / sizeof of_platform[0]; ++i) {
        if (clGetPlatformInfo(platform, of_platform[i], sizeof text, text, &size) != CL_SUCCESS)
            return 0;
        mix(&of, text, size);
    }
    for (i = 0; i < sizeof of_device / sizeof of_device[0]; ++i) {
        if (clGetDeviceInfo(device, of_device[i], sizeof text, text, &size) != CL_SUCCESS)
            return 0;
        mix(&of, text, size);
    }
    mix(&of, written->build_options, strlen(written->build_options) + 1);
    for (i = 0; i < written->num_literals; ++i)
        mix(&of, written->source[i], strlen(written->source[i]));
    write_hash(&of, key);
    return 1;
}

/* Whether this user owns a file or folder, and nobody else can write to it. */
static int is_own(int file, int folder)
{
    struct stat found;

    return fstat(file, &found) == 0 && (folder ? S_ISDIR(found.st_mode) : S_ISREG(found.st_mode)) &&
           found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Open the folder of the binaries, after making it if that is asked for; -1 without one. */
static int open_folder(int make)
{
    const char *const named = getenv("MLTUNE_CACHE_DIR"), *const base = getenv("XDG_CACHE_HOME"),
                      *const home = getenv("HOME");
    char path[4096];
    int length, folder;
    char *end;

    if (getuid() != geteuid() || getgid() != getegid()) /* the environment is somebody else's */
        return -1;
    if (named != NULL)
        length = *named == '\0' ? -1 : snprintf(path, sizeof path, "%s/binaries", named);
    else if (base != NULL && *base != '\0')
        length = snprintf(path, sizeof path, "%s/mltune/binaries", base);
    else
        length = home == NULL ? -1 : snprintf(path, sizeof path, "%s/.cache/mltune/binaries", home);
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    for (end = path + 1; make && end <= path + length; ++end) {
        if (*end != '/' && *end != '\0')
            continue;
        *end = '\0';
        mkdir(path, 0700); /* most are there */
        *end = end < path + length ? '/' : '\0';
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && !is_own(folder, 1)) {
        close(folder);
        folder = -1;
    }
    return folder;
}

/* Read or write so many bytes; 0 if that fails. */
static int transfer(int file, unsigned char *bytes, size_t size, int writes)
{
    while (size > 0) {
        const ssize_t done = writes ? write(file, bytes, size) : read(file, bytes, size);

        if (done <= 0 && !(done < 0 && errno == EINTR))
            return 0;
        if (done > 0) {
            bytes += done;
            size -= (size_t)done;
        }
    }
    return 1;
}

/* Read what was kept, to be freed; NULL if there is none, or none to be trusted. */
static unsigned char *read_binary(const char *key, size_t *size)
{
    const int folder = open_folder(0);
    char found[head_size], expected[head_size];
    unsigned char *binary = NULL;
    struct stat about;
    int file, is_whole = 0;

    if (folder < 0)
        return NULL;
    file = openat(folder, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    if (file < 0)
        return NULL;
    if (is_own(file, 0) && fstat(file, &about) == 0 && about.st_size > head_size &&
        about.st_size <= most_binary) {
        *size = (size_t)about.st_size - head_size;
        binary = malloc(*size);
    }
    if (binary != NULL && transfer(file, (unsigned char *)found, head_size, 0) &&
        transfer(file, binary, *size, 0)) {
        write_head(key, binary, *size, expected);
        is_whole = memcmp(found, expected, head_size) == 0;
    }
    close(file);
    if (!is_whole) {
        free(binary);
        binary = NULL;
    }
    return binary;
}

/* Keep a binary, if there is a folder for it. The mutex must be held. */
static void write_binary(const char *key, unsigned char *binary, size_t size)
{
    static int tag;
    const int folder = open_folder(1);
    char temporary[100], head[head_size];
    int file, is_whole = 0;

    if (folder < 0)
        return;
    snprintf(temporary, sizeof temporary, ".%s.%lx.%lx", key, (unsigned long)getpid(),
             (unsigned long)(uintptr_t)&tag);
    file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0) {
        write_head(key, binary, size, head);
        is_whole = transfer(file, (unsigned char *)head, head_size, 1) &&
                   transfer(file, binary, size, 1);
        is_whole = close(file) == 0 && is_whole;
    }
    if (!is_whole || renameat(folder, temporary, folder, key) != 0)
        unlinkat(folder, temporary, 0);
    close(folder);
}

/* Make a program of what an earlier process kept; NULL if there is nothing, or it is refused. */
static cl_program kept_program(cl_context context, cl_device_id device, const char *options,
                               const char *key)
{
    size_t size;
    unsigned char *const binary = read_binary(key, &size);
    const unsigned char *given = binary;
    cl_program program;
    cl_int status;

    if (binary == NULL)
        return NULL;
    program = clCreateProgramWithBinary(context, 1, &device, &size, &given, NULL, &status);
    free(binary);
    if (status != CL_SUCCESS)
        return NULL;
    if (clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

/* Keep a program's binary, for whichever device of its context it was built. */
static void keep_program(cl_program program, const char *key)
{
    enum { most = 64 };
    unsigned char *binaries[most] = {NULL};
    size_t sizes[most] = {0}, given = 0, room;
    int i = 0;

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &given) !=
        CL_SUCCESS)
        return;
    room = given / sizeof *sizes * sizeof *binaries; /* Mesa's rusticl ends the process on more */
    while (i < most - 1 && sizes[i] == 0)
        ++i;
    if (sizes[i] == 0 || sizes[i] > most_binary - head_size)
        return;
    binaries[i] = malloc(sizes[i]);
    if (binaries[i] != NULL &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, room, binaries, NULL) == CL_SUCCESS)
        write_binary(key, binaries[i], sizes[i]);
    free(binaries[i]);
}

#endif

static cl_int build(cl_context context, cl_device_id device, const mltune_sgemm_nn_kernel *written,
                    cl_kernel *kernels)
{
    char key[key_size];
    const int named = write_key(device, written, key);
    cl_program program = named ? kept_program(context, device, written->build_options, key) : NULL;
    cl_int status;

    if (program != NULL) {
        status = create_kernels(program, written, kernels);
        clReleaseProgram(program);
        if (status == CL_SUCCESS)
            return status;
    }
    program = clCreateProgramWithSource(context, written->num_literals,
                                        (const char **)written->source, NULL, &status);
    if (status != CL_SUCCESS)
        return status;
    status = clBuildProgram(program, 1, &device, written->build_options, NULL, NULL);
    if (status == CL_SUCCESS)
        status = create_kernels(program, written, kernels);
    if (status == CL_SUCCESS && named)
        keep_program(program, key);
    clReleaseProgram(program); /* the kernels keep what they need */
    return status;
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
