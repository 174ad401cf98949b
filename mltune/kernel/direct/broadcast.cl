{# Functions by which the work-items of a sub-group share numbers. #}
#define B_PART (TT1 * DU / SUB_GROUP_SIZE)
#define B_ELEMENT(l, r) BROADCAST(part_b[B_NUMBER(l, r) / SUB_GROUP_SIZE], B_NUMBER(l, r) % SUB_GROUP_SIZE)
{% filter continued %}
#define READ_PART_B(l)
    _Pragma("unroll") for (int n = 0; n < B_PART; ++n)
        part_b[n] = B_AT(n * SUB_GROUP_SIZE + lane, l)
{% endfilter %}
