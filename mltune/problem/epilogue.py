"""Operations on each element of a product before it is stored: a bias, and an activation.

C = act(alpha * A * B + beta * C + bias), where the bias is a vector along one index of C, the same
for all others, and act is a function that networks use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from mltune.errors import UsageError


class Activation(Enum):
    """A function of one number; the value is its name.

    `relu` is max(x, 0), `gelu` x times the normal distribution's cumulative function (by erf, not
    its approximation by tanh), `silu` x / (1 + exp(-x)), and `clamp` min(max(x, low), high).
    A NaN stays a NaN.
    """

    NONE = "none"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"
    CLAMP = "clamp"


ACTIVATIONS = tuple(each.value for each in Activation if each is not Activation.NONE)
"""The names of all activations that change a number."""

_ACTIVATION = "|".join(ACTIVATIONS)
_WORDS = re.compile(rf"bias_([mn])(?:[_,+]({_ACTIVATION}))?|({_ACTIVATION})")


@dataclass(frozen=True, slots=True)
class Epilogue:
    """The operations on alpha * A * B + beta * C.

    Attributes:
        bias: the number of C's index that the bias runs along; None for no bias.
        activation: after the bias.
    """

    bias: int | None = None
    activation: Activation = Activation.NONE

    def __bool__(self) -> bool:
        """Whether there is any operation."""
        return self.bias is not None or self.activation is not Activation.NONE

    @property
    def clamps(self) -> bool:
        """Whether the problem has a lower and an upper limit."""
        return self.activation is Activation.CLAMP


NO_EPILOGUE = Epilogue()


def parse_epilogue(text: str, bias_m: int | None, bias_n: int | None) -> Epilogue:
    """Read `bias_m`, `bias_n`, an activation, or one of each: `bias_n,relu` or `bias_n_relu`.

    Args:
        text: `bias_m` has a number for each row of C (m of them), `bias_n` for each column.
        bias_m: the index along which there are m elements; None if there is none.
        bias_n: the same for n.

    Raises:
        UsageError: when it is no such text, or there is no such index.
    """
    match = _WORDS.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(
            f"epilogue: unknown '{text}' (known: bias_m, bias_n, {', '.join(ACTIVATIONS)}, or a "
            "bias and one of them: bias_n,relu)"
        )
    side, following, alone = match.groups()
    bias = {"m": bias_m, "n": bias_n, None: None}[side]
    if side is not None and bias is None:
        raise UsageError(f"epilogue: bias_{side}: the contraction has no free index there")
    return Epilogue(bias, Activation(following or alone or "none"))
