from mltune.runner.cache import Cache


def test_the_least_recently_used_goes_first() -> None:
    cache: Cache[str, int] = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1

    cache.put("c", 3)

    assert cache.get("b") is None
    assert (cache.get("a"), cache.get("c")) == (1, 3)


def test_costs_count_and_a_large_value_stays_alone() -> None:
    cache: Cache[str, int] = Cache(10)
    cache.put("a", 1, 6)
    cache.put("b", 2, 4)
    assert len(cache) == 2

    cache.put("large", 3, 25)
    assert len(cache) == 1
    assert cache.get("large") == 3

    cache.put("small", 4, 1)
    assert cache.get("large") is None


def test_replacing_a_value_replaces_its_cost() -> None:
    cache: Cache[str, int] = Cache(10)
    cache.put("a", 1, 9)
    cache.put("a", 2, 1)
    cache.put("b", 3, 9)

    assert (cache.get("a"), cache.get("b")) == (2, 3)


def test_dropping_makes_room() -> None:
    cache: Cache[str, int] = Cache(10)
    cache.put("a", 1, 5)
    cache.put("b", 2, 5)
    cache.drop("a")
    cache.drop("never there")
    cache.put("c", 3, 5)

    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, 2, 3)
