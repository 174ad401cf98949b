from __future__ import annotations

from collections import Counter

from mltune.search.unvisited import UnvisitedConfigs, UnvisitedOfUnion
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.space.union import FAMILY, UnionSpace, family_parameter

SPACE = Space(name="s", family="none", parameters=[Parameter("x", (0, 1, 2, 3))], limits={})


def test_every_order_is_as_likely() -> None:
    draws = 4800
    orders: Counter[tuple[Config | None, ...]] = Counter()
    for seed in range(draws):
        unvisited = UnvisitedConfigs(SPACE, seed)
        orders[tuple(unvisited.draw() for _ in range(4))] += 1

    assert len(orders) == 24
    assert all(abs(count - draws / 24) < 70 for count in orders.values())


def test_visited_configs_are_left_out() -> None:
    unvisited = UnvisitedConfigs(SPACE, 0)
    unvisited.visit(Config.of({"x": 2}))
    drawn = {unvisited.draw() for _ in range(3)}

    assert drawn == {Config.of({"x": x}) for x in (0, 1, 3)}
    assert unvisited.draw() is None


def test_tells_visited_from_unvisited() -> None:
    unvisited = UnvisitedConfigs(SPACE, 0)
    unvisited.visit(Config.of({"x": 2}))

    assert Config.of({"x": 1}) in unvisited
    assert Config.of({"x": 2}) not in unvisited
    assert Config.of({"x": 9}) not in unvisited


def test_a_family_whose_spaces_have_the_same_configs_is_drawn_as_often() -> None:
    def made(name: str, family: str, values: int) -> Space:
        parameters = [family_parameter(family), Parameter("x", tuple(range(values)))]
        return Space(name=name, family=family, parameters=parameters, limits={})

    same = [made(name, "small", 2) for name in "abcd"]
    union = UnionSpace("u", [*same, made("e", "large", 50)])
    orders = [UnvisitedOfUnion(union, seed) for seed in range(1_000)]
    draws: Counter[object] = Counter()
    for order in orders:
        first, second = order.draw(), order.draw()
        assert first is not None
        assert second is not None
        assert first != second
        if first.word(FAMILY) == "small":
            draws[second.word(FAMILY)] += 1

    assert draws["small"] > 0.45 * draws.total()
