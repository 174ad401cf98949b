{# Load B for a sub-group from global memory to registers, and broadcast it. #}
/*
 * ---- B: from global memory to the registers of a sub-group ----
 *
 * The work-items of a sub-group multiply the same TT1 columns. What they need of these for one
 * step is numbered the way memory runs; each reads every SUB_GROUP_SIZE-th number and broadcasts it.
 */
{% if b.free_is_contiguous %}
#define B_TERM(n) ((n) / TT1)
#define B_COLUMN(n) ((n) % TT1)
#define B_NUMBER(l, r) ((l) * TT1 + (r))
{% else %}
#define B_TERM(n) ((n) % DU)
#define B_COLUMN(n) ((n) / DU)
#define B_NUMBER(l, r) ((r) * DU + (l))
{% endif %}
#define B_AT(n, l) {{ b.conjugated_one("READ_ONE(next_b + (FIRST_J(B_COLUMN(n) / VWB) + B_COLUMN(n) % VWB) * column_b + ((l) + B_TERM(n)) * term_b)") }}
{% include "direct/broadcast.cl" %}
