/*
 * Multiplies random matrices with mltune and checks each result against a plain triple loop.
 *
 *   example [-d DEVICE] [M N K [BATCH]]
 *
 * Without a size it does so for several, with every problem type in both orders. It prints size,
 * kernel and speed. DEVICE is a part of a platform's or device's name; left out, the first GPU is
 * used, or else the first device.
 */

#define _POSIX_C_SOURCE 200112L

#include "mltune.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS 3

static const char usage[] = "usage: example [-d DEVICE] [M N K [BATCH]]\n";

/* What is multiplied: as in mltune_gemm, and matrices packed. */
typedef struct job {
    char precision, order, trans_a, trans_b;
    int64_t m, n, k, batch;
    void *a, *b, *c, *result;
} job;

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

/* The half precision number nearest to a number; of two that are as near, the even one. */
static cl_half to_half(float number)
{
    union {
        float value;
        uint32_t bits;
    } x;
    uint32_t sign;

    x.value = number;
    sign = x.bits >> 16 & 0x8000u;
    x.bits &= 0x7fffffffu;
    if (x.bits > 0x7f800000u) /* not a number */
        return (cl_half)(sign | 0x7e00u);
    if (x.bits >= 0x477ff000u) /* 65520 and more: infinity */
        return (cl_half)(sign | 0x7c00u);
    if (x.bits < 0x38800000u) { /* below 2^-14 it is a multiple of 2^-24, as around a half */
        x.value += 0.5f;
        return (cl_half)(sign | (x.bits - 0x3f000000u));
    }
    x.bits += 0xc8000fffu + (x.bits >> 13 & 1); /* the exponent less 112, and what rounds */
    return (cl_half)(sign | x.bits >> 13);
}

static double from_half(cl_half bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;

    if (exponent == 31)
        value = fraction == 0 ? HUGE_VAL : NAN;
    else
        value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -value : value;
}

static size_t bytes_of(char precision)
{
    return precision == 'h' ? 2 : precision == 's' ? 4 : precision == 'z' ? 16 : 8;
}

/* An element of any precision. */
typedef struct value {
    double re, im;
} value;

static value element(char precision, const void *memory, int64_t place)
{
    value found = {0, 0};

    if (precision == 'h') {
        found.re = from_half(((const cl_half *)memory)[place]);
    } else if (precision == 's') {
        found.re = ((const float *)memory)[place];
    } else if (precision == 'd') {
        found.re = ((const double *)memory)[place];
    } else if (precision == 'c') {
        found.re = ((const float *)memory)[2 * place];
        found.im = ((const float *)memory)[2 * place + 1];
    } else {
        found.re = ((const double *)memory)[2 * place];
        found.im = ((const double *)memory)[2 * place + 1];
    }
    return found;
}

static double part(void)
{
    return (double)rand() / RAND_MAX - 0.5;
}

static void *random_matrix(char precision, int64_t size)
{
    const int64_t parts = precision == 'c' || precision == 'z' ? 2 * size : size;
    void *const memory = calloc((size_t)size + 1, bytes_of(precision));
    int64_t i;

    if (memory == NULL)
        fail("out of memory", CL_OUT_OF_HOST_MEMORY);
    for (i = 0; i < parts; ++i) {
        if (precision == 'h')
            ((cl_half *)memory)[i] = to_half((float)part());
        else if (precision == 's' || precision == 'c')
            ((float *)memory)[i] = (float)part();
        else
            ((double *)memory)[i] = part();
    }
    return memory;
}

static cl_mem buffer_of(cl_context context, char precision, int64_t size, void *memory)
{
    cl_int status;
    const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                         (size_t)(size + 1) * bytes_of(precision), memory, &status);

    if (status != CL_SUCCESS)
        fail("cannot create a buffer", status);
    return buffer;
}

/* Where an element of a matrix is that has so many rows and columns. */
static int64_t place_of(int64_t row, int64_t column, int64_t rows, int64_t columns, int row_major)
{
    return row_major ? row * columns + column : row + column * rows;
}

static value operand(const job *of, char trans, const void *memory, int64_t row, int64_t column,
                     int64_t rows, int64_t columns)
{
    const int row_major = of->order == 'r';
    const int64_t place = trans == 'n' ? place_of(row, column, rows, columns, row_major)
                                       : place_of(column, row, columns, rows, row_major);
    value found = element(of->precision, memory, place);

    if (trans == 'c')
        found.im = -found.im;
    return found;
}

/* Compute the result on the device, and the seconds of the fastest of some calls. */
static double compute(cl_command_queue queue, cl_context context, const job *of,
                      const void *alpha, const void *beta)
{
    const int64_t m = of->m, n = of->n, k = of->k;
    const int row = of->order == 'r';
    const size_t bytes = (size_t)(m * n * of->batch) * bytes_of(of->precision);
    const cl_mem a = buffer_of(context, of->precision, m * k * of->batch, of->a);
    const cl_mem b = buffer_of(context, of->precision, k * n * of->batch, of->b);
    double best = HUGE_VAL;
    int repeat;

    for (repeat = 0; repeat <= REPEATS; ++repeat) { /* the first call builds the kernel */
        const cl_mem c = buffer_of(context, of->precision, m * n * of->batch, of->c);
        const double start = now_seconds();
        const int status = mltune_gemm(
            of->precision, of->order, of->trans_a, of->trans_b, m, n, k, of->batch, alpha, a, 0,
            (of->trans_a == 'n') != row ? m : k, m * k, b, 0, (of->trans_b == 'n') != row ? k : n,
            k * n, beta, c, 0, row ? n : m, m * n, queue, 0, NULL, NULL);
        double elapsed;

        if (status != 0)
            fail("mltune_gemm failed", status);
        clFinish(queue);
        elapsed = now_seconds() - start;
        if (repeat > 0 && elapsed < best)
            best = elapsed;
        clEnqueueReadBuffer(queue, c, CL_TRUE, 0, bytes, of->result, 0, NULL, NULL);
        clReleaseMemObject(c);
    }
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    return best;
}

/* Whether the result is that of a triple loop, within what rounding may change. */
static int is_right(const job *of, double alpha, double beta)
{
    const int64_t m = of->m, n = of->n, k = of->k;
    const int wide = of->precision == 'd' || of->precision == 'z';
    const double epsilon = 2 * (double)(k + 4) * (wide ? DBL_EPSILON : FLT_EPSILON) +
                           (of->precision == 'h' ? ldexp(1, -10) : 0);
    int64_t batch, i, j, l;

    for (batch = 0; batch < of->batch; ++batch) {
        const char *const a = (const char *)of->a + (size_t)(batch * m * k) * bytes_of(of->precision);
        const char *const b = (const char *)of->b + (size_t)(batch * k * n) * bytes_of(of->precision);

        for (j = 0; j < n; ++j) {
            for (i = 0; i < m; ++i) {
                const int64_t place = batch * m * n + place_of(i, j, m, n, of->order == 'r');
                const value old = element(of->precision, of->c, place);
                const value found = element(of->precision, of->result, place);
                value sum = {0, 0};
                double magnitude = 0;

                for (l = 0; l < k; ++l) {
                    const value x = operand(of, of->trans_a, a, i, l, m, k);
                    const value y = operand(of, of->trans_b, b, l, j, k, n);

                    sum.re += x.re * y.re - x.im * y.im;
                    sum.im += x.re * y.im + x.im * y.re;
                    magnitude += hypot(x.re, x.im) * hypot(y.re, y.im);
                }
                magnitude = fabs(alpha) * magnitude + fabs(beta) * hypot(old.re, old.im) +
                            ldexp(1, -14);
                /* Written so that a NaN is wrong. */
                if (!(hypot(found.re - beta * old.re - alpha * sum.re,
                            found.im - beta * old.im - alpha * sum.im) <= magnitude * epsilon))
                    return 0;
            }
        }
    }
    return 1;
}

/* Do one size; return whether it was right. */
static int run(cl_command_queue queue, cl_context context, job of)
{
    static const double wide[2][2] = {{1.5, 0}, {-0.5, 0}};
    static const float single[2][2] = {{1.5f, 0}, {-0.5f, 0}};
    const int is_wide = of.precision == 'd' || of.precision == 'z';
    const double work = (of.precision == 'c' || of.precision == 'z' ? 8e-9 : 2e-9) *
                        (double)of.m * (double)of.n * (double)of.k * (double)of.batch;
    double seconds;
    int right;

    of.a = random_matrix(of.precision, of.m * of.k * of.batch);
    of.b = random_matrix(of.precision, of.k * of.n * of.batch);
    of.c = random_matrix(of.precision, of.m * of.n * of.batch);
    of.result = random_matrix(of.precision, of.m * of.n * of.batch);
    seconds = is_wide ? compute(queue, context, &of, wide[0], wide[1])
                      : compute(queue, context, &of, single[0], single[1]);
    right = is_right(&of, 1.5, -0.5);
    printf("%cgemm %c%c %s-major %dx%dx%dx%d  %9.3f GFLOP/s  %s  %s\n", of.precision, of.trans_a,
           of.trans_b, of.order == 'r' ? "row" : "column", (int)of.m, (int)of.n, (int)of.k,
           (int)of.batch, work / seconds, right ? "right" : "WRONG",
           mltune_kernel_for(of.precision, of.order, of.trans_a, of.trans_b, of.m, of.n, of.k,
                             of.batch, NULL));
    free(of.a);
    free(of.b);
    free(of.c);
    free(of.result);
    return right;
}

/* What a problem type's name says, such as dgemm_tn_row_batched. */
static job job_of(const char *type)
{
    const job of = {type[0], strstr(type, "_row") != NULL ? 'r' : 'c', type[6], type[7], 0, 0, 0,
                    strstr(type, "_batched") != NULL ? 3 : 1, NULL, NULL, NULL, NULL};

    return of;
}

int main(int argc, char **argv)
{
    static const int64_t checked[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 100, 257}, {64, 64, 64}};
    const char *const wanted = argc > 2 && strcmp(argv[1], "-d") == 0 ? argv[2] : NULL;
    const int first = wanted == NULL ? 1 : 3, given = argc - first;
    const int num_sizes = given == 0 ? (int)(sizeof checked / sizeof checked[0]) : 1;
    cl_context context;
    const cl_command_queue queue = make_queue(wanted, &context);
    int64_t sizes[4] = {0, 0, 0, 0};
    int right = 1, number, i, turned;

    if (given != 0 && given != 3 && given != 4)
        show_usage();
    for (i = 0; i < given; ++i)
        sizes[i] = positive(argv[first + i]);
    for (number = 0; number < mltune_num_types(); ++number) {
        for (i = 0; i < num_sizes; ++i) {
            for (turned = 0; turned < 2; ++turned) {
                job of = job_of(mltune_type(number));

                of.m = given == 0 ? checked[i][0] : sizes[0];
                of.n = given == 0 ? checked[i][1] : sizes[1];
                of.k = given == 0 ? checked[i][2] : sizes[2];
                of.batch = given == 4 ? sizes[3] : of.batch;
                if (turned) { /* the other order, which A and B serve in each other's place */
                    const char trans = of.trans_a;

                    of.order = of.order == 'r' ? 'c' : 'r';
                    of.trans_a = of.trans_b;
                    of.trans_b = trans;
                }
                right &= run(queue, context, of);
            }
        }
    }
    mltune_release();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
