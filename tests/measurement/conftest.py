from __future__ import annotations

from tests.run.conftest import make

__all__ = ["make"]
