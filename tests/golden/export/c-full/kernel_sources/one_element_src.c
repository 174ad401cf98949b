/* one_element */

#ifndef one_element_SOURCE
#define one_element_SOURCE source_0
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
#endif
