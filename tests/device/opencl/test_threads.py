from __future__ import annotations

import os

import pytest

from mltune.device.opencl.threads import keep_threads_apart


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("POCL_AFFINITY", "")  # so that it is restored, whatever it was
    monkeypatch.delenv("POCL_AFFINITY")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    return monkeypatch


def test_threads_are_bound_where_all_cores_may_be_used(unset: pytest.MonkeyPatch) -> None:
    unset.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)

    keep_threads_apart()

    assert os.environ["POCL_AFFINITY"] == "1"


def test_they_are_left_alone_where_some_cores_are_not_ours(unset: pytest.MonkeyPatch) -> None:
    unset.setattr(os, "sched_getaffinity", lambda _: {1, 2}, raising=False)

    keep_threads_apart()

    assert "POCL_AFFINITY" not in os.environ


def test_what_the_user_chose_stays(unset: pytest.MonkeyPatch) -> None:
    unset.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    unset.setenv("POCL_AFFINITY", "0")

    keep_threads_apart()

    assert os.environ["POCL_AFFINITY"] == "0"
