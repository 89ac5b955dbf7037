"""How many blocks fit, against values computed by hand, and what must hold for every kernel."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_bench.gpu.occupancy import (
    MULTIPROCESSORS,
    BlockUse,
    compute_capability,
    occupancy,
)

# Each line by hand: capability, use, blocks, what limits.
BY_HAND = [
    # 8 warps a block, 64 warps: 8 blocks; 32 registers a thread are 1024 a warp, 16 warps a partition, 64 in all.
    ((8, 0), BlockUse(256, 32), 8, ("warps", "registers")),
    # 40 registers are 1280 a warp, 12 warps a partition, 48 warps: 6 blocks.
    ((8, 0), BlockUse(256, 40), 6, ("registers",)),
    # 33 registers are 1056, which is rounded to 1280.
    ((9, 0), BlockUse(256, 33), 6, ("registers",)),
    # One warp a block: 32 blocks, half of the warps.
    ((9, 0), BlockUse(32, 16), 32, ("blocks",)),
    ((8, 6), BlockUse(32, 16), 16, ("blocks",)),
    ((8, 9), BlockUse(32, 16), 24, ("blocks",)),
    ((12, 0), BlockUse(32, 16), 24, ("blocks",)),
    # 48 KiB and the 1 KiB that the system keeps: 3 fit into 164 KiB, 4 into 228 KiB, 2 into 100 KiB.
    ((8, 0), BlockUse(128, 16, static_shared_bytes=48 << 10), 3, ("shared",)),
    ((10, 0), BlockUse(128, 16, static_shared_bytes=48 << 10), 4, ("shared",)),
    ((8, 9), BlockUse(128, 16, dynamic_shared_bytes=48 << 10), 2, ("shared",)),
    # The most that a block may ask for, and one byte more.
    ((9, 0), BlockUse(128, 16, dynamic_shared_bytes=227 << 10), 1, ("shared",)),
    ((9, 0), BlockUse(128, 16, dynamic_shared_bytes=(227 << 10) + 1), 0, ("shared",)),
    ((8, 6), BlockUse(128, 16, dynamic_shared_bytes=(99 << 10) + 1), 0, ("shared",)),
    # 1536 threads: one block of 1024, and a third of the warps idle.
    ((8, 6), BlockUse(1024, 32), 1, ("warps",)),
    # 1024 threads of 65 registers: 2304 a warp, 73,728 in all, more than there are.
    ((8, 0), BlockUse(1024, 65), 0, ("registers",)),
    # Compiled for 256 threads, launched with 512.
    ((8, 0), BlockUse(512, 16, max_threads=256), 0, ("warps",)),
    # 16 barriers a block: 4 blocks from the 64 of 9.0, 1 from the 24 of 12.0; before 9.0 they don't count.
    ((9, 0), BlockUse(32, 16, barriers=16), 4, ("barriers",)),
    ((12, 0), BlockUse(32, 16, barriers=16), 1, ("barriers",)),
    ((8, 0), BlockUse(32, 16, barriers=16), 32, ("blocks",)),
]

uses = st.builds(
    BlockUse,
    threads=st.integers(1, 1024),
    registers=st.integers(0, 300),
    static_shared_bytes=st.integers(0, 64 << 10),
    dynamic_shared_bytes=st.integers(0, 240 << 10),
    barriers=st.integers(0, 16),
)
capabilities = st.sampled_from(sorted(MULTIPROCESSORS))


@pytest.mark.parametrize(("capability", "use", "blocks", "limited_by"), BY_HAND)
def test_it_is_as_computed_by_hand(
    capability: tuple[int, int], use: BlockUse, blocks: int, limited_by: tuple[str, ...]
) -> None:
    found = occupancy(capability, use)
    assert found is not None
    assert (found.blocks_per_sm, found.limited_by) == (blocks, limited_by)


def test_its_fraction_is_of_the_warps() -> None:
    found = occupancy((8, 6), BlockUse(1024, 32))
    assert found is not None
    assert (found.warps_per_sm, found.fraction) == (32, pytest.approx(2 / 3))


@given(capabilities, uses)
def test_what_fits_is_within_every_resource(capability: tuple[int, int], use: BlockUse) -> None:
    sm, found = MULTIPROCESSORS[capability], occupancy(capability, use)
    assert found is not None
    assert 0 <= found.fraction <= 1
    assert found.blocks_per_sm <= sm.blocks
    assert found.warps_per_sm <= sm.warps
    assert found.warps_per_sm * 32 * use.registers <= 65536
    shared_bytes = use.static_shared_bytes + use.dynamic_shared_bytes
    assert found.blocks_per_sm * (shared_bytes + 1024) <= sm.shared_bytes
    assert found.limited_by
    assert {found.limits[name] for name in found.limited_by} == {found.blocks_per_sm}


@given(capabilities, uses, st.integers(0, 64), st.integers(0, 8 << 10), st.integers(0, 8))
def test_who_takes_more_never_fits_more_often(
    capability: tuple[int, int], use: BlockUse, registers: int, shared_bytes: int, barriers: int
) -> None:
    more = BlockUse(
        use.threads,
        use.registers + registers,
        use.static_shared_bytes,
        use.dynamic_shared_bytes + shared_bytes,
        use.barriers + barriers,
    )
    small, large = occupancy(capability, use), occupancy(capability, more)
    assert small is not None
    assert large is not None
    assert large.blocks_per_sm <= small.blocks_per_sm


@given(capabilities, uses)
def test_static_and_dynamic_shared_memory_count_alike(capability: tuple[int, int], use: BlockUse) -> None:
    swapped = BlockUse(use.threads, use.registers, use.dynamic_shared_bytes, use.static_shared_bytes, use.barriers)
    assert occupancy(capability, use) == occupancy(capability, swapped)


@pytest.mark.parametrize(
    ("arch", "capability"),
    [("sm_80", (8, 0)), ("sm_90a", (9, 0)), ("sm_100f", (10, 0)), ("sm_121", (12, 1)), ("x86_64", None)],
)
def test_an_archs_name_tells_its_capability(arch: str, capability: tuple[int, int] | None) -> None:
    assert compute_capability(arch) == capability


def test_it_says_nothing_of_a_capability_that_it_does_not_know() -> None:
    assert occupancy((7, 5), BlockUse(128, 16)) is None
