"""A function is called beside other work, one call at a time, and nothing is called twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from itertools import count

import pytest

from mltune.tuning.background_call import BackgroundCall


def _slow() -> tuple[Callable[[], int], threading.Event]:
    """Return a function that counts its calls, and the event that it waits for."""
    calls, may_end = count(1), threading.Event()

    def function() -> int:
        number = next(calls)
        assert may_end.wait(60)
        return number

    return function, may_end


def test_a_call_is_begun_once_and_collected_once() -> None:
    function, may_end = _slow()
    with BackgroundCall(function) as call:
        assert (call.is_begun, call.is_done) == (False, False)
        call.begin()
        call.begin()
        assert (call.is_begun, call.is_done) == (True, False)
        may_end.set()
        assert call.collect() == 1
        assert (call.is_begun, call.is_done) == (False, False)
        assert call.collect() == 2


def test_a_call_that_was_begun_ends_with_the_thread() -> None:
    function, may_end = _slow()
    with BackgroundCall(function) as call:
        call.begin()
        threading.Timer(0.05, may_end.set).start()

    assert call.is_done
    assert not call.has_thread
    assert call.collect() == 1


def test_an_error_is_raised_where_the_result_is_collected() -> None:
    def fail() -> None:
        raise ArithmeticError("no result")

    with BackgroundCall(fail) as call:
        call.begin()
        with pytest.raises(ArithmeticError, match="no result"):
            call.collect()
        call.begin()
        call.drop()
        assert not call.is_begun


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot interrupt a thread that waits")
def test_a_call_whose_waiting_is_interrupted_stays_begun() -> None:
    function, may_end = _slow()
    with BackgroundCall(function) as call:
        call.begin()
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            call.collect()
        assert call.is_begun
        may_end.set()
        assert call.collect() == 1


def test_without_a_thread_the_function_is_called_when_its_result_is_collected() -> None:
    calls = count(1)
    threads = threading.active_count()
    with BackgroundCall(lambda: next(calls), in_thread=False) as call:
        call.begin()
        assert (call.has_thread, call.is_begun, call.is_done) == (False, False, False)
        assert threading.active_count() == threads
        assert call.collect() == 1
