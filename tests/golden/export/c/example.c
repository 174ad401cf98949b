/*
 * Multiplies random or given matrices with mltune_sgemm_nn.
 *
 *   example [-d DEVICE] [M N K [A B C [ALPHA BETA]]]
 *
 * Without files it checks the result against a plain triple loop and prints size, kernel and
 * speed; without a size it does so for several. With files of raw floats it reads A, B and C,
 * packed, and writes the new C. DEVICE is a part of a platform's or device's name; left out, the
 * first GPU is used, or else the first device.
 */

#define _POSIX_C_SOURCE 200112L

#include "mltune_sgemm_nn.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS 5

static const char usage[] =
    "usage: example [-d DEVICE] [M N K [A B C [ALPHA BETA]]]\n";

typedef float element;
typedef float factor;

typedef struct matrices {
    size_t size_a, size_b, size_c; /* elements */
    element *a, *b, *c, *result;
} matrices;

static void fail(const char *what, int code)
{
    fprintf(stderr, "example: %s (%d)\n", what, code);
    exit(EXIT_FAILURE);
}

static void show_usage(void)
{
    fputs(usage, stderr);
    exit(EXIT_FAILURE);
}

/* The positive number that an argument is; ends the program if it is none. */
static int64_t positive(const char *argument)
{
    char *end;
    const long number = strtol(argument, &end, 10);

    if (*end != '\0' || number < 1)
        show_usage();
    return number;
}

static double now_seconds(void)
{
    struct timespec time;

#ifdef _WIN32
    timespec_get(&time, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* How well a device fits what was asked for: 0 not at all, more is better. */
static int fitness(cl_platform_id platform, cl_device_id device, const char *wanted)
{
    char platform_name[256] = "", device_name[256] = "";
    cl_device_type type = 0;

    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name - 1, device_name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (wanted != NULL)
        return strstr(platform_name, wanted) != NULL || strstr(device_name, wanted) != NULL;
    if (type & CL_DEVICE_TYPE_GPU)
        return 3;
    return strstr(platform_name, "Oclgrind") == NULL ? 2 : 1; /* a debugger comes last */
}

static cl_device_id find_device(const char *wanted)
{
    cl_platform_id platforms[16];
    cl_device_id best = NULL;
    cl_uint num_platforms = 0, p, d;
    int best_fitness = 0;

    clGetPlatformIDs(16, platforms, &num_platforms);
    for (p = 0; p < num_platforms && p < 16; ++p) {
        cl_device_id devices[16];
        cl_uint num_devices = 0;

        clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &num_devices);
        for (d = 0; d < num_devices && d < 16; ++d) {
            const int its_fitness = fitness(platforms[p], devices[d], wanted);

            if (its_fitness > best_fitness) {
                best = devices[d];
                best_fitness = its_fitness;
            }
        }
    }
    if (best == NULL)
        fail("no such OpenCL device: see README.md", CL_DEVICE_NOT_FOUND);
    return best;
}

/* Make a context and a queue for the best device, or for the one that is wanted. */
static cl_command_queue make_queue(const char *wanted, cl_context *context)
{
    const cl_device_id device = find_device(wanted);
    cl_command_queue queue;
    cl_int status;

    *context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status != CL_SUCCESS)
        fail("cannot create a context", status);
    queue = clCreateCommandQueue(*context, device, 0, &status);
    if (status != CL_SUCCESS)
        fail("cannot create a queue", status);
    return queue;
}

static float random_part(void)
{
    return (float)rand() / (float)RAND_MAX - (float)0.5;
}

static element *allocate(size_t size)
{
    element *const memory = calloc(size + 1, sizeof *memory); /* + 1, as calloc(0) may return NULL */

    if (memory == NULL)
        fail("out of memory", CL_OUT_OF_HOST_MEMORY);
    return memory;
}

static void fill(element *memory, size_t size, const char *file_name)
{
    FILE *file;
    size_t i;

    if (file_name == NULL) {
        for (i = 0; i < size; ++i)
            memory[i] = random_part();
        return;
    }
    file = fopen(file_name, "rb");
    if (file == NULL || fread(memory, sizeof *memory, size, file) != size)
        fail(file_name, CL_INVALID_VALUE);
    fclose(file);
}

static void save(const element *memory, size_t size, const char *file_name)
{
    FILE *const file = fopen(file_name, "wb");

    if (file == NULL || fwrite(memory, sizeof *memory, size, file) != size || fclose(file) != 0)
        fail(file_name, CL_INVALID_VALUE);
}

static cl_mem buffer_of(cl_context context, size_t size, element *memory)
{
    cl_int status;
    const cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       (size + 1) * sizeof *memory, memory, &status);

    if (status != CL_SUCCESS)
        fail("cannot create a buffer", status);
    return buffer;
}

/* Compute the result on the device, and return the seconds of the fastest call. */
static double compute(cl_command_queue queue, cl_context context, const mltune_sgemm_nn_problem *problem,
                      matrices *data, factor alpha, factor beta)
{
    const int64_t m = problem->m;
    const int64_t n = problem->n;
    const int64_t k = problem->k;
    const cl_mem a = buffer_of(context, data->size_a, data->a);
    const cl_mem b = buffer_of(context, data->size_b, data->b);
    double best = HUGE_VAL;
    int repeat;

    for (repeat = 0; repeat <= REPEATS; ++repeat) { /* the first call builds the kernel */
        const cl_mem c = buffer_of(context, data->size_c, data->c);
        const double start = now_seconds();
        const int status = mltune_sgemm_nn(
                m, n, k, alpha, a, 0, m, b, 0, k, beta, c, 0, m, queue, 0, NULL, NULL);
        double elapsed;

        if (status != 0)
            fail("mltune_sgemm_nn failed", status);
        clFinish(queue);
        elapsed = now_seconds() - start;
        if (repeat > 0 && elapsed < best)
            best = elapsed;
        clEnqueueReadBuffer(queue, c, CL_TRUE, 0, data->size_c * sizeof *data->result,
                            data->result, 0, NULL, NULL);
        clReleaseMemObject(c);
    }
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    return best;
}

/* Whether the result is that of a triple loop, within a bound on rounding errors. */
static int is_right(const mltune_sgemm_nn_problem *problem, const matrices *data, factor alpha,
                    factor beta)
{
    const int64_t m = problem->m;
    const int64_t n = problem->n;
    const int64_t k = problem->k;
    int64_t batch, i, j, l;

    for (batch = 0; batch < problem->batch; ++batch) {
        const element *const a = data->a + batch * m * k;
        const element *const b = data->b + batch * k * n;

        for (j = 0; j < n; ++j) {
            for (i = 0; i < m; ++i) {
                const int64_t place = batch * m * n + i + j * m;
                double sum = 0, expected;
                double magnitude = 0, bound;

                for (l = 0; l < k; ++l) {
                    const double term = (double)(a[i + l * m]) * (double)(b[l + j * k]);

                    sum += term;
                    magnitude += fabs(term);
                }
                expected = (double)beta * (double)(data->c[place]);
                bound = fabs((double)alpha) * magnitude + fabs(expected);
                expected += (double)alpha * sum;
                bound *= (double)(k + 4) * FLT_EPSILON;
                /* Written so that a NaN is wrong. */
                if (!(fabs((double)(data->result[place]) - expected) <= bound))
                    return 0;
            }
        }
    }
    return 1;
}

/* Compute one size; return whether it was right, or was saved. */
static int run(cl_command_queue queue, cl_context context, const mltune_sgemm_nn_problem *problem,
               char **files, factor alpha, factor beta)
{
    const size_t m = (size_t)problem->m, n = (size_t)problem->n, k = (size_t)problem->k;
    const size_t batch = (size_t)problem->batch;
    const int kernel = mltune_sgemm_nn_select(problem);
    matrices data;
    double seconds;
    int right = 1;

    data.size_a = batch * m * k;
    data.size_b = batch * k * n;
    data.size_c = batch * m * n;
    data.a = allocate(data.size_a);
    data.b = allocate(data.size_b);
    data.c = allocate(data.size_c);
    data.result = allocate(data.size_c);
    fill(data.a, data.size_a, files == NULL ? NULL : files[0]);
    fill(data.b, data.size_b, files == NULL ? NULL : files[1]);
    fill(data.c, data.size_c, files == NULL ? NULL : files[2]);
    seconds = compute(queue, context, problem, &data, alpha, beta);
    if (files != NULL)
        save(data.result, data.size_c, files[2]);
    else
        right = is_right(problem, &data, alpha, beta);
    printf("%dx%dx%dx%d  %9.3f GFLOP/s  %s  kernel %d %s\n", (int)m, (int)n, (int)k, (int)batch,
           2e-9 * (double)m * (double)n * (double)k * (double)batch / seconds,
           right ? "right" : "WRONG", kernel, mltune_sgemm_nn_kernel_name(kernel));
    free(data.a);
    free(data.b);
    free(data.c);
    free(data.result);
    return right;
}

int main(int argc, char **argv)
{
    static const mltune_sgemm_nn_problem checked[] = {
        {1, 1, 1, 1},
        {7, 5, 3, 1},
        {33, 100, 257, 1},
        {64, 64, 64, 1},
        {256, 192, 128, 1},
    };
    const char *const wanted = argc > 2 && strcmp(argv[1], "-d") == 0 ? argv[2] : NULL;
    const int first = wanted == NULL ? 1 : 3, given = argc - first;
    cl_context context;
    const cl_command_queue queue = make_queue(wanted, &context);
    int right = 1;

    if (given == 0) {
        size_t i;

        for (i = 0; i < sizeof checked / sizeof checked[0]; ++i)
            right &= run(queue, context, &checked[i], NULL, (factor)1.5, (factor)-0.5);
    } else if (given == 3 || given == 3 + 3 || given == 3 + 5) {
        char **const sizes = argv + first, **const files = sizes + 3;
        const mltune_sgemm_nn_problem problem = {positive(sizes[0]), positive(sizes[1]), positive(sizes[2]), 1};
        const int scaled = given == 3 + 5;

        right = run(queue, context, &problem, given == 3 ? NULL : files,
                    scaled ? (factor)atof(files[3]) : 1, scaled ? (factor)atof(files[4]) : 0);
    } else {
        show_usage();
    }
    mltune_sgemm_nn_release();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
