/* The row for an element along the free index. Those that neighbouring work-items read together lie
   side by side, what one of them reads in turn WG${d} rows apart. */
#define ${X}_ROW(free) ((free) % ${W} * (${X}_FREE / ${W}) + (free) / ${W})
#define ${X}_PLACE(row, l) ((row) * ${X}_PITCH + ${column})

/* Write it into the local tile. */
static inline void deposit_$x(__local TYPE *tile, ${X}_VECTOR vector, const uint item, const int n)
{
    const uint along = ${X}_ALONG(n), across = ${X}_ACROSS(n);
    const ${X}_VECTOR value = ${X}_CONJUGATE(vector);
    ${X}_WRITE(value, tile + ${X}_PLACE(${X}_ROW(across), along));
}
