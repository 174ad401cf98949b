"""Linear algebra of a search uses one thread; other threads keep their settings."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from mltune.one_thread import one_thread


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_one_thread_meanwhile_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        with one_thread():
            assert threads() == {1}
        assert threads() == before
