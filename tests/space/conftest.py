from __future__ import annotations

import pytest

from tests.spaces import LIMITS


@pytest.fixture
def gpu_names() -> dict[str, int]:
    """Limits of a GPU, and an element's bytes."""
    return {**LIMITS, "bytes": 4}
