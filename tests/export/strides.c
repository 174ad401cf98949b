/* Makes a batch of zeros without A and B, whose strides do not count then. */

#include "mltune.h"

int main(void)
{
    enum { n = 4, batch = 3, count = n * n * batch };
    float numbers[count];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem c;
    int status, i;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    for (i = 0; i < count; ++i)
        numbers[i] = 1;
    c = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, NULL);
    status = mltune_sgemm_batched('c', 'n', 'n', n, n, n, batch, 0, c, 0, n, INT64_MAX, c, 0, n,
                                  INT64_MAX, 0, c, 0, n, n * n, queue, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL);
    for (i = 0; i < count; ++i)
        status |= numbers[i] < 0 || numbers[i] > 0;
    clReleaseMemObject(c);
    mltune_release();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return status;
}
