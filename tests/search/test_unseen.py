from __future__ import annotations

from collections import Counter

from mltune.search.unseen import UnseenConfigs
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(name="s", family="none", parameters=[Parameter("x", (0, 1, 2, 3))], limits={})


def test_every_order_is_as_likely() -> None:
    draws = 4800
    orders: Counter[tuple[Config | None, ...]] = Counter()
    for seed in range(draws):
        unseen = UnseenConfigs(SPACE, seed)
        orders[tuple(unseen.draw() for _ in range(4))] += 1

    assert len(orders) == 24
    assert all(abs(count - draws / 24) < 70 for count in orders.values())


def test_seen_configs_are_left_out() -> None:
    unseen = UnseenConfigs(SPACE, 0)
    unseen.see(Config.of({"x": 2}))
    drawn = {unseen.draw() for _ in range(3)}

    assert drawn == {Config.of({"x": x}) for x in (0, 1, 3)}
    assert unseen.draw() is None


def test_tells_seen_from_unseen() -> None:
    unseen = UnseenConfigs(SPACE, 0)
    unseen.see(Config.of({"x": 2}))

    assert Config.of({"x": 1}) in unseen
    assert Config.of({"x": 2}) not in unseen
    assert Config.of({"x": 9}) not in unseen
