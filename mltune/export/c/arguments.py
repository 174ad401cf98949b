"""The arguments of the exported C function, in BLAS order."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_WIDTH = 96


def arguments(
    factor: str, batched: bool, after: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Return type and name of every argument; the place of the first one is 1.

    Args:
        factor: the type of alpha and beta.
        batched: whether there is a batch.
        after: arguments after C's.
    """
    listed = [("int64_t", "m"), ("int64_t", "n"), ("int64_t", "k")]
    if batched:
        listed.append(("int64_t", "batch"))
    for matrix in "abc":
        listed += [(factor, {"a": "alpha", "c": "beta"}[matrix])] if matrix in "ac" else []
        listed += [
            ("cl_mem", matrix),
            ("int64_t", f"offset_{matrix}"),
            ("int64_t", f"ld{matrix}"),
        ]
        if batched:
            listed.append(("int64_t", f"stride_{matrix}"))
    return [
        *listed,
        *after,
        ("cl_command_queue", "queue"),
        ("cl_uint", "num_events"),
        ("const cl_event *", "wait_list"),
        ("cl_event *", "event"),
    ]


def prototype(name: str, listed: list[tuple[str, str]]) -> str:
    """Write a function's head, without its end."""
    separators = [kind + ("" if kind.endswith("*") else " ") + name for kind, name in listed]
    return _wrapped(f"int {name}(", separators)


def call(name: str, passed: list[str]) -> str:
    """Write a call, without its end."""
    return _wrapped(f"{name}(", passed)


def _wrapped(head: str, items: list[str]) -> str:
    # Spaces inside an item are hidden from wrapping, so that type and name stay together.
    text = ", ".join(item.replace(" ", "\0") for item in items) + ")"
    lines = textwrap.wrap(text, _WIDTH - 4, break_long_words=False)
    return f"{head}\n" + "\n".join(f"    {line}" for line in lines).replace("\0", " ")
