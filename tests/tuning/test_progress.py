from __future__ import annotations

from mltune.tuning.progress import Progress, Steps


def test_a_phase_tells_how_far_it_is_and_the_time_left_once_it_can_be_known() -> None:
    seen: list[Progress] = []
    step = Steps("train", seen.append)
    for done in range(3):
        step(done, 2)

    assert [(one.phase, one.done, one.total) for one in seen] == [
        ("train", 0, 2),
        ("train", 1, 2),
        ("train", 2, 2),
    ]
    before, halfway, after = (one.seconds_left for one in seen)
    assert before is None
    assert halfway is not None
    assert halfway >= 0
    assert after is None


def test_no_more_time_is_promised_than_a_limit_leaves() -> None:
    seen: list[Progress] = []
    Steps("bench", seen.append, end=0.0)(1, 2)

    assert seen[0].seconds_left == 0
