"""Which operands pass through local memory: both, or one that work-items read themselves.

Tensile calls the latter DirectToVgpr. It saves the copy and that operand's local memory, and pays
where few work-items share what they read, or where the caches serve them as well.
"""

from __future__ import annotations

from mltune.kernel.rules import Numbers, Rules, Settings

RULES: Rules = {
    "direct_to_registers_a": Numbers(choices=(0, 1), default=0),
    "direct_to_registers_b": Numbers(choices=(0, 1), default=0),
}


def check(settings: Settings) -> None:
    """Check these parameters against the others.

    Raises:
        UsageError: when a value is refused.
    """
    own = [tensor for tensor in "ab" if settings.number(f"direct_to_registers_{tensor}")]
    settings.require(
        len(own) < 2,
        "direct_to_registers_b",
        "0 where direct_to_registers_a is 1 (the family direct reads both so)",
    )
    for tensor in own:
        settings.require(
            settings.word("global_to_local") == "registers",
            f"direct_to_registers_{tensor}",
            "0 with global_to_local async",
        )
