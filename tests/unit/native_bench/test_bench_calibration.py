"""The chain that makes a kernel one percent slower."""

import math

import pytest

from native_bench.bench_cpu.calibration import Chained, chain_steps, injected_share, trial_steps


def chained(plain_ns: float, steps: int, step_ns: float, hidden: int) -> Chained:
    """Return what is measured where the first `hidden` steps cost nothing."""
    return Chained(steps, math.log1p(max(0, steps - hidden) * step_ns / plain_ns))


@pytest.mark.parametrize(("plain_ns", "step_ns"), [(700.0, 1.0), (18_000.0, 0.7), (68_000.0, 1.4)])
@pytest.mark.parametrize("hidden", [0, 20])
def test_it_makes_the_kernel_one_percent_slower(plain_ns: float, step_ns: float, hidden: int) -> None:
    fewer, more = (chained(plain_ns, steps, step_ns, hidden) for steps in trial_steps(plain_ns))
    steps = chain_steps(plain_ns, fewer, more)
    assert steps == pytest.approx(0.01 * plain_ns / step_ns + hidden, abs=1)


def test_it_believes_in_no_more_hidden_steps_than_a_core_can_hide() -> None:
    """On a busy machine the shorter chain may come out faster than the kernel alone."""
    fewer, more = Chained(4096, math.log1p(-0.02)), Chained(16_384, math.log1p(0.25))
    assert chain_steps(68_000.0, fewer, more) < 0.01 / (0.27 / 12_288) + 65


def test_it_has_an_answer_where_nothing_was_measured() -> None:
    assert chain_steps(10_000.0, Chained(512, 0.1), Chained(2048, 0.1)) == 100
    assert chain_steps(10.0, Chained(4, 0.5), Chained(8, 0.4)) == 1


@pytest.mark.parametrize("plain_ns", [0.5, 30.0, 700.0, 68_000.0])
def test_it_tries_two_different_powers_of_two(plain_ns: float) -> None:
    fewer, more = trial_steps(plain_ns)
    assert 0 < fewer < more
    assert fewer & (fewer - 1) == more & (more - 1) == 0


def test_it_says_what_was_really_injected() -> None:
    assert injected_share([100.0, 110.0], [130.0, 101.0]) == pytest.approx(0.01)
