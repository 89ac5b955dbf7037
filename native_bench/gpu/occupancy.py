"""How many blocks of a kernel fit on one multiprocessor, and what keeps out the next one. Arithmetic only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from submissions.kernel_package.launches import BLOCK_THREADS

WARP_THREADS = 32
_REGISTERS = 65536
_REGISTER_UNIT = 256
_REGISTERS_PER_THREAD = 255
_PARTITIONS = 4
_SHARED_UNIT_BYTES = 128
_RESERVED_SHARED_BYTES = 1024
_ARCH = re.compile(r"sm_(?P<major>\d+)(?P<minor>\d)[af]?")


@dataclass(frozen=True)
class Multiprocessor:
    """The resources of one multiprocessor; `barriers` is None where they never keep a block out."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    barriers: int | None = None


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; barriers from cuda_occupancy.h.
MULTIPROCESSORS: Mapping[tuple[int, int], Multiprocessor] = {
    (8, 0): Multiprocessor(64, 32, 164 << 10, 163 << 10),
    (8, 6): Multiprocessor(48, 16, 100 << 10, 99 << 10),
    (8, 9): Multiprocessor(48, 24, 100 << 10, 99 << 10),
    (9, 0): Multiprocessor(64, 32, 228 << 10, 227 << 10, barriers=64),
    (10, 0): Multiprocessor(64, 32, 228 << 10, 227 << 10, barriers=64),
    (12, 0): Multiprocessor(48, 24, 100 << 10, 99 << 10, barriers=24),
}


@dataclass(frozen=True)
class BlockUse:
    """What one block of a launch takes: threads, registers of a thread, shared memory, barriers.

    `max_threads` is the most threads that a block of this kernel was compiled for.
    """

    threads: int
    registers: int
    static_shared_bytes: int = 0
    dynamic_shared_bytes: int = 0
    barriers: int = 0
    max_threads: int = BLOCK_THREADS

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP_THREADS)


@dataclass(frozen=True)
class Occupancy:
    """`limits`: how many blocks each resource allows; `limited_by`: those that allow the fewest.

    With `blocks_per_sm` 0 the launch cannot run at all.
    """

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limits: Mapping[str, int]
    limited_by: tuple[str, ...]


def compute_capability(arch: str) -> tuple[int, int] | None:
    """Return (9, 0) for `sm_90` and `sm_90a`; None for what is no CUDA arch."""
    match = _ARCH.fullmatch(arch)
    return (int(match["major"]), int(match["minor"])) if match else None


def occupancy(capability: tuple[int, int], use: BlockUse) -> Occupancy | None:
    """Return the theoretical occupancy, or None where the capability is not in MULTIPROCESSORS.

    The formula is that of NVIDIA's cuda_occupancy.h with the largest carve-out of shared memory.
    """
    sm = MULTIPROCESSORS.get(capability)
    if sm is None:
        return None
    limits = {
        "blocks": sm.blocks,
        "warps": sm.warps // use.warps if use.threads <= use.max_threads else 0,
        "registers": _by_registers(use, sm),
        "shared": _by_shared(use, sm),
    }
    if sm.barriers is not None and use.barriers:
        limits["barriers"] = sm.barriers // use.barriers
    blocks = min(limits.values())
    warps = blocks * use.warps
    limited_by = tuple(name for name, limit in limits.items() if limit == blocks)
    return Occupancy(blocks, warps, warps / sm.warps, limits, limited_by)


def _by_registers(use: BlockUse, sm: Multiprocessor) -> int:
    """Each warp lives in one of four partitions, which gives it registers in units."""
    if use.registers == 0:
        return sm.blocks
    per_warp = _up(use.registers * WARP_THREADS, _REGISTER_UNIT)
    if use.registers > _REGISTERS_PER_THREAD or per_warp * _up(use.warps, _PARTITIONS) > _REGISTERS:
        return 0
    return _REGISTERS // _PARTITIONS // per_warp * _PARTITIONS // use.warps


def _by_shared(use: BlockUse, sm: Multiprocessor) -> int:
    total = _up(use.static_shared_bytes + use.dynamic_shared_bytes + _RESERVED_SHARED_BYTES, _SHARED_UNIT_BYTES)
    if total > sm.shared_bytes_per_block + _RESERVED_SHARED_BYTES:
        return 0
    return sm.shared_bytes // total


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
