/*
 * ---- The products of a warpgroup, in PTX ----
 *
 * The compiler of OpenCL C does not know these instructions. Here they are comments in the PTX that
 * it writes, and come into force there.
 */

/* The products between BEGIN and END are a group; AWAIT_PRODUCTS(n) waits for all groups but the
   youngest n. Sums and registers of rows must not be touched before. */
#define BEGIN_PRODUCTS() asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory")
#define END_PRODUCTS() asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory")
#define AWAIT_PRODUCTS(n) asm volatile("//@ wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
{% if shows_copies %}

/* What this work-item has copied or written becomes visible to the products, after a barrier. */
#define SHOW_COPIES() asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory")
{% endif %}
