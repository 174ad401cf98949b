/* Makes a call of a library, and prints how many kernels were compiled from their sources.

   To be linked with --wrap=clCreateProgramWithSource. */

#include "mltune.h"

#include <stdio.h>
#include <stdlib.h>

static int compiled = 0;

cl_program __real_clCreateProgramWithSource(cl_context context, cl_uint count,
                                            const char **strings, const size_t *lengths,
                                            cl_int *status);
cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint count,
                                            const char **strings, const size_t *lengths,
                                            cl_int *status);

cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint count,
                                            const char **strings, const size_t *lengths,
                                            cl_int *status)
{
    ++compiled;
    return __real_clCreateProgramWithSource(context, count, strings, lengths, status);
}

int main(void)
{
    enum { n = 8 };
    float numbers[n * n];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem a, c;
    int status, i;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return EXIT_FAILURE;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    for (i = 0; i < n * n; ++i)
        numbers[i] = 1;
    a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, NULL);
    c = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, NULL);
    status = mltune_sgemm('c', 'n', 'n', n, n, n, 1, a, 0, n, a, 0, n, 0, c, 0, n, queue, 0, NULL,
                          NULL);
    clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
    for (i = 0; i < n * n; ++i)
        status += numbers[i] < n || numbers[i] > n;
    printf("%d\n", compiled);
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    mltune_release();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return status;
}
