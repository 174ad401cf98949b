/* Lets launches of kernels fail after the next `launches_left`, unless that is negative, with
   `launch_error`: all of them, or `failures_left`.

   To be linked with --wrap=clEnqueueNDRangeKernel. */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

int launches_left = -1;
int failures_left = -1;
int launch_error = CL_OUT_OF_RESOURCES;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_events,
                                     const cl_event *wait_list, cl_event *event)
{
    if (launches_left == 0 && failures_left != 0) {
        failures_left -= failures_left > 0;
        return launch_error;
    }
    launches_left -= launches_left > 0;
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                         num_events, wait_list, event);
}
