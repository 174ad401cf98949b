from __future__ import annotations

import os

import pytest

from mltune.device.opencl.threads import keep_threads_apart


def test_threads_are_bound_where_all_cores_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    environment: dict[str, str] = {}

    keep_threads_apart(environment)

    assert environment == {"POCL_AFFINITY": "1"}


def test_they_are_left_alone_where_some_cores_are_not_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2}, raising=False)
    environment: dict[str, str] = {}

    keep_threads_apart(environment)

    assert not environment


def test_what_the_user_chose_stays() -> None:
    environment = {"POCL_AFFINITY": "0"}

    keep_threads_apart(environment)

    assert environment == {"POCL_AFFINITY": "0"}
