"""One case or more for each arithmetic instruction and type."""

from tests.unit.native_bench_gpu.conformance_case import Case
from tests.unit.native_bench_gpu.conformance_choices import choice_cases
from tests.unit.native_bench_gpu.conformance_conversions import conversion_cases
from tests.unit.native_bench_gpu.conformance_floats import float_cases
from tests.unit.native_bench_gpu.conformance_integers import integer_cases


def arithmetic_cases() -> list[Case]:
    """Return the cases of all instructions that only compute."""
    return [*integer_cases(), *float_cases(), *choice_cases(), *conversion_cases()]
