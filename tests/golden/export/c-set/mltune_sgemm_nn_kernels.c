/* mltune_set_sgemm_nn: the kernels' sources and launch geometry. */

#include "mltune_kernels.h"

/* one_element */
static const char *source_0[] = {
    "/* Every work-item computes one element of C. */\n",
    "__kernel void one_element(__global float *c, const __global float *a, const __global float *b,\n",
    "                          const float alpha, const float beta,\n",
    "                          const uint size_i, const uint size_j, const uint size_l,\n",
    "                          const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,\n",
    "                          const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,\n",
    "                          const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)\n",
    "{\n",
    "    const uint i = get_global_id(0), j = get_global_id(1);\n",
    "    float sum = 0;\n",
    "\n",
    "    if (i >= size_i || j >= size_j)\n",
    "        return;\n",
    "    for (uint l = 0; l < size_l; ++l)\n",
    "        sum += a[offset_a + i + l * ld_a] * b[offset_b + l + j * ld_b];\n",
    "    c += offset_c + i + j * ld_c;\n",
    "    *c = alpha * sum + (beta == 0 \? 0 : beta * *c);\n",
    "}\n",
};

/* four_rows */
static const char *source_1[] = {
    "/* Every work-item computes four elements of a column of C, which share the elements of B. */\n",
    "__kernel void four_rows(__global float *c, const __global float *a, const __global float *b,\n",
    "                        const float alpha, const float beta,\n",
    "                        const uint size_i, const uint size_j, const uint size_l,\n",
    "                        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,\n",
    "                        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,\n",
    "                        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)\n",
    "{\n",
    "    const uint first = 4 * get_global_id(0), j = get_global_id(1);\n",
    "    const uint end = min(first + 4, size_i);\n",
    "    float sum[4] = {0, 0, 0, 0};\n",
    "\n",
    "    if (j >= size_j)\n",
    "        return;\n",
    "    for (uint l = 0; l < size_l; ++l)\n",
    "        for (uint i = first; i < end; ++i)\n",
    "            sum[i - first] += a[offset_a + i + l * ld_a] * b[offset_b + l + j * ld_b];\n",
    "    c += offset_c + j * ld_c;\n",
    "    for (uint i = first; i < end; ++i)\n",
    "        c[i] = alpha * sum[i - first] + (beta == 0 \? 0 : beta * c[i]);\n",
    "}\n",
};

static const mltune_pass passes_0[] = {
    {"one_element", {8, 8, 1}},
};
static void compute_0(const mltune_extents *of, mltune_launch *launch)
{
    launch->global[0][0] = product(cover(of->rows, 8), 8);
    launch->global[0][1] = product(cover(of->columns, 8), 8);
    launch->global[0][2] = of->batch;
    launch->scratch_bytes = 0;
    launch->counter_bytes = 0;
}

static const mltune_pass passes_1[] = {
    {"four_rows", {8, 8, 1}},
};
static void compute_1(const mltune_extents *of, mltune_launch *launch)
{
    launch->global[0][0] = product(cover(of->rows, 32), 8);
    launch->global[0][1] = product(cover(of->columns, 8), 8);
    launch->global[0][2] = of->batch;
    launch->scratch_bytes = 0;
    launch->counter_bytes = 0;
}

const mltune_kernel mltune_set_sgemm_nn_kernels[] = {
    {source_0, sizeof source_0 / sizeof source_0[0],
     "-cl-std=CL1.2 -w",
     passes_0, 1, 0, 0, 0, compute_0},
    {source_1, sizeof source_1 / sizeof source_1[0],
     "-cl-std=CL1.2 -w",
     passes_1, 1, 0, 0, 0, compute_1},
};
