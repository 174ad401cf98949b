{# The head of a pass: all take the same arguments in the same order. #}
{% macro head(entry, work_group, arguments, a="a", b="b") %}
__kernel __attribute__((reqd_work_group_size({{ work_group | join(", ") }})))
void {{ entry }}(
        __global STORED *restrict c,
        const __global STORED *restrict {{ a }}, const __global STORED *restrict {{ b }},
        const FACTOR alpha_argument, const FACTOR beta_argument,
        {{ arguments }})
{%- endmacro %}
