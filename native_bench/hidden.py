"""Secret shapes: those of a problem version, the same for every run of it, and those of one run alone."""

import hashlib
import hmac
import math
import random
from collections.abc import Sequence
from itertools import chain

from submissions.kernel_package.problem import Problem

_TILES = (4, 8, 16, 32, 64, 128, 256)
_MOST_TILES = 4
# The first ones are where kernels break most often.
_KINDS = ("least", "under_tile", "prime", "over_tile", "odd", "beside_power", "tile", "any")
_BESIDE_TILE = {"under_tile": -1, "tile": 0, "over_tile": 1}


def hidden_dims(problem: Problem, version_secret: bytes) -> tuple[dict[str, int], ...]:
    """Draw the version's hidden dims from the declared ranges: the least, and what lies beside tiles and powers.

    Dims without a range keep the first case's value. Deterministic in (problem id, version, secret).
    """
    label = f"{problem.id} {problem.version}".encode()
    coin = random.Random(hashlib.sha256(version_secret + label).digest())
    count = problem.hidden.count
    others = [coin.choice(_KINDS[1:]) for _ in range(count - len(_KINDS))]
    return tuple(_draw(problem, kind, coin) for kind in [*_KINDS[:count], *others])


def fresh_dims(problem: Problem, run_secret: bytes, count: int) -> tuple[dict[str, int], ...]:
    """Draw `count` dims for one run alone; what an entrant finds out about them is of no use for the next run."""
    coin = random.Random(hmac.digest(run_secret, b"fresh hidden dims", "sha256"))
    return tuple(_draw(problem, coin.choice(_KINDS[1:]), coin) for _ in range(count))


def _draw(problem: Problem, kind: str, coin: random.Random) -> dict[str, int]:
    dims = dict(problem.cases[0].dims)
    for name, (low, high) in sorted(problem.hidden.ranges.items()):
        dims[name] = coin.choice(_extents(kind, low, high, coin) or [coin.randint(low, high)])
    return dims


def _extents(kind: str, low: int, high: int, coin: random.Random) -> Sequence[int]:
    """Return the extents of a kind to choose from; none where the range has none of it."""
    if kind == "least":
        return [low]
    if kind in _BESIDE_TILE:
        multiples = (tile * times for tile in _TILES for times in range(1, _MOST_TILES + 1))
        return _within(low, high, [multiple + _BESIDE_TILE[kind] for multiple in multiples])
    if kind == "beside_power":
        return _within(low, high, [(1 << bit) + 1 for bit in range(32)])
    if kind == "odd":
        return range(low | 1, high + 1, 2)
    if kind == "prime":
        return _prime_near(coin.randint(low, high), low, high)
    return range(low, high + 1)


def _within(low: int, high: int, extents: Sequence[int]) -> list[int]:
    return [extent for extent in extents if low <= extent <= high]


def _prime_near(start: int, low: int, high: int) -> list[int]:
    near = chain(range(start, low - 1, -1), range(start + 1, high + 1))
    return [prime] if (prime := next(filter(_is_prime, near), None)) else []


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))
