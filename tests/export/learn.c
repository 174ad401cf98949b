/* Calls a library again and again for one size, and prints the kernel of each call.

   usage: learn FILE CALLS M N K [KERNEL NANOSECONDS]...

   The library learns in FILE. Kernels, named by their last pass, seem to take the times given, or
   1000. Those that are chosen for sizes nearby are built before, unless COLD is in the environment.
   With NO_TIMES there the queue has no profiling. A pass that FAILS names there is not launched.
   With WRONG there a call that waits for an event of another context comes before each call. With LATE
   the first event that is asked for its state seems to have waited for one that failed.
   To be linked with --wrap=NAME for clEnqueueNDRangeKernel, clGetEventInfo, clGetEventProfilingInfo,
   rename, which must find FILE locked, and clock, which stands still. */

#define _POSIX_C_SOURCE 200809L

#include "mltune.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { most_events = 100000 };

static cl_event seen[most_events];
static char names[most_events][256];
static char last[256];
static int num_seen = 0, num_given;
static char **given;
static const char *fails = NULL;
static int is_late;
static cl_event wrong = NULL;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size,
                                      void *value, size_t *size_ret);
cl_int __real_clGetEventInfo(cl_event event, cl_event_info name, size_t size, void *value,
                             size_t *size_ret);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info name, size_t size, void *value,
                             size_t *size_ret);
clock_t __wrap_clock(void);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

/* Another program would save between the reading of FILE and its replacement, if it could. */
int __wrap_rename(const char *from, const char *to)
{
    char path[4096];
    int file;

    snprintf(path, sizeof path, "%s.lock", to);
    file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0)
        puts("not locked");
    close(file);
    return __real_rename(from, to);
}

clock_t __wrap_clock(void)
{
    return 0;
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof last, last, NULL);
    if (fails != NULL && strcmp(fails, last) == 0)
        return CL_OUT_OF_RESOURCES;
    if (num_events > 0 && *wait_list == wrong) /* PoCL 3.1 would wait for it, and so for ever */
        return CL_INVALID_CONTEXT;
    status = __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                           num_events, wait_list, event);
    if (status == CL_SUCCESS && event != NULL && num_seen < most_events) {
        seen[num_seen] = *event;
        strcpy(names[num_seen++], last);
    }
    return status;
}

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info name, size_t size, void *value,
                             size_t *size_ret)
{
    const cl_int late = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

    if (!is_late)
        return __real_clGetEventInfo(event, name, size, value, size_ret);
    is_late = 0;
    memcpy(value, &late, size);
    return CL_SUCCESS;
}

cl_int __wrap_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size,
                                      void *value, size_t *size_ret)
{
    cl_ulong time = 1000;
    int i, j;

    for (i = num_seen - 1; i > 0 && seen[i] != event; --i)
        ;
    for (j = 0; j < num_given; j += 2)
        if (strcmp(given[j], names[i]) == 0)
            time = (cl_ulong)atol(given[j + 1]);
    time = name == CL_PROFILING_COMMAND_START ? 0 : time;
    memcpy(value, &time, size);
    (void)size_ret;
    return CL_SUCCESS;
}

/* Call sizes nearby, half and twice as large, which builds the kernels that are chosen for them. */
static int build_nearby(cl_context context, cl_command_queue queue, int64_t m, int64_t n, int64_t k)
{
    const size_t size = (size_t)(4 * (m * k + k * n + m * n));
    const cl_mem memory =
        clCreateBuffer(context, CL_MEM_READ_WRITE, size * sizeof(float), NULL, NULL);
    const int64_t a[] = {(m + 1) / 2, m, 2 * m}, b[] = {(n + 1) / 2, n, 2 * n},
                  c[] = {(k + 1) / 2, k, 2 * k};
    int status = 0, way;

    for (way = 0; way < 27; ++way) {
        const int64_t rows = a[way / 9], columns = b[way / 3 % 3], terms = c[way % 3];

        status |= mltune_sgemm('c', 'n', 'n', rows, columns, terms, 1, memory, 0, rows, memory,
                               4 * m * k, terms, 0, memory, 4 * (m * k + k * n), rows, queue, 0,
                               NULL, NULL);
    }
    clFinish(queue);
    clReleaseMemObject(memory);
    return status;
}

int main(int argc, char **argv)
{
    const int calls = atoi(argv[2]);
    const int64_t m = atol(argv[3]), n = atol(argv[4]), k = atol(argv[5]);
    const size_t size = (size_t)(m * k + k * n + m * n);
    float *const numbers = malloc(size * sizeof *numbers);
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem memory;
    size_t i;
    int status, call;

    num_given = argc - 6;
    given = argv + 6;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return EXIT_FAILURE;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(
        context, device, getenv("NO_TIMES") == NULL ? CL_QUEUE_PROFILING_ENABLE : 0, NULL);
    if (getenv("COLD") == NULL && build_nearby(context, queue, m, n, k) != 0)
        return EXIT_FAILURE;
    num_seen = 0;
    if (getenv("WRONG") != NULL) {
        const cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);

        wrong = clCreateUserEvent(other, NULL);
        clReleaseContext(other);
    }
    fails = getenv("FAILS");
    is_late = getenv("LATE") != NULL;
    status = mltune_learn(argv[1]);
    for (i = 0; i < size; ++i)
        numbers[i] = 1;
    memory = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, size * sizeof *numbers, numbers, NULL);
    if (status != 0)
        printf("learn: %d\n", status);
    for (call = 0; call < calls && status == 0; ++call) {
        cl_event event;

        if (wrong != NULL &&
            mltune_sgemm('c', 'n', 'n', m, n, k, 1, memory, 0, m, memory, m * k, k, 0, memory,
                         m * k + k * n, m, queue, 1, &wrong, NULL) != -CL_INVALID_CONTEXT)
            puts("not refused");
        status = mltune_sgemm('c', 'n', 'n', m, n, k, 1, memory, 0, m, memory, m * k, k, 0, memory,
                              m * k + k * n, m, queue, 0, NULL, call % 2 ? &event : NULL);
        clFinish(queue);
        if (status == 0 && call % 2)
            clReleaseEvent(event);
        puts(last);
    }
    clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, size * sizeof *numbers, numbers, 0, NULL, NULL);
    for (i = (size_t)(m * k + k * n); i < size && status != -1; ++i)
        status |= numbers[i] < (float)k || numbers[i] > (float)k;
    mltune_release();
    if (wrong != NULL)
        clReleaseEvent(wrong);
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(numbers);
    if (status == -1) /* the file is another program's */
        return EXIT_SUCCESS;
    return status > MLTUNE_BEGUN ? status - MLTUNE_BEGUN : status;
}
