from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard import figures
from submissions.evaluation.statistics import Interval

NBSP = "\u00a0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.500_ns"),
        (63.25, "63.2_ns"),
        (999.4, "999_ns"),
        (1462.0, "1.46_µs"),
        (41_300.0, "41.3_µs"),
        (2.5e6, "2.50_ms"),
        (3.2e9, "3.20_s"),
        (None, "–"),
        (float("nan"), "–"),
        (True, "–"),
        (Interval(41_300, 41_100, 41_500), "41.3_µs"),
        (Interval(41_300, 40_300, 42_300), "41_µs"),
        (Interval(41_300, 41_285, 41_315), "41.300_µs"),
        ({"value": 523.0, "lo": 493.0, "hi": 553.0}, "520_ns"),
    ],
)
def test_it_writes_times_in_the_unit_that_fits_and_the_digits_of_the_interval(value, text):
    assert figures.time_text(value) == text.replace("_", NBSP)


@pytest.mark.parametrize(
    ("value", "text", "ends"),
    [
        (Interval(1.31, 1.29, 1.33), "1.31×", "1.29–1.33×"),
        (Interval(14.8, 14.6, 15.0), "14.8×", "14.6–15.0×"),
        (Interval(1.0, 0.999, 1.001), "1.000×", "0.999–1.001×"),
        (Interval(2.2, 2.185, 2.215), "2.200×", "2.185–2.215×"),
        (Interval(1234.5, 1200.0, 1270.0), "1\u202f230×", "1\u202f200–1\u202f270×"),
        (Interval(2.0, 2.0, 2.0), "2.00×", "2.00–2.00×"),
        (1.5, "1.50×", ""),
    ],
)
def test_it_writes_speed_ups_with_their_interval(value, text, ends):
    assert figures.ratio_text(value) == text
    assert figures.range_text(value).replace("\u2060", "") == ends


def test_it_writes_the_ends_of_a_time_in_the_unit_of_its_value():
    text = figures.range_text(Interval(1001.0, 990.0, 1012.0), "time")

    assert text.replace("\u2060", "") == f"0.990–1.012{NBSP}µs"


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (figures.percent_text, 0.874, "87_%"),
        (figures.percent_text, 0.063, "6.3_%"),
        (figures.percent_text, None, "–"),
        (figures.gap_text, 0.063, "+6.3_%"),
        (figures.gap_text, 13.8, "14.8×_as_long"),
        (figures.gap_text, None, "–"),
        (figures.bandwidth_text, 163.2, "163_GB/s"),
        (figures.bandwidth_text, 3350.0, "3.35_TB/s"),
        (figures.bandwidth_text, None, "–"),
        (figures.throughput_text, 27.04, "27.0_GFLOP/s"),
        (figures.bytes_text, 900, "900_B"),
        (figures.bytes_text, 1 << 20, "1.0_MiB"),
        (figures.bytes_text, None, "–"),
        (figures.count_text, 268435456, "268\u202f435\u202f456"),
        (figures.count_text, None, "–"),
        (figures.scientific_text, 0.00031, "3.1e-4"),
        (figures.scientific_text, 0.25, "0.250"),
        (figures.scientific_text, 0, "0"),
        (figures.scientific_text, None, "–"),
        (figures.span_text, 0, "0_ms"),
        (figures.span_text, 0.0004, "<1_ms"),
        (figures.span_text, 0.74, "740_ms"),
        (figures.span_text, 4.24, "4.2_s"),
        (figures.span_text, 200, "3_min"),
        (figures.span_text, 9000, "2_h"),
        (figures.span_text, 200_000, "2_d"),
        (figures.span_text, None, "–"),
    ],
)
def test_it_writes_each_kind_of_figure_with_its_unit(write, value, text):
    assert write(value) == text.replace("_", NBSP)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2, "just now"), (14, "14_s_ago"), (7300, "2_h_ago"), (-3, "just now")]
)
def test_it_writes_ages(seconds, text):
    now = datetime(2026, 3, 1, tzinfo=UTC)

    assert figures.age_text(now - timedelta(seconds=seconds), now) == text.replace("_", NBSP)
    assert figures.age_text(None, now) == "–"


def test_it_reads_no_interval_where_there_is_none():
    assert figures.interval_of({"value": None, "lo": None, "hi": None}) is None
    assert figures.interval_of("1.3") is None


@given(st.floats(1e-3, 1e12), st.floats(0, 0.5))
def test_it_never_breaks_a_line_nor_forgets_the_unit(value, half):
    interval = Interval(value, value * (1 - half), value * (1 + half))
    text = figures.time_text(interval)

    assert " " not in text
    assert text.split(NBSP)[1] in ("ns", "µs", "ms", "s")
    assert figures.ratio_text(interval).endswith("×")
