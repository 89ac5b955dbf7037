"""What process values say of the clock, on values whose truth is known."""

import math
import random

import pytest

from native_bench.bench_cpu.analysis import (
    agreement,
    covered_groups,
    disjoint,
    pair_errors,
    power,
    quantile,
    sitting_times,
    variation,
)

SD = 0.01
# The median of five normal values spreads by this much of one value's spread.
MEDIAN_OF_FIVE = 0.5358


def normal(mean: float, sd: float, count: int = 2000) -> list[float]:
    coin = random.Random(1)
    return [coin.gauss(mean, sd) for _ in range(count)]


def test_it_finds_the_coverage_and_the_spread_of_normal_values() -> None:
    found = agreement(normal(0.0, SD), 5)
    assert found is not None
    assert found.coverage == pytest.approx(0.95, abs=0.02)
    assert found.spread == pytest.approx(MEDIAN_OF_FIVE * SD, rel=0.05)
    # Of a normal distribution half lies within 0.674 standard deviations, 99 % within 2.576.
    assert found.p50 == pytest.approx(0.674 * MEDIAN_OF_FIVE * SD, rel=0.1)
    assert found.p99 == pytest.approx(2.576 * MEDIAN_OF_FIVE * SD, rel=0.1)
    # Student's t for four degrees of freedom over the root of five, and the mean of a standard deviation of five.
    assert found.half_width == pytest.approx(2.776 / math.sqrt(5) * 0.94 * SD, rel=0.1)


def test_more_processes_spread_less() -> None:
    few, many = (agreement(normal(0.0, SD), processes) for processes in (5, 9))
    assert few is not None
    assert many is not None
    assert many.spread < 0.85 * few.spread
    assert many.half_width < 0.75 * few.half_width


def test_a_bias_shows_in_coverage_error_and_spread() -> None:
    found = agreement(normal(0.05, 0.002), 5)
    assert found is not None
    assert found.coverage == 0
    assert found.p50 == pytest.approx(0.05, abs=0.003)
    # Either of the equals may be called the candidate: what favours one is no constant that falls out.
    assert found.spread == pytest.approx(0.05, rel=0.05)


def test_outliers_widen_the_interval() -> None:
    """A process in ten is far off to one side: the median does not see it, the interval must."""
    coin = random.Random(2)
    values = [coin.gauss(0, 0.001) + (0.05 if coin.random() < 0.1 else 0.0) for _ in range(2000)]
    found, honest = agreement(values, 5), agreement(normal(0.0, 0.001), 5)
    assert found is not None
    assert honest is not None
    assert found.half_width > honest.half_width


def test_it_tells_slower_from_faster() -> None:
    slower, faster, unclear = (
        power(normal(mean, sd), 5) for mean, sd in ((0.01, 0.002), (-0.01, 0.002), (0.0, 0.05))
    )
    assert slower is not None
    assert (slower.slower, slower.faster) == (pytest.approx(1.0, abs=0.01), 0)
    assert faster is not None
    assert (faster.slower, faster.faster) == (0, pytest.approx(1.0, abs=0.01))
    assert unclear is not None
    assert unclear.slower + unclear.faster == pytest.approx(0.05, abs=0.02)


def test_it_says_nothing_of_too_few_values() -> None:
    assert agreement([0.0] * 4, 5) is None
    assert power([0.01] * 4, 5) is None
    assert agreement([0.0] * 5, 5) is not None


def test_it_gives_the_same_figures_again() -> None:
    assert agreement(normal(0.0, SD, 60), 5) == agreement(normal(0.0, SD, 60), 5)


def test_it_groups_in_the_order_of_measuring() -> None:
    assert disjoint([1, 2, 3, 4, 5, 6, 7], 3) == [[1, 2, 3], [4, 5, 6]]
    assert disjoint([1, 2], 3) == []
    assert sitting_times([3.0, 1.0, 2.0, 9.0, 9.0, 1.0, 5.0], 3) == [2.0, 9.0]


def test_it_counts_sittings_that_hold_the_truth() -> None:
    good, bad = [-0.01, 0.0, 0.01], [0.05, 0.0501, 0.0502]
    assert covered_groups([*good, *bad, *good, 0.7], 3) == (2, 3)
    assert covered_groups([], 3) == (0, 0)


def test_its_small_functions_have_an_answer_for_everything() -> None:
    assert variation([]) is variation([3.0]) is None
    assert variation([1.0, 3.0]) == pytest.approx(math.sqrt(2) / 2)
    assert pair_errors([]) == pair_errors([1.0]) == []
    assert pair_errors([1.0, 2.0, 1.0]) == [1.0, 0.5]
    assert quantile([], 0.5) == 0.0
    assert [quantile([4, 1, 3, 2], share) for share in (0.0, 0.25, 0.5, 0.99, 1.0)] == [1, 1, 2, 4, 4]
