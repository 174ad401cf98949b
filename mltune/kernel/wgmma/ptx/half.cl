/* Where an operand begins in local memory, and how it goes on: rows of 128 bytes, 8 of them in 1024
   bytes, their chunks in changed places (mode 1); `panel` bytes between neighbouring panels. */
static inline ulong descriptor(const __local LOCAL *first, const uint panel)
{
    return ((uint)first & 0x3ffff) >> 4 | (ulong)(panel >> 4) << 16 | (ulong)(1024 >> 4) << 32
           | 1ul << 62;
}

/* Add the products of 64 rows of j with $columns columns of i, over 16 terms, to a warpgroup's sums. */
#define MULTIPLY(sum, tile_b, first_b, tile_a, first_a)                                          \
    asm volatile("//@ wgmma.mma_async.sync.aligned.m64n${columns}k16.f32.f16.f16 {" \
        "$sums}, " \
        "$descriptor_b, $descriptor_a, 1, 1, 1, $turned_b, $turned_a;" \
        : $ties \
        : "l"(descriptor((tile_b) + (first_b), B_FREE_IS_CONTIGUOUS ? B_PANEL * 2 : 16)),        \
          "l"(descriptor((tile_a) + (first_a), A_FREE_IS_CONTIGUOUS ? A_PANEL * 2 : 16)))
