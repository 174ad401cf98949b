/*
 * Compiles the kernels that mltune_sgemm_nn_to_precompile.h lists, and writes their binaries as C.
 *
 *   precompile FOLDER             for the best device
 *   precompile FOLDER DEVICE      for one with this word in its platform's or its own name
 */

#define _POSIX_C_SOURCE 200112L

#include "mltune_sgemm_nn_binaries.h"
#include "mltune_sgemm_nn_build_options.h"
#include "mltune_sgemm_nn_kernels.h"
#include "mltune_sgemm_nn_to_precompile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, int code)
{
    fprintf(stderr, "precompile: %s (%d)\n", what, code);
    exit(EXIT_FAILURE);
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

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    FILE *file;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        fail("the folder's name is too long", 0);
    file = fopen(path, "w");
    if (file == NULL)
        fail(path, 0);
    return file;
}

static void write_binary(const char *folder, const char *name, const unsigned char *bytes,
                         size_t size)
{
    char file_name[512];
    FILE *file;
    size_t i;

    snprintf(file_name, sizeof file_name, "%s_bin.c", name);
    file = create(folder, file_name);
    fprintf(file, "/* %s, as a driver compiled it */\n", name);
    fprintf(file, "static const unsigned char %s_bin[] = {", name);
    for (i = 0; i < size; ++i)
        fprintf(file, "%s%u,", i % 16 == 0 ? "\n    " : " ", bytes[i]);
    fprintf(file, "\n};\n");
    if (fclose(file) != 0)
        fail(file_name, 0);
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

static void precompile(cl_context context, cl_device_id device, int number, const char *folder)
{
    const mltune_sgemm_nn_kernel *const written = &mltune_sgemm_nn_kernels[number];
    cl_program program;
    const cl_int status = build_program(context, device, written,
                                        mltune_sgemm_nn_build_options_source[number], &program);
    unsigned char *bytes;
    size_t size;

    if (status != CL_SUCCESS)
        fail(mltune_sgemm_nn_kernel_name(number), -status);
    bytes = binary_of(program, 0, &size);
    if (bytes == NULL)
        fail(mltune_sgemm_nn_kernel_name(number), -CL_INVALID_BINARY);
    write_binary(folder, mltune_sgemm_nn_kernel_name(number), bytes, size);
    free(bytes);
    clReleaseProgram(program);
}

int main(int argc, char **argv)
{
    const char *const folder = argc > 1 ? argv[1] : "kernel_binaries";
    const cl_device_id device = find_device(argc > 2 ? argv[2] : NULL);
    char described[512];
    cl_int status;
    const cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    FILE *list;
    int i;

    if (status != CL_SUCCESS)
        fail("cannot use the device", -status);
    mltune_sgemm_nn_describe_device(device, described, sizeof described);
    for (i = 0; i < MLTUNE_SGEMM_NN_NUM_TO_PRECOMPILE; ++i)
        precompile(context, device, mltune_sgemm_nn_to_precompile[i], folder);
    list = create(folder, "precompiled.h");
    fprintf(list, "/* Written by precompile. */\n\n#define PRECOMPILED_DEVICE \"%s\"\n", described);
    for (i = 0; i < MLTUNE_SGEMM_NN_NUM_TO_PRECOMPILE; ++i) {
        const char *const name = mltune_sgemm_nn_kernel_name(mltune_sgemm_nn_to_precompile[i]);

        fprintf(list, "\n#include \"%s_bin.c\"\n", name);
        fprintf(list, "#define %s_BINARY %s_bin\n", name, name);
        fprintf(list, "#define %s_BINARY_SIZE sizeof %s_bin\n", name, name);
    }
    if (fclose(list) != 0)
        fail("precompiled.h", 0);
    clReleaseContext(context);
    printf("%d kernels for %s\n", MLTUNE_SGEMM_NN_NUM_TO_PRECOMPILE, described);
    return EXIT_SUCCESS;
}
