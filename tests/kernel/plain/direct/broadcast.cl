{# Sub-groups without any: each work-item reads what the others would hand it. #}
#define get_sub_group_local_id() ((get_local_id(1) * WG0 + get_local_id(0)) % SUB_GROUP_SIZE)
#define get_sub_group_id() ((get_local_id(1) * WG0 + get_local_id(0)) / SUB_GROUP_SIZE)
#define get_max_sub_group_size() SUB_GROUP_SIZE
#define B_PART (TT1 * DU)
#define B_ELEMENT(l, r) part_b[B_NUMBER(l, r)]
{% filter continued %}
#define READ_PART_B(l)
    for (uint n = 0; n < B_PART; ++n)
        part_b[n / SUB_GROUP_SIZE * SUB_GROUP_SIZE + (n + lane) % SUB_GROUP_SIZE] =
            B_AT(n / SUB_GROUP_SIZE * SUB_GROUP_SIZE + (n + lane) % SUB_GROUP_SIZE, l)
{% endfilter %}
