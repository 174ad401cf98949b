/*
 * mltune_sgemm_nn: checks the arguments, builds kernels once and enqueues them.
 *
 * Kernels see C column by column.
 */

#define _POSIX_C_SOURCE 200809L

#include "mltune_sgemm_nn.h"
#include "mltune_sgemm_nn_kernels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <stdlib.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* A matrix is `count` runs of `length` contiguous elements, `ld` apart. */
typedef struct matrix {
    cl_mem buffer;
    int64_t offset, length, count, ld, stride; /* the stride leads to the next of a batch */
} matrix;

/* A kernel for a device. A built one keeps its context alive, so no other context gets the same
   pointer. One that cannot run is kept, too, with the reason: it is tried once. */
typedef struct built {
    cl_context context;
    cl_device_id device;
    const mltune_sgemm_nn_kernel *written;
    cl_int status; /* why it cannot run; else it has kernels */
    cl_kernel kernels[MLTUNE_SGEMM_NN_MOST_PASSES];
    struct built *next;
} built;

enum { plain, zeroed, num_memories };

/* The scratch memory and the counters of a queue, which is kept alive for the same reason. Counters
   are zero before each kernel and after it. */
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

/* Fetch the binary of the one device that a program was built for, in memory with room for so many
   more bytes, which the caller frees; NULL if there is none. */
static unsigned char *binary_of(cl_program program, size_t extra, size_t *size)
{
    enum { most = 64 }; /* devices of a context */
    unsigned char *binaries[most] = {NULL};
    size_t sizes[most] = {0}, given = 0, room;
    int i = 0;

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &given) !=
        CL_SUCCESS)
        return NULL;
    room = given / sizeof *sizes * sizeof *binaries; /* with more, Mesa's rusticl ends the process */
    while (i < most - 1 && sizes[i] == 0)
        ++i;
    *size = sizes[i];
    binaries[i] = sizes[i] == 0 ? NULL : malloc(sizes[i] + extra);
    if (binaries[i] != NULL &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, room, binaries, NULL) == CL_SUCCESS)
        return binaries[i];
    free(binaries[i]);
    return NULL;
}

/* Build a kernel's program from its source. */
static cl_int build_program(cl_context context, cl_device_id device,
                            const mltune_sgemm_nn_kernel *written, const char *options,
                            cl_program *program)
{
    cl_int status;

    *program = clCreateProgramWithSource(context, written->num_literals, written->source, NULL,
                                         &status);
    if (status != CL_SUCCESS)
        return status;
    status = clBuildProgram(*program, 1, &device, options, NULL, NULL);
    if (status != CL_SUCCESS)
        clReleaseProgram(*program);
    return status;
}

/* Built kernels are kept on disk, so that the next process compiles nothing: in MLTUNE_CACHE_DIR, or
   else in the user's cache; nowhere if that variable is empty. A binary is machine code that runs in
   this process, so the folder and the file must belong to this user, and nobody else may be able to
   write to them. A file's name is a hash of all that its binary depends on. It is written as a whole
   and not used if it is damaged. On Windows nothing is kept. */
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

static void write_binary(const char *key, unsigned char *binary, size_t size)
{
    (void)key;
    (void)binary;
    (void)size;
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

/* Write the name of a binary's file; 0 if the driver does not name itself and the device. */
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

/* Open the folder of the binaries; make it first if `make` is set. -1 if there is none. */
static int open_folder(int make)
{
    const char *const named = getenv("MLTUNE_CACHE_DIR"), *const base = getenv("XDG_CACHE_HOME"),
                      *const home = getenv("HOME");
    char path[4096];
    int length, folder;
    char *end;

    if (getuid() != geteuid() || getgid() != getegid()) /* set-user-ID: the environment is not to be trusted */
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
        mkdir(path, 0700); /* most exist already */
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

/* Read a kept binary; the caller frees it. NULL if there is none, or it cannot be trusted. */
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
    const int folder = size > most_binary - head_size ? -1 : open_folder(1);
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

/* Make a program of a kept binary; NULL if there is none, or the driver refuses it. */
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

#endif

/* Keep a program's binary. */
static void keep_program(cl_program program, const char *key)
{
    size_t size;
    unsigned char *const binary = binary_of(program, 0, &size);

    if (binary != NULL)
        write_binary(key, binary, size);
    free(binary);
}

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
    status = build_program(context, device, written, written->build_options, &program);
    if (status != CL_SUCCESS)
        return status;
    status = create_kernels(program, written, kernels);
    if (status == CL_SUCCESS && named)
        keep_program(program, key);
    clReleaseProgram(program); /* the kernels keep it alive */
    return status;
}

/* Whether the kernel cannot run on this device at all. */
static int cannot_run(cl_int status)
{
    return status == CL_BUILD_PROGRAM_FAILURE || status == CL_INVALID_BINARY ||
           status == CL_INVALID_BUILD_OPTIONS || status == CL_INVALID_WORK_GROUP_SIZE ||
           status == CL_INVALID_WORK_ITEM_SIZE;
}

/* The local memory of a kernel; 0 if the driver does not say. */
static cl_ulong local_bytes(cl_device_id device, cl_kernel kernel)
{
    cl_ulong bytes = 0;

    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return bytes;
}

/* How often the driver counts local memory, which Mesa's rusticl does twice. */
static cl_ulong times_counted(cl_context context, cl_device_id device)
{
    const char *source = "__kernel void kibibyte(__global uint *out)\n"
                         "{\n"
                         "    __local uint room[256];\n"
                         "    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))\n"
                         "        room[i] = out[i];\n"
                         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                         "    out[get_global_id(0)] = room[255 - get_local_id(0)];\n"
                         "}\n";
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    cl_kernel kernel = NULL;
    cl_ulong times = 0;

    if (program != NULL && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS)
        kernel = clCreateKernel(program, "kibibyte", NULL);
    if (kernel != NULL) {
        times = local_bytes(device, kernel) / 1024;
        clReleaseKernel(kernel);
    }
    if (program != NULL)
        clReleaseProgram(program);
    return times > 0 ? times : 1;
}

/* Whether a kernel takes more local memory than the device has: some drivers would launch it, and
   it would overwrite other memory. NVIDIA's grant more than they state, and refuse what is too much. */
static int lacks_local_memory(const built *entry)
{
    enum { compute_capability_nv = 0x4000 };
    cl_ulong most = 0, taken = 0;
    cl_uint capability;
    int i;

    for (i = 0; i < entry->written->num_passes; ++i) {
        const cl_ulong bytes = local_bytes(entry->device, entry->kernels[i]);

        taken = bytes > taken ? bytes : taken;
    }
    if (clGetDeviceInfo(entry->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof most, &most, NULL) !=
        CL_SUCCESS)
        return 0;
    return taken > most &&
           clGetDeviceInfo(entry->device, compute_capability_nv, sizeof capability, &capability,
                           NULL) != CL_SUCCESS &&
           taken / times_counted(entry->context, entry->device) > most;
}

static void release_kernels(built *entry)
{
    int i;

    for (i = 0; i < entry->written->num_passes && entry->status == CL_SUCCESS; ++i)
        clReleaseKernel(entry->kernels[i]);
}

/* Do not launch a kernel again, and keep the reason. The mutex must be held. */
static cl_int give_up(built *entry, cl_int status)
{
    release_kernels(entry);
    return entry->status = status;
}

/* Find the context and the device of a queue, and the entry of a kernel for them, NULL if there is
   none. The mutex must be held. */
static cl_int find_built(cl_command_queue queue, const mltune_sgemm_nn_kernel *written, cl_context *context,
                         cl_device_id *device, built **found)
{
    built *entry = cache;
    cl_int status =
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof *context, context, NULL);

    if (status == CL_SUCCESS)
        status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof *device, device, NULL);
    while (status == CL_SUCCESS && entry != NULL &&
           (entry->context != *context || entry->device != *device || entry->written != written))
        entry = entry->next;
    *found = entry;
    return status;
}

/* Find a kernel's entry for the queue's device, or build it. The mutex must be held. */
static cl_int built_for(cl_command_queue queue, const mltune_sgemm_nn_kernel *written, built **found)
{
    cl_context context;
    cl_device_id device;
    built *entry;
    cl_int status = find_built(queue, written, &context, &device, found);

    if (status != CL_SUCCESS)
        return status;
    if (*found != NULL)
        return (*found)->status;
    entry = malloc(sizeof *entry);
    if (entry == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    status = build(context, device, written, entry->kernels);
    if (status != CL_SUCCESS && !cannot_run(status)) {
        free(entry);
        return status;
    }
    entry->status = status;
    entry->context = context;
    entry->device = device;
    entry->written = written;
    entry->next = cache;
    *found = cache = entry;
    if (status == CL_SUCCESS && lacks_local_memory(entry))
        return give_up(entry, CL_BUILD_PROGRAM_FAILURE);
    return status;
}

/* The compute units of a queue's device: the grid of persistent kernels depends on them. */
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
        if (entry->buffers[kind] != NULL) /* OpenCL keeps it until no kernel uses it */
            clReleaseMemObject(entry->buffers[kind]);
        entry->buffers[kind] = larger;
        entry->bytes[kind] = (size_t)bytes;
    }
    *buffer = &entry->buffers[kind];
    return CL_SUCCESS;
}

/* Release a queue's memory; the next kernel that needs it makes it again. The mutex must be held. */
static void release_memory(cl_command_queue queue)
{
    scratch *entry = scratches;
    int i;

    while (entry != NULL && entry->queue != queue)
        entry = entry->next;
    for (i = 0; i < num_memories && entry != NULL; ++i) {
        if (entry->buffers[i] != NULL) /* OpenCL keeps it until no kernel uses it */
            clReleaseMemObject(entry->buffers[i]);
        entry->buffers[i] = NULL;
        entry->bytes[i] = 0;
    }
}

/* A call: C = alpha * A * B + beta * C. If `terms` is 0, A and B are not read. */
typedef struct call {
    cl_command_queue queue;
    const matrix *c, *a, *b;
    int64_t terms, batch;
    const void *alpha, *beta;
    size_t factor_bytes;
    cl_uint num_events;
    const cl_event *wait_list;
    cl_event *event;
    int begun; /* set by `launch`: whether it enqueued a pass, and so C may have changed */
} call;

/* Enqueue the passes that have work-items, with barriers between them if the queue is out of order. */
static cl_int enqueue(const mltune_sgemm_nn_kernel *written, const cl_kernel *kernels,
                      const mltune_sgemm_nn_launch *launch, call *given, cl_event *events)
{
    const cl_command_queue queue = given->queue;
    cl_event *const begun = events != NULL ? &events[0] : NULL;
    cl_event *const ended = events != NULL && given->event == NULL ? &events[1] : given->event;
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
                i == first ? given->num_events : 0, i == first ? given->wait_list : NULL,
                i == last    ? ended
                : i == first ? begun
                             : NULL);
        given->begun |= status == CL_SUCCESS;
    }
    if (status == CL_SUCCESS && last >= 0 && events != NULL && given->event != NULL) {
        events[1] = *given->event;
        clRetainEvent(events[1]);
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

/* Enqueue a kernel. `events` is NULL, or gets the events of the first pass (NULL if there is only one)
   and of the last; the caller releases both. */
static cl_int launch(const mltune_sgemm_nn_kernel *written, call *given, cl_event *events)
{
    mltune_sgemm_nn_extents extents = {(uint64_t)given->c->length, (uint64_t)given->c->count,
                              given->terms > 0 ? (uint64_t)given->terms : 1,
                              (uint64_t)given->batch, 0};
    mltune_sgemm_nn_launch computed;
    built *entry = NULL;
    const cl_mem *memories[num_memories] = {NULL, NULL};
    cl_int status;
    int i;

    given->begun = 0;
    LOCK();
    status = built_for(given->queue, written, &entry);
    if (status == CL_SUCCESS)
        status = compute_units(given->queue, &extents.units);
    written->compute(&extents, &computed);
    if (status == CL_SUCCESS && written->has_scratch)
        status = memory_for(given->queue, plain, computed.scratch_bytes, &memories[plain]);
    if (status == CL_SUCCESS && written->has_counters)
        status = memory_for(given->queue, zeroed, computed.counter_bytes, &memories[zeroed]);
    for (i = 0; i < written->num_passes && status == CL_SUCCESS; ++i)
        status = set_arguments(entry->kernels[i], &extents, (uint64_t)given->terms, given->c,
                               given->a, given->b, given->alpha, given->beta,
                               given->factor_bytes, memories);
    if (status == CL_SUCCESS)
        status = enqueue(written, entry->kernels, &computed, given, events);
    if (entry != NULL && entry->status == CL_SUCCESS && cannot_run(status))
        give_up(entry, status);
    if (status != CL_SUCCESS && memories[plain] != NULL)
        release_memory(given->queue); /* some drivers find out only now that there is not so much */
    UNLOCK();
    return status;
}

/* Release all kernels and all memory. */
static void release(void)
{
    LOCK();
    while (cache != NULL) {
        built *const next = cache->next;

        release_kernels(cache);
        free(cache);
        cache = next;
    }
    while (scratches != NULL) {
        scratch *const next = scratches->next;

        release_memory(scratches->queue);
        clReleaseCommandQueue(scratches->queue);
        free(scratches);
        scratches = next;
    }
    UNLOCK();
}

/* The problem type. */
typedef struct type {
    const char *name;
    const mltune_sgemm_nn_kernel *kernels;
    int num_kernels;
} type;

enum { num_types = 1 };

static const type types[num_types] = {{"sgemm_nn", mltune_sgemm_nn_kernels, 2}};

static int select_for(const type *of, const mltune_sgemm_nn_problem *problem)
{
    (void)of;
    return mltune_sgemm_nn_select(problem);
}

static int likely_for(const type *of, const mltune_sgemm_nn_problem *problem, int most, int *kernels)
{
    (void)of;
    return mltune_sgemm_nn_likely(problem, most, kernels);
}

/* Whether a size was measured with all kernels. */
static int is_measured(const type *of, const mltune_sgemm_nn_problem *problem)
{
    (void)of;
    return strcmp(mltune_sgemm_nn_reason(problem), "exact size") == 0;
}

static const char *kernel_name(const type *of, int number)
{
    (void)of;
    return mltune_sgemm_nn_kernel_name(number);
}

/* Selection that learns in use, once mltune_sgemm_nn_learn has named a file. The first calls of a size that
   was not measured try the kernels that may be the fastest, until one is clearly the fastest by the
   times of its events. It is kept, and saved. No call waits for a time. Python's runtime has the
   same rule; mltune/runtime/learning.py says where the numbers come from. */
enum {
    most_tried = 5,
    later = 2, /* tries by which the likelier kernels are ahead of the third and later ones */
    most_tries = 8, /* of a kernel */
    enough_tries = 2, /* of the best and the likeliest two, before the best is saved */
    noise_times = 4, /* the weight of the guessed noise, in measured times */
    most_lost = 20, /* calls that worse kernels may cost: 2 % of a thousand */
    num_buckets = 4096
};

static const double guessed_noise = 0.04, /* relative error of one time */
                    sure = 3, /* standard errors behind the best: the kernel is dropped */
                    least_gain = 0.01, /* a kernel that cannot gain this share is dropped */
                    most_slower = 3, /* a kernel that is so many times as slow is tried once */
                    share = 0.02, /* of the time that builds and writing the file may take */
                    guessed_build = 0.5; /* seconds of a build, before the first one */

/* A kernel that is tried for a size. */
typedef struct contender {
    int number, is_out, is_running, num_known;
    cl_event running[2];         /* of the first pass (NULL if there is only one) and the last */
    cl_ulong known[most_tries]; /* nanoseconds, sorted */
} contender;

/* What is known of a size on a device. */
typedef struct lesson {
    const type *of;
    const char *device;
    mltune_sgemm_nn_problem problem;
    int best, is_saved;
    int is_warm; /* whether it was called before: caches are cold in the first call */
    int num_tried;
    contender *tried; /* the chosen kernel first; NULL when the best is known */
    struct lesson *next;
} lesson;

/* The kernel that a call launches. */
typedef struct use {
    int number, is_try, builds;
    lesson *of; /* NULL if nothing is learned from the call */
} use;

/* The name of a device, or of one that only the file knows. */
typedef struct device_name {
    cl_device_id device;
    struct device_name *next;
    char text[1];
} device_name;

static char *learned_file = NULL; /* NULL: nothing is learned */
static lesson *lessons[num_buckets];
static device_name *device_names = NULL;
static double spare_seconds, build_seconds; /* for builds; the longest build so far */
static clock_t next_save;
static int is_unsaved;

static const char *name_device(cl_device_id device, const char *text)
{
    const size_t length = strlen(text);
    device_name *const entry = malloc(sizeof *entry + length);

    if (entry == NULL)
        return NULL;
    entry->device = device;
    memcpy(entry->text, text, length + 1);
    entry->next = device_names;
    device_names = entry;
    return entry->text;
}

/* Whether the events of a queue have times. */
static int has_profiling(cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;

    return clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                 NULL) == CL_SUCCESS &&
           (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
}

/* The name of a queue's device; NULL if the driver gives none. */
static const char *device_of(cl_command_queue queue)
{
    const device_name *entry;
    cl_device_id device;
    char text[1024];

    if (clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return NULL;
    for (entry = device_names; entry != NULL; entry = entry->next)
        if (entry->device == device)
            return entry->text;
    if (clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL) != CL_SUCCESS)
        return NULL;
    return name_device(device, text);
}

static lesson **bucket_for(const mltune_sgemm_nn_problem *problem)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (uint64_t)problem->m * factor;

    mixed = (mixed ^ (uint64_t)problem->n) * factor;
    mixed = (mixed ^ (uint64_t)problem->k) * factor;
    mixed = (mixed ^ (uint64_t)problem->batch) * factor;
    return &lessons[mixed >> 52]; /* of num_buckets */
}

static lesson *lesson_for(const type *of, const char *device, const mltune_sgemm_nn_problem *problem)
{
    lesson *entry = *bucket_for(problem);

    while (entry != NULL &&
           (entry->of != of || entry->problem.m != problem->m || entry->problem.n != problem->n ||
            entry->problem.k != problem->k || entry->problem.batch != problem->batch ||
            strcmp(entry->device, device) != 0))
        entry = entry->next;
    return entry;
}

static lesson *new_lesson(const type *of, const char *device, const mltune_sgemm_nn_problem *problem,
                          int best)
{
    lesson **const bucket = bucket_for(problem);
    lesson *const entry = calloc(1, sizeof *entry);

    if (entry == NULL)
        return NULL;
    entry->of = of;
    entry->device = device;
    entry->problem = *problem;
    entry->best = best;
    entry->next = *bucket;
    *bucket = entry;
    return entry;
}

static void release_events(cl_event *events)
{
    int i;

    for (i = 0; i < 2; ++i)
        if (events[i] != NULL)
            clReleaseEvent(events[i]);
}

static void end_trial(lesson *of)
{
    int i;

    for (i = 0; i < of->num_tried && of->tried != NULL; ++i)
        if (of->tried[i].is_running)
            release_events(of->tried[i].running);
    free(of->tried);
    of->tried = NULL;
}

/* Half of a size, the size, or twice as much. */
static int64_t nearby(int64_t size, int way)
{
    return way == 0 ? (size + 1) / 2 : way * size;
}

/* Find the kernels that are chosen for sizes nearby, the most frequent first; returns their number. */
static int chosen_nearby(const type *of, const mltune_sgemm_nn_problem *problem, int most, int *kernels)
{
    int counts[14], numbers[14], num_found = 0, num_kernels = 0, way, i;

    for (way = 0; way < 27; ++way) { /* one extent changes, or all three */
        const int num_same = (way / 9 == 1) + (way / 3 % 3 == 1) + (way % 3 == 1);
        const mltune_sgemm_nn_problem near = {nearby(problem->m, way / 9), nearby(problem->n, way / 3 % 3),
                                      nearby(problem->k, way % 3), problem->batch};
        int number;

        if (num_same == 1 || num_same == 3)
            continue;
        number = select_for(of, &near);
        for (i = 0; i < num_found && numbers[i] != number; ++i)
            ;
        if (i == num_found) {
            numbers[num_found] = number;
            counts[num_found++] = 0;
        }
        ++counts[i];
    }
    for (; num_kernels < most && num_kernels < num_found; ++num_kernels) {
        int first = 0;

        for (i = 1; i < num_found; ++i)
            if (counts[i] > counts[first])
                first = i;
        kernels[num_kernels] = numbers[first];
        counts[first] = 0;
    }
    return num_kernels;
}

/* Find the kernels to try: the chosen one, then those that formulas expect to be the fastest, or,
   without formulas, those that are chosen most for sizes nearby. Returns their number. */
static int contenders_for(const type *of, const mltune_sgemm_nn_problem *problem, int chosen, int *tried)
{
    int numbers[most_tried], num_tried = 1, num_found, i;

    num_found = likely_for(of, problem, most_tried, numbers);
    if (num_found == 0)
        num_found = chosen_nearby(of, problem, most_tried, numbers);
    tried[0] = chosen;
    for (i = 0; i < num_found && num_tried < most_tried; ++i)
        if (numbers[i] != chosen)
            tried[num_tried++] = numbers[i];
    return num_tried;
}

/* Begin to learn about a size; NULL without memory. For a measured size the best is known. */
static lesson *begin_lesson(const type *of, const char *device, const mltune_sgemm_nn_problem *problem,
                            int chosen)
{
    int tried[most_tried], i;
    lesson *const made = new_lesson(of, device, problem, chosen);

    if (made == NULL || is_measured(of, problem))
        return made;
    made->num_tried = contenders_for(of, problem, chosen, tried);
    if (made->num_tried > 1)
        made->tried = calloc((size_t)made->num_tried, sizeof *made->tried);
    for (i = 0; i < made->num_tried && made->tried != NULL; ++i)
        made->tried[i].number = tried[i];
    return made;
}

/* Whether a launch has ended, and if so its time; -1 if it failed, -2 if it did not begin because an
   event of the caller failed. */
static int has_ended(const cl_event *events, cl_ulong *nanoseconds)
{
    const cl_event first = events[0] != NULL ? events[0] : events[1];
    cl_int state;
    cl_ulong begun, ended;

    if (clGetEventInfo(first, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ==
            CL_SUCCESS &&
        state == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        return -2;
    if (clGetEventInfo(events[1], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) !=
            CL_SUCCESS ||
        state < 0)
        return -1;
    if (state != CL_COMPLETE)
        return 0;
    if (clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof begun, &begun, NULL) !=
            CL_SUCCESS ||
        clGetEventProfilingInfo(events[1], CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL) !=
            CL_SUCCESS)
        return -1;
    *nanoseconds = ended > begun ? ended - begun : 0;
    return 1;
}

/* The mean of the faster half: other work makes a time longer, never shorter. */
static double expected(const contender *of)
{
    const int count = (of->num_known + 1) / 2;
    double sum = 0;
    int i;

    for (i = 0; i < count; ++i)
        sum += (double)of->known[i];
    return sum / count;
}

/* The standard error of a single time, with the rounding of the clock. */
static double noise_of(const lesson *of, double least)
{
    double sum = noise_times * guessed_noise * least;
    int count = noise_times, i, j;

    for (i = 0; i < of->num_tried; ++i) {
        const contender *const each = &of->tried[i];
        const int last = each->num_known - 1;

        for (j = 0; j <= last; ++j) {
            const double off = (double)each->known[j] - ((double)each->known[last / 2] +
                                                         (double)each->known[(last + 1) / 2]) / 2;

            sum += off < 0 ? -off : off;
        }
        count += last > 0 ? last : 0;
    }
    return sum / count;
}

/* Find the best kernel, and drop those that are slower by more than the noise. The chosen one stays
   the best until it has a time, too. */
static void judge(lesson *of)
{
    const contender *fastest = NULL;
    double least, noise, lost = 0;
    int i;

    for (i = 0; i < of->num_tried; ++i)
        if (of->tried[i].num_known > 0 &&
            (fastest == NULL || expected(&of->tried[i]) < expected(fastest)))
            fastest = &of->tried[i];
    if (fastest == NULL)
        return;
    least = expected(fastest);
    noise = noise_of(of, least);
    of->best = of->tried[0].num_known > 0 ? fastest->number : of->tried[0].number;
    for (i = 0; i < of->num_tried; ++i) {
        contender *const each = &of->tried[i];
        double gap, most, variance;

        if (each->num_known == 0 || each == fastest)
            continue;
        gap = expected(each) - least;
        most = gap + least_gain * least;
        variance = noise * noise * (1.0 / each->num_known + 1.0 / fastest->num_known);
        lost += each->num_known * gap;
        if (each->num_known > 1 ? most * most > sure * sure * variance
                                : i > 0 && gap > (most_slower - 1) * least)
            each->is_out = 1;
        if (i == 0 && gap * gap <= variance)
            of->best = each->number;
    }
    for (i = 0; i < of->num_tried && lost > most_lost * least; ++i)
        of->tried[i].is_out = 1;
}

/* Take the times of launches that have ended, and judge by them. A kernel that failed is dropped. */
static void read_times(lesson *of)
{
    int has_new = 0, i, j;

    for (i = 0; i < of->num_tried; ++i) {
        contender *const each = &of->tried[i];
        cl_ulong spent = 0;
        const int ended = each->is_running ? has_ended(each->running, &spent) : 0;

        if (ended == 0)
            continue;
        release_events(each->running);
        each->is_running = 0;
        has_new = 1;
        if (ended < 0) {
            each->is_out |= ended == -1;
            continue;
        }
        for (j = each->num_known++; j > 0 && each->known[j - 1] > spent; --j)
            each->known[j] = each->known[j - 1];
        each->known[j] = spent;
    }
    if (has_new)
        judge(of);
}

/* Whether several kernels have times, and the likeliest two and the best one enough of them. */
static int is_known(const lesson *of)
{
    int num_timed = 0, i;

    for (i = 0; i < of->num_tried; ++i) {
        const contender *const each = &of->tried[i];

        num_timed += each->num_known > 0;
        if ((i < 2 || each->number == of->best) && each->num_known > 0 &&
            each->num_known < enough_tries && !each->is_out)
            return 0;
    }
    return num_timed > 1;
}

static int is_built(cl_command_queue queue, const mltune_sgemm_nn_kernel *written)
{
    cl_context context;
    cl_device_id device;
    built *found = NULL;

    return find_built(queue, written, &context, &device, &found) == CL_SUCCESS && found != NULL;
}

/* Whether a kernel is built, or its build is a small share of the time of all calls so far. */
static int is_ready(const lesson *of, const contender *each, cl_command_queue queue)
{
    return each->num_known + each->is_running > 0 ||
           is_built(queue, &of->of->kernels[each->number]) ||
           spare_seconds >= (build_seconds > 0 ? build_seconds : guessed_build);
}

/* What was learned, as JSON that Python's runtime reads and writes too:
   {"learned": [{"device": ..., "size": [m, n, k, batch], "kernel": ..., "problem": ...}, ...]}
   Rows of other libraries stay as they are. */
enum {
    most_text = 1024,
    last_patience = 1000, /* milliseconds in which other programs have written the file */
    no_lock = -1, /* there are no locks */
    lock_taken = -2 /* another program has it */
};

typedef struct row {
    char device[most_text], kernel[most_text], problem[most_text];
    mltune_sgemm_nn_problem size;
    const char *text; /* in the file, not terminated */
    size_t length;
} row;

/* A file that is being written, and the number of its rows so far. */
typedef struct rows {
    FILE *file;
    int count;
} rows;

static int take(const char **at, char wanted)
{
    *at += strspn(*at, " \t\r\n");
    if (**at != wanted)
        return 0;
    ++*at;
    return 1;
}

/* Read four hexadecimal digits as a character, and write it in UTF-8. */
static int take_code(const char **at, char **to)
{
    unsigned code = 0;
    int i;

    for (i = 0; i < 4; ++i, ++*at) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *const digit = **at == '\0' ? NULL : strchr(digits, **at);

        if (digit == NULL)
            return 0;
        code = code * 16 + (unsigned)(digit - digits) - (digit - digits > 15 ? 6u : 0u);
    }
    if (code >= 0x800)
        *(*to)++ = (char)(0xe0 | code >> 12);
    if (code >= 0x80)
        *(*to)++ = (char)(code < 0x800 ? 0xc0 | code >> 6 : 0x80 | (code >> 6 & 63));
    *(*to)++ = (char)(code < 0x80 ? code : 0x80 | (code & 63));
    return 1;
}

static int take_string(const char **at, char *to)
{
    static const char escapes[] = "\"\\/bfnrtu", meant[] = "\"\\/\b\f\n\r\t";
    const char *const end = to + most_text - 4;

    if (!take(at, '"'))
        return 0;
    while (**at != '"') {
        const char *escape = NULL;

        if ((unsigned char)**at < ' ' || to >= end)
            return 0;
        if (**at != '\\') {
            *to++ = *(*at)++;
            continue;
        }
        if (*++*at != '\0')
            escape = strchr(escapes, *(*at)++);
        if (escape == NULL)
            return 0;
        if (*escape != 'u')
            *to++ = meant[escape - escapes];
        else if (!take_code(at, &to))
            return 0;
    }
    ++*at;
    *to = '\0';
    return 1;
}

static int take_number(const char **at, int64_t *number)
{
    int digits = 0;

    *at += strspn(*at, " \t\r\n");
    for (*number = 0; **at >= '0' && **at <= '9' && digits < 18; ++digits)
        *number = *number * 10 + (*(*at)++ - '0');
    return digits > 0;
}

static int take_size(const char **at, mltune_sgemm_nn_problem *size)
{
    return take(at, '[') && take_number(at, &size->m) && take(at, ',') &&
           take_number(at, &size->n) && take(at, ',') && take_number(at, &size->k) &&
           take(at, ',') && take_number(at, &size->batch) && take(at, ']');
}

static int take_row(const char **at, row *of)
{
    char key[most_text];
    int has_size = 0, is_right;

    of->device[0] = of->kernel[0] = of->problem[0] = '\0';
    of->text = *at + strspn(*at, " \t\r\n");
    if (!take(at, '{'))
        return 0;
    do {
        is_right = take_string(at, key) && take(at, ':');
        if (!is_right)
            return 0;
        if (strcmp(key, "size") == 0)
            is_right = has_size = take_size(at, &of->size);
        else if (strcmp(key, "device") == 0)
            is_right = take_string(at, of->device);
        else if (strcmp(key, "kernel") == 0)
            is_right = take_string(at, of->kernel);
        else
            is_right = strcmp(key, "problem") == 0 && take_string(at, of->problem);
    } while (is_right && take(at, ','));
    is_right = is_right && take(at, '}') && has_size && of->kernel[0] != '\0';
    of->length = (size_t)(*at - of->text);
    return is_right;
}

/* Call a function for each row of a text; 0 if the text has another form. */
static int take_rows(const char *at, void (*each)(const row *of, rows *to), rows *to)
{
    char key[most_text];
    row of;
    int is_right = take(&at, '{') && take_string(&at, key) && strcmp(key, "learned") == 0 &&
                   take(&at, ':') && take(&at, '[');

    if (is_right && !take(&at, ']')) {
        do {
            is_right = take_row(&at, &of);
            if (is_right)
                each(&of, to);
        } while (is_right && take(&at, ','));
        is_right = is_right && take(&at, ']');
    }
    return is_right && take(&at, '}') && take(&at, '\0');
}

/* Read the whole file; the caller frees it. An empty list if there is none; NULL if reading fails. */
static char *read_file(void)
{
    static const char nothing[] = "{\"learned\": []}";
    FILE *const file = fopen(learned_file, "rb");
    size_t size = 0, most = file == NULL ? sizeof nothing : 1 << 14;
    char *text = file == NULL && errno != ENOENT ? NULL : malloc(most);

    if (file == NULL && text != NULL)
        memcpy(text, nothing, sizeof nothing);
    while (file != NULL && text != NULL) {
        char *larger;

        size += fread(text + size, 1, most - size, file);
        if (size < most) /* at its end, or unreadable */
            break;
        most *= 2;
        larger = realloc(text, most);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (file != NULL) {
        if (text != NULL)
            text[size] = '\0';
        fclose(file);
    }
    return text;
}

/* Find the problem type that has a row's kernel, and the kernel's number. */
static const type *kernel_of(const row *of, int *number)
{
    int i;

    for (i = 0; i < num_types; ++i) {
        if (of->problem[0] != '\0' && strcmp(of->problem, types[i].name) != 0)
            continue;
        for (*number = 0; *number < types[i].num_kernels; ++*number)
            if (strcmp(kernel_name(&types[i], *number), of->kernel) == 0)
                return &types[i];
    }
    return NULL;
}

static void remember_row(const row *of, rows *to)
{
    const device_name *name = device_names;
    const char *device;
    int number;
    const type *const owner = kernel_of(of, &number);
    lesson *made;

    (void)to;
    if (owner == NULL || lesson_for(owner, of->device, &of->size) != NULL)
        return;
    while (name != NULL && strcmp(name->text, of->device) != 0)
        name = name->next;
    device = name != NULL ? name->text : name_device(NULL, of->device);
    made = device == NULL ? NULL : new_lesson(owner, device, &of->size, number);
    if (made != NULL)
        made->is_saved = 1;
}

static void begin_row(rows *to)
{
    fputs(to->count++ == 0 ? "\n " : ",\n ", to->file);
}

/* Write a row of the file again, unless more is known. */
static void keep_row(const row *of, rows *to)
{
    int number;
    const type *const owner = kernel_of(of, &number);
    const lesson *const known = owner == NULL ? NULL : lesson_for(owner, of->device, &of->size);

    if (known != NULL && known->is_saved)
        return;
    begin_row(to);
    fwrite(of->text, 1, of->length, to->file);
}

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text < ' ')
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

static void write_row(const lesson *of, rows *to)
{
    begin_row(to);
    fputs("{\"device\": ", to->file);
    write_string(to->file, of->device);
    fprintf(to->file, ", \"size\": [%lld, %lld, %lld, %lld], \"kernel\": ",
            (long long)of->problem.m, (long long)of->problem.n, (long long)of->problem.k,
            (long long)of->problem.batch);
    write_string(to->file, kernel_name(of->of, of->best));
    fputs(", \"problem\": ", to->file);
    write_string(to->file, of->of->name);
    fputs("}", to->file);
}

/* Make a file, or empty it. */
static FILE *create(const char *path)
{
#ifdef _WIN32
    return fopen(path, "wb");
#else
    const int made = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *const file = made < 0 ? NULL : fdopen(made, "wb");

    if (made >= 0 && file == NULL)
        close(made);
    return file;
#endif
}

/* Write all that is known, together with the rows that other processes have written; the file is
   replaced as a whole. 0 if it cannot be written, or has another form. */
static int write_learned(void)
{
    static int tag;
    const size_t size = strlen(learned_file) + 64;
    char *const temporary = malloc(size), *const text = read_file();
    rows to = {NULL, 0};
    const lesson *each;
    int is_right, i;

#ifdef _WIN32
    const unsigned long process = GetCurrentProcessId();
#else
    const unsigned long process = (unsigned long)getpid();
#endif
    if (temporary != NULL && text != NULL) {
        snprintf(temporary, size, "%s.%lx.%llx.tmp", learned_file, process,
                 (unsigned long long)(uintptr_t)&tag);
        to.file = create(temporary);
    }
    if (to.file == NULL) {
        free(temporary);
        free(text);
        return 0;
    }
    fputs("{\"learned\": [", to.file);
    is_right = take_rows(text, keep_row, &to);
    for (i = 0; i < num_buckets; ++i)
        for (each = lessons[i]; each != NULL; each = each->next)
            if (each->is_saved)
                write_row(each, &to);
    fputs("\n]}\n", to.file);
    is_right = !ferror(to.file) && is_right;
    is_right = fclose(to.file) == 0 && is_right;
#ifdef _WIN32
    is_right = is_right && MoveFileExA(temporary, learned_file, MOVEFILE_REPLACE_EXISTING);
#else
    is_right = is_right && rename(temporary, learned_file) == 0;
#endif
    if (!is_right)
        remove(temporary);
    free(temporary);
    free(text);
    return is_right;
}

/* Keep other programs from writing the file, and wait at most so many milliseconds for them. */
static int lock_learned(int patience)
{
    int file = no_lock;

#if !defined(_WIN32) && defined(LOCK_NB)
    const struct timespec millisecond = {0, 1000000};
    const size_t size = strlen(learned_file) + sizeof ".lock";
    char *const path = malloc(size);

    if (path != NULL) {
        snprintf(path, size, "%s.lock", learned_file);
        file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        free(path);
    }
    while (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        const int is_taken = errno == EWOULDBLOCK;

        if (is_taken && patience-- > 0) {
            nanosleep(&millisecond, NULL);
            continue;
        }
        close(file);
        file = is_taken ? lock_taken : no_lock;
    }
#else
    (void)patience;
#endif
    return file;
}

static void unlock_learned(int lock)
{
#ifndef _WIN32
    if (lock >= 0)
        close(lock);
#else
    (void)lock;
#endif
}

/* Write the file also if another program does not unlock it; 0 if it cannot be written. */
static int save_learned(void)
{
    const int lock = lock_learned(last_patience), is_right = write_learned();

    unlock_learned(lock);
    return is_right;
}

/* Read all rows of the file; -1 if it has another form, or cannot be read or written. */
static int read_learned(void)
{
    char *const text = read_file();
    const int is_right = text != NULL && take_rows(text, remember_row, NULL);

    free(text);
    return is_right && save_learned() ? 0 : -1;
}
/* Save what is known, unless the last writes took too much of the time, or another program writes. */
static void save_soon(void)
{
    const clock_t begun = clock();
    int lock;

    is_unsaved = 1;
    if (begun < next_save)
        return;
    lock = lock_learned(0);
    is_unsaved = lock == lock_taken || !write_learned();
    unlock_learned(lock);
    next_save = clock();
    next_save += (clock_t)((double)(next_save - begun) / share);
}

/* Choose the kernel to try now, or else the best one. */
static void try_next(lesson *of, cl_command_queue queue, use *found)
{
    contender *next = NULL;
    int num_in = 0, num_ahead = 0, is_running = 0, least = 0, i;

    read_times(of);
    for (i = 0; i < of->num_tried; ++i)
        num_in += !of->tried[i].is_out;
    for (i = 0; i < of->num_tried; ++i) {
        contender *const each = &of->tried[i];
        const int tries = each->num_known + each->is_running;
        const int key = tries + (i > 1 ? later * (i - 1) : 0);

        is_running |= each->is_running;
        if (num_in < 2 || each->is_out || tries >= most_tries)
            continue;
        ++num_ahead;
        if (is_ready(of, each, queue) && (next == NULL || key < least)) {
            next = each;
            least = key;
        }
    }
    found->number = of->best;
    if (next != NULL && !next->is_running) {
        found->number = next->number;
        found->is_try = 1;
        found->of = of;
    }
    if (next != NULL || is_running)
        return;
    if (num_ahead == 0)
        end_trial(of);
    for (i = 0; i < of->num_tried && num_ahead > 0; ++i)
        if (of->tried[i].number == of->best && of->tried[i].num_known > 0)
            spare_seconds += share * 1e-9 * expected(&of->tried[i]);
    if (num_ahead == 0 || (!of->is_saved && is_known(of))) {
        of->is_saved = 1;
        save_soon();
    }
}

/* Choose the kernel that a call launches. */
static use use_for(const type *of, const mltune_sgemm_nn_problem *problem, cl_command_queue queue, int chosen)
{
    use found = {0, 0, 0, NULL};
    lesson *known = NULL;
    const char *device;

    found.number = chosen;
    LOCK();
    if (is_unsaved)
        save_soon();
    device = device_of(queue);
    if (device != NULL)
        known = lesson_for(of, device, problem);
    if (device != NULL && known == NULL)
        known = begin_lesson(of, device, problem, chosen);
    if (known != NULL && known->tried == NULL) {
        found.number = known->best;
    } else if (known != NULL) {
        const int has_times = has_profiling(queue);

        if (known->is_warm && has_times) {
            try_next(known, queue, &found);
        } else {
            known->is_warm |= has_times;
            found.number = known->best;
            found.of = known;
        }
    }
    if (found.of != NULL)
        found.builds = !is_built(queue, &of->kernels[found.number]);
    UNLOCK();
    return found;
}

/* Try only the others if the chosen kernel cannot run; the first of them takes its place. */
static void drop_chosen(lesson *of)
{
    int i;

    if (of->num_tried < 2)
        return;
    --of->num_tried;
    for (i = 0; i < of->num_tried; ++i)
        of->tried[i] = of->tried[i + 1];
    of->best = of->tried[0].number;
}

/* Keep the events of a launch until they have its time. Drop a kernel that was not launched, unless no
   other one was launched in its place: then the call was wrong. */
static void watch(const use *used, cl_int status, int begun, cl_event *events, double seconds)
{
    lesson *const of = used->of;
    int i;

    LOCK();
    if (used->builds) { /* its first launch is not timed */
        build_seconds = seconds > build_seconds ? seconds : build_seconds;
        spare_seconds -= used->is_try ? seconds : 0;
    }
    for (i = 0; i < of->num_tried && of->tried != NULL; ++i) {
        contender *const each = &of->tried[i];

        if (each->number != used->number || !used->is_try)
            continue;
        if (status != CL_SUCCESS && i == 0 && cannot_run(status)) {
            drop_chosen(of);
            break;
        }
        if (status != CL_SUCCESS) {
            each->is_out |= i > 0 && begun;
        } else if (!used->builds && !each->is_running && each->num_known < most_tries) {
            each->is_running = 1;
            memcpy(each->running, events, sizeof each->running);
            events[0] = events[1] = NULL;
        }
    }
    UNLOCK();
    release_events(events);
}

/* Whether another kernel may do what this one did not begin: it cannot run on the device, or there is
   not enough memory for its scratch memory. */
static int may_replace(const mltune_sgemm_nn_kernel *written, cl_int status)
{
    return cannot_run(status) ||
           (written->has_scratch && (status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                                     status == CL_INVALID_BUFFER_SIZE));
}

/* Launch the best known kernel for a problem, or one to try. If that fails before its first pass,
   launch the chosen one; if others may replace that, the first one that can, without scratch memory
   once some did not fit. */
static cl_int launch_best(const type *of, const mltune_sgemm_nn_problem *problem, call *given)
{
    const int chosen = select_for(of, problem);
    cl_event events[2] = {NULL, NULL};
    use used = {0, 0, 0, NULL};
    clock_t begun = 0;
    double seconds = 0;
    cl_int status, first;
    int last = chosen, is_short = 0, i;

    used.number = chosen;
    if (learned_file != NULL && given->terms > 0)
        used = use_for(of, problem, given->queue, chosen);
    if (used.builds)
        begun = clock();
    first = status = launch(&of->kernels[used.number], given, used.is_try ? events : NULL);
    if (used.builds)
        seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    if (status != CL_SUCCESS && !given->begun && used.number != chosen)
        status = launch(&of->kernels[chosen], given, NULL);
    for (i = 0; i < of->num_kernels && may_replace(&of->kernels[last], status) && !given->begun;
         ++i) {
        is_short |= !cannot_run(status);
        if (i == chosen || (is_short && of->kernels[i].has_scratch))
            continue;
        last = i;
        status = launch(&of->kernels[i], given, NULL);
    }
    if (used.of != NULL)
        watch(&used, first, given->begun, events, seconds);
    return status;
}

/* Save what is known, also of sizes that still try kernels. */
static void save_all(void)
{
    lesson *each;
    int i;

    for (i = 0; i < num_buckets; ++i) {
        for (each = lessons[i]; each != NULL; each = each->next) {
            if (each->tried == NULL)
                continue;
            read_times(each);
            if (is_known(each))
                each->is_saved = is_unsaved = 1;
        }
    }
    if (is_unsaved)
        save_learned();
    is_unsaved = 0;
}

/* Stop learning, and forget all. */
static void learn_nothing(void)
{
    int i;

    save_all();
    for (i = 0; i < num_buckets; ++i) {
        while (lessons[i] != NULL) {
            lesson *const next = lessons[i]->next;

            end_trial(lessons[i]);
            free(lessons[i]);
            lessons[i] = next;
        }
    }
    while (device_names != NULL) {
        device_name *const next = device_names->next;

        free(device_names);
        device_names = next;
    }
    free(learned_file);
    learned_file = NULL;
}

static int learn(const char *file)
{
    int status = 0;

    LOCK();
    learn_nothing();
    if (file != NULL) {
        learned_file = malloc(strlen(file) + 1);
        if (learned_file != NULL) {
            memcpy(learned_file, file, strlen(file) + 1);
            status = read_learned();
        } else {
            status = -CL_OUT_OF_HOST_MEMORY;
        }
        if (status != 0)
            learn_nothing();
    }
    UNLOCK();
    return status;
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
    const int64_t terms = alpha == 0 ? 0 : k; /* with 0, kernels do not read A and B */
    call given = {queue, &matrix_c, &matrix_a, &matrix_b, terms, problem.batch, &factors[0],
                  &factors[1], sizeof factors[0], num_events, wait_list, event, 0};

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
    if ((num_events == 0) != (wait_list == NULL)) /* not every driver checks it */
        return -CL_INVALID_EVENT_WAIT_LIST;
    if (m == 0 || n == 0 || problem.batch == 0)
        return event == NULL ? 0 : -clEnqueueMarkerWithWaitList(queue, num_events, wait_list, event);
    if (terms > 0 && !inside(&matrix_a, problem.batch, sizeof(cl_float)))
        return -5;
    if (terms > 0 && !inside(&matrix_b, problem.batch, sizeof(cl_float)))
        return -8;
    if (!inside(&matrix_c, problem.batch, sizeof(cl_float)))
        return -12;
    if (kernel >= 0)
        return -launch(&mltune_sgemm_nn_kernels[kernel], &given, NULL);
    return -launch_best(&types[0], &problem, &given);
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
    learn(NULL);
}

int mltune_sgemm_nn_learn(const char *file)
{
    return learn(file);
}
