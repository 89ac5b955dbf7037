"""What else the machine did while a run was timed: load, stolen time, switches, clocks.

It explains figures and can forbid them; it never corrects one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from native_bench.host import CPU_FOLDER, read_text

# Two processes' clocks may differ by what the counters' resolution explains, not by more.
CLOCK_DRIFT = 0.001
CONTENDED_STEAL = 0.02
CONTENDED_LOAD = 2.0


@dataclass(frozen=True)
class CpuTimes:
    """Ticks of the given cores since boot, from /proc/stat."""

    busy: int
    stolen: int
    total: int

    @classmethod
    def of(cls, cores: Sequence[int]) -> Self:
        names = {f"cpu{core}" for core in cores}
        busy = stolen = total = 0
        for line in read_text(Path("/proc/stat")).splitlines():
            name, *words = line.split()
            if name in names:
                # user nice system idle iowait irq softirq steal; guest times stand in user already.
                ticks = list(map(int, words[:8]))
                idle = ticks[3] + ticks[4]
                stolen += ticks[7]
                total += sum(ticks)
                busy += sum(ticks) - idle - ticks[7]
        return cls(busy, stolen, total)


@dataclass
class Surroundings:
    """Gathered over all sets of processes of one sitting."""

    cores: Sequence[int]
    begin: CpuTimes = field(init=False)
    switches: int = 0
    tick_rates_mhz: list[float] = field(default_factory=list)
    self_test: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin = CpuTimes.of(self.cores)

    @property
    def steal_share(self) -> float:
        """The share of the two cores' time that the hypervisor gave to others."""
        now = CpuTimes.of(self.cores)
        return (now.stolen - self.begin.stolen) / max(1, now.total - self.begin.total)

    @property
    def load_per_core(self) -> float:
        return os.getloadavg()[0] / max(1, os.cpu_count() or 1)

    @property
    def clock_drift(self) -> float:
        """How much the counter's rate differed between sets of processes, as a share; 0 where it is not known."""
        rates = self.tick_rates_mhz
        return max(rates) / min(rates) - 1 if rates and min(rates) > 0 else 0.0

    @property
    def is_contended(self) -> bool:
        return self.steal_share > CONTENDED_STEAL or self.load_per_core > CONTENDED_LOAD

    def as_json(self) -> dict[str, Any]:
        rates = sorted(self.tick_rates_mhz)
        return {
            "steal_share": round(self.steal_share, 4),
            "load_average": round(os.getloadavg()[0], 2),
            "involuntary_switches": self.switches,
            "tsc_mhz": round(rates[len(rates) // 2], 3) if rates else None,
            "clock_drift": round(self.clock_drift, 6),
            "self_test_log_ratio": [round(value, 5) for value in self.self_test],
            "governor": read_text(CPU_FOLDER / "cpu0" / "cpufreq" / "scaling_governor").strip() or None,
            "boost": boost(),
        }


def boost() -> bool | None:
    """Return whether the processor may exceed its nominal clock; None where the system does not tell."""
    for path, on in ((CPU_FOLDER / "cpufreq" / "boost", "1"), (CPU_FOLDER / "intel_pstate" / "no_turbo", "0")):
        text = read_text(path).strip()
        if text:
            return text == on
    return None


def involuntary_switches(pid: int) -> int:
    """Return how often another task was put in a process's place; 0 once it has ended."""
    for line in read_text(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("nonvoluntary_ctxt_switches:"):
            return int(line.split()[1])
    return 0
