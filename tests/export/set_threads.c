/* Eight threads make random calls of a library of several problem types, and check each result.

   usage: set_threads CALLS [FILE]      with a file, they learn: few sizes of sgemm_nn, with times,
                                    half of which the rule gives another kernel

   Numbers are small whole ones, so that all results are exact in every precision, half included. */

#define _POSIX_C_SOURCE 200809L

#include "mltune.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_threads = 8, most_extent = 40, most_terms = 20, most_batch = 3 };

typedef struct worker {
    pthread_t thread;
    cl_context context;
    cl_device_id device;
    unsigned random;
    int calls, learns, wrong;
} worker;

/* A matrix of a batch: `count` runs of `length` numbers, as they lie in memory. */
typedef struct matrix {
    int64_t length, count, offset, ld, stride;
    size_t size;
    int *numbers;
    cl_mem buffer;
} matrix;

static int pick(worker *of, int low, int high)
{
    of->random ^= of->random << 13;
    of->random ^= of->random >> 17;
    of->random ^= of->random << 5;
    return low + (int)(of->random % (unsigned)(high - low + 1));
}

static size_t bytes_of(char precision)
{
    return precision == 'h' ? 2 : precision == 's' ? 4 : 8;
}

static cl_half half_of(int value)
{
    const int size = abs(value);
    int exponent = 0;

    if (value == 0)
        return 0;
    while (size >= 2 << exponent)
        ++exponent;
    return (cl_half)((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                     ((size << (10 - exponent)) & 1023));
}

/* Zero may have either sign. */
static int is(char precision, const void *memory, size_t place, int value)
{
    if (precision == 's')
        return ((const float *)memory)[place] == (float)value;
    if (precision == 'd')
        return ((const double *)memory)[place] == value;
    return ((const cl_half *)memory)[place] == half_of(value) ||
           (value == 0 && ((const cl_half *)memory)[place] == 0x8000);
}

static void put(char precision, void *memory, size_t place, int value)
{
    if (precision == 'h')
        ((cl_half *)memory)[place] = half_of(value);
    else if (precision == 's')
        ((float *)memory)[place] = (float)value;
    else
        ((double *)memory)[place] = value;
}

static matrix make(worker *of, char precision, int64_t length, int64_t count, int64_t batch)
{
    matrix made = {length, count, pick(of, 0, 3), 0, 0, 0, NULL, NULL};
    void *memory;
    size_t i;

    made.ld = length + pick(of, 0, 2);
    made.stride = made.ld * count + pick(of, 0, 3);
    made.size = (size_t)(made.offset + made.stride * batch);
    made.numbers = calloc(made.size, sizeof *made.numbers);
    memory = calloc(made.size, bytes_of(precision));
    for (i = 0; i < made.size; ++i) {
        made.numbers[i] = pick(of, -2, 2);
        put(precision, memory, i, made.numbers[i]);
    }
    made.buffer = clCreateBuffer(of->context, CL_MEM_COPY_HOST_PTR,
                                 made.size * bytes_of(precision), memory, NULL);
    free(memory);
    return made;
}

/* Where the number of a row and a column lies. */
static size_t at(const matrix *x, int along, int64_t row, int64_t column, int64_t number)
{
    const int64_t run = along ? column : row, place = along ? row : column;

    return (size_t)(x->offset + number * x->stride + run * x->ld + place);
}

static int is_right(char precision, const matrix *a, const matrix *b, const matrix *c,
                    const int *along, const int64_t *sizes, const int *factors, const void *found)
{
    int *expected = malloc(c->size * sizeof *expected);
    int64_t i, j, l, z;
    size_t place;
    int right = 1;

    memcpy(expected, c->numbers, c->size * sizeof *expected);
    for (z = 0; z < sizes[3]; ++z)
        for (i = 0; i < sizes[0]; ++i)
            for (j = 0; j < sizes[1]; ++j) {
                int sum = 0;

                for (l = 0; l < sizes[2]; ++l)
                    sum += a->numbers[at(a, along[0], i, l, z)] * b->numbers[at(b, along[1], l, j, z)];
                place = at(c, along[2], i, j, z);
                expected[place] = factors[0] * sum + factors[1] * c->numbers[place];
            }
    for (place = 0; place < c->size; ++place)
        right &= is(precision, found, place, expected[place]);
    free(expected);
    return right;
}

static int one_call(worker *of, cl_command_queue queue)
{
    const char precision = "sdh"[pick(of, 0, of->learns ? 0 : 2)], order = "cr"[pick(of, 0, 1)];
    const int most = of->learns ? 0 : 1;
    const char trans_a = "nt"[pick(of, 0, most)], trans_b = "nt"[pick(of, 0, most)];
    const int least[] = {of->learns ? most_extent - 1 : 1, of->learns ? most_terms - 1 : 1};
    const int64_t sizes[] = {pick(of, least[0], most_extent), pick(of, least[0], most_extent),
                             pick(of, least[1], most_terms) << (of->learns ? pick(of, 0, 1) : 0),
                             pick(of, 0, 3) ? 1 : most_batch};
    const int factors[] = {pick(of, -2, 2), pick(of, 0, 1)};
    const int row = order == 'r';
    const int along[] = {(trans_a == 'n') != row, (trans_b == 'n') != row, !row};
    const float singles[] = {(float)factors[0], (float)factors[1]};
    const double wide[] = {factors[0], factors[1]};
    const void *const alpha = precision == 'd' ? (const void *)&wide[0] : &singles[0];
    const void *const beta = precision == 'd' ? (const void *)&wide[1] : &singles[1];
    matrix a = make(of, precision, along[0] ? sizes[0] : sizes[2], along[0] ? sizes[2] : sizes[0],
                    sizes[3]);
    matrix b = make(of, precision, along[1] ? sizes[2] : sizes[1], along[1] ? sizes[1] : sizes[2],
                    sizes[3]);
    matrix c = make(of, precision, along[2] ? sizes[0] : sizes[1], along[2] ? sizes[1] : sizes[0],
                    sizes[3]);
    void *found = malloc(c.size * bytes_of(precision));
    int right = mltune_gemm(precision, order, trans_a, trans_b, sizes[0], sizes[1], sizes[2],
                            sizes[3], alpha, a.buffer, a.offset, a.ld, a.stride, b.buffer,
                            b.offset, b.ld, b.stride, beta, c.buffer, c.offset, c.ld, c.stride,
                            queue, 0, NULL, NULL) == 0;

    right = right && clEnqueueReadBuffer(queue, c.buffer, CL_TRUE, 0, c.size * bytes_of(precision),
                                         found, 0, NULL, NULL) == CL_SUCCESS;
    right = right && is_right(precision, &a, &b, &c, along, sizes, factors, found);
    if (!right)
        fprintf(stderr, "wrong: %cgemm %c%c %c %dx%dx%dx%d\n", precision, trans_a, trans_b, order,
                (int)sizes[0], (int)sizes[1], (int)sizes[2], (int)sizes[3]);
    free(found);
    clReleaseMemObject(a.buffer);
    clReleaseMemObject(b.buffer);
    clReleaseMemObject(c.buffer);
    free(a.numbers);
    free(b.numbers);
    free(c.numbers);
    return right;
}

static void *work(void *given)
{
    worker *const of = given;
    const cl_command_queue queue = clCreateCommandQueue(
        of->context, of->device, of->learns ? CL_QUEUE_PROFILING_ENABLE : 0, NULL);
    int i;

    for (i = 0; i < of->calls; ++i)
        of->wrong += !one_call(of, queue);
    clReleaseCommandQueue(queue);
    return NULL;
}

int main(int argc, char **argv)
{
    const int calls = argc > 1 ? atoi(argv[1]) : 2000;
    worker workers[num_threads];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    int wrong = 0, i;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return EXIT_FAILURE;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    if (argc > 2 && mltune_learn(argv[2]) != 0)
        return EXIT_FAILURE;
    for (i = 0; i < num_threads; ++i) {
        const worker made = {0, context, device, (unsigned)(2463534242u + 7919u * (unsigned)i),
                             calls / num_threads, argc > 2, 0};

        workers[i] = made;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return EXIT_FAILURE;
    }
    for (i = 0; i < num_threads; ++i) {
        pthread_join(workers[i].thread, NULL);
        wrong += workers[i].wrong;
    }
    mltune_release();
    clReleaseContext(context);
    printf("%d of %d calls wrong\n", wrong, calls / num_threads * num_threads);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
