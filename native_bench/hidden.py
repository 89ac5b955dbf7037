"""Secret shapes of a problem version: the same for every run of it, told to no entrant."""

import hashlib
import random
from collections.abc import Iterator

from submissions.kernel_package.problem import Problem

_TILES = (4, 8, 16, 32, 64, 128, 256)


def hidden_dims(problem: Problem, version_secret: bytes) -> tuple[dict[str, int], ...]:
    """Draw the hidden dims from the declared ranges: the ends, and what lies beside tiles and powers of two.

    Dims without a range keep the first case's value. Deterministic in (problem id, version, secret).
    """
    label = f"{problem.id} {problem.version}".encode()
    coin = random.Random(hashlib.sha256(version_secret + label).digest())
    kinds = _kinds(coin)
    return tuple(_draw(problem, next(kinds), coin) for _ in range(problem.hidden.count))


def _kinds(coin: random.Random) -> Iterator[str]:
    kinds = ["least", "beside_tile", "odd", "beside_power", "any"]
    yield from kinds
    while True:
        yield coin.choice(kinds[1:])


def _draw(problem: Problem, kind: str, coin: random.Random) -> dict[str, int]:
    dims = dict(problem.cases[0].dims)
    for name, (low, high) in sorted(problem.hidden.ranges.items()):
        dims[name] = min(high, max(low, _extent(kind, low, high, coin)))
    return dims


def _extent(kind: str, low: int, high: int, coin: random.Random) -> int:
    if kind == "least":
        return low
    if kind == "beside_tile":
        tile = coin.choice([tile for tile in _TILES if tile <= high] or [1])
        return tile * coin.randint(1, max(1, min(high, 4 * tile) // tile)) + coin.choice((-1, 0, 1))
    if kind == "odd":
        return coin.randint(low, high) | 1
    if kind == "beside_power":
        powers = [1 << bit for bit in range(32) if low <= (1 << bit) + 1 <= high]
        return (coin.choice(powers) if powers else low) + 1
    return coin.randint(low, high)
