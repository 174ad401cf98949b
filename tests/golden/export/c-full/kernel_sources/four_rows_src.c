/* four_rows */

#ifndef four_rows_SOURCE
#define four_rows_SOURCE source_1
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
#endif
