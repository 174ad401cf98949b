"""A call of a function in a thread, while the device measures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Calls a function in a thread, one call at a time: `begin` a call, `collect` its result.

    The thread exists while this object is used as a context manager. Without a thread, `begin`
    does nothing and `collect` calls the function.

    Args:
        function: is called without arguments.
        in_thread: whether there is a thread.
    """

    def __init__(self, function: Callable[[], T], *, in_thread: bool = True) -> None:
        self._function = function
        self._in_thread = in_thread
        self._thread: ThreadPoolExecutor | None = None
        self._call: Future[T] | None = None

    def __enter__(self) -> Self:
        if self._in_thread:
            self._thread = ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the call that was begun; its result may still be collected."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    @property
    def has_thread(self) -> bool:
        """Whether `begin` has a thread to call in."""
        return self._thread is not None

    @property
    def is_begun(self) -> bool:
        """Whether a call was begun whose result was not collected."""
        return self._call is not None

    @property
    def is_done(self) -> bool:
        """Whether `collect` returns the result of a call at once."""
        return self._call is not None and self._call.done()

    def begin(self) -> None:
        """Begin a call in the thread, unless one is begun already."""
        if self._thread is not None and self._call is None:
            self._call = self._thread.submit(self._function)

    def collect(self) -> T:
        """Wait for the call that was begun, or call now; return the result or raise the error.

        If the waiting is interrupted, as by Ctrl-C, the call stays begun.
        """
        if self._call is None:
            return self._function()
        wait([self._call])
        call, self._call = self._call, None
        return call.result()

    def drop(self) -> None:
        """Forget the call that was begun, with its result and its error."""
        self._call = None
