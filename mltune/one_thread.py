"""One thread for linear algebra, so that a search is as fast beside other work as alone.

The matrices of a search or a rule are narrow: threads of a BLAS wait for each other longer than
they compute. They wait by spinning, which takes the processors from builders and from other users:
proposals took 20 times as long with two threads as with one. And sums are added up in the same
order on a machine with more cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the BLAS libraries that are loaded use one thread meanwhile."""
    with _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """All that are loaded; looking for them takes milliseconds, and SciPy brings one more."""
    return ThreadpoolController()
