
/* Read four matrices of 8 x 8 halves; lane 8 m + r says where row r of matrix m is. */
static inline uint4 read_matrices(const __local LOCAL *row)
{
    uint m0, m1, m2, m3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m0), "=r"(m1), "=r"(m2), "=r"(m3) : "r"((uint)row) : "memory");
    return (uint4)(m0, m1, m2, m3);
}

/* The same, with every matrix turned. */
static inline uint4 read_matrices_turned(const __local LOCAL *row)
{
    uint m0, m1, m2, m3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m0), "=r"(m1), "=r"(m2), "=r"(m3) : "r"((uint)row) : "memory");
    return (uint4)(m0, m1, m2, m3);
}
