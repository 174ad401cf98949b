"""One thread for linear algebra, which is fastest for small matrices.

The matrices of a search or a rule are narrow, so the threads of a BLAS wait for each other longer
than they compute. They spin meanwhile, which slows builders and other users: with two threads
proposals took 20 times as long as with one. Also, sums have the same order on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the loaded BLAS libraries to one thread in this context."""
    with _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries(with_scipy: bool) -> ThreadpoolController:
    """Return all loaded libraries; the search takes milliseconds, and SciPy loads one more."""
    return ThreadpoolController()
