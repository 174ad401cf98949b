/*
 * ---- The copy engine, in PTX ----
 *
 * One work-item asks it for tiles, which lie in global memory as they will in local memory. Of each
 * buffer, one barrier in local memory counts the bytes that have arrived, another one the warps
 * that have multiplied them. A barrier's phases take turns: even, odd.
 */
{% filter continued %}
#define DECLARE_BUFFERS()
    __local ulong filled[BUFFERS] __attribute__((aligned(8)));
    __local ulong freed[BUFFERS] __attribute__((aligned(8)))
{% endfilter %}

{% filter continued %}
#define PREPARE_BUFFERS()
    do {
        if (item == 0) {
            for (int n = 0; n < BUFFERS; ++n) {
                prepare_barrier(filled + n, 1);
                prepare_barrier(freed + n, THREADS / 32);
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (0)
{% endfilter %}

static inline void prepare_barrier(__local ulong *barrier, const uint arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"((uint)barrier), "r"(arrivals) : "memory");
}

/* Wait for the end of a barrier's phase. */
static inline void await_barrier(__local ulong *barrier, const uint phase)
{
    asm volatile("{\n\t.reg .pred ended;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n\t"
                 "@ended bra over;\n\t"
                 "bra again;\n"
                 "over:\n\t}"
                 :: "r"((uint)barrier), "r"(phase) : "memory");
}

static inline void bring(__local LOCAL *to, const __global LOCAL *from, const uint elements,
                         __local ulong *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];"
                 :: "r"((uint)to), "l"(from), "r"(elements * (uint)sizeof(LOCAL)),
                    "r"((uint)barrier) : "memory");
}

{% if has_scales %}
/* Fill a buffer, and, with the last tiles of a chunk, a slot with the scales behind them; where the
   buffer has been filled before, when all warps have multiplied what was there. */
{% filter continued %}
#define BRING(to_a, a_tile, to_b, b_tile, buffer, again, round, is_last, slot)
    if (item == 0) {
        if (again)
            await_barrier(freed + (buffer), (round) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"((uint)(filled + (buffer))),
                        "r"((A_TILE + B_TILE + ((is_last) ? A_SCALES + B_SCALES : 0)) *
                            (uint)sizeof(LOCAL)) : "memory");
        bring(to_a, a_tile, A_TILE, filled + (buffer));
        bring(to_b, b_tile, B_TILE, filled + (buffer));
        if (is_last) {
            bring(scales_a + (slot) * A_SCALES, a_tile + A_TILE, A_SCALES, filled + (buffer));
            bring(scales_b + (slot) * B_SCALES, b_tile + B_TILE, B_SCALES, filled + (buffer));
        }
    }
{% endfilter %}
{% else %}
/* Fill a buffer; where it has been filled before, when all warps have multiplied what was there. */
{% filter continued %}
#define BRING(to_a, a_tile, elements_a, to_b, b_tile, elements_b, buffer, again, round)
    if (item == 0) {
        if (again)
            await_barrier(freed + (buffer), (round) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"((uint)(filled + (buffer))),
                        "r"(((elements_a) + (elements_b)) * (uint)sizeof(LOCAL)) : "memory");
        bring(to_a, a_tile, elements_a, filled + (buffer));
        bring(to_b, b_tile, elements_b, filled + (buffer));
    }
{% endfilter %}
{% endif %}

#define AWAIT_FILLED(buffer, round) await_barrier(filled + (buffer), round)

{% filter continued %}
#define SET_FREE(buffer)
    if (lane == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     :: "r"((uint)(freed + (buffer))) : "memory")
{% endfilter %}
