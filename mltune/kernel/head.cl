{# The head of a kernel function: every pass takes the same arguments in the same order. #}
{% macro head(entry, work_group, arguments, a="a", b="b", sub_group_size=0) %}
__kernel __attribute__((reqd_work_group_size({{ work_group | join(", ") }})))
{% if sub_group_size %}
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size({{ sub_group_size }})))
#endif
{% endif %}
void {{ entry }}(
        __global STORED *restrict c,
        const __global STORED *restrict {{ a }}, const __global STORED *restrict {{ b }},
        const FACTOR alpha_argument, const FACTOR beta_argument,
        {{ arguments }})
{%- endmacro %}
