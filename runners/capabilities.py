"""What a runner may take: plain rules over archs and kinds of run. Pure."""

from dataclasses import dataclass, field

CPU = "cpu"
GPU = "gpu"

_GPU_ARCH_PREFIXES = ("sm_", "gfx")
_DRY_RUN = "dry_run"


@dataclass(frozen=True)
class Capabilities:
    """Archs a runner executes natively, and archs whose dry runs it can do without the device."""

    archs: frozenset[str]
    dry_run_archs: frozenset[str] = field(default_factory=frozenset)

    def accepts(self, kind: str, arch: str) -> bool:
        """True where a run of this kind for this arch may be given to the runner."""
        return arch in self.archs or (kind == _DRY_RUN and arch in self.dry_run_archs)


def runner_kind(kind: str, arch: str) -> str:
    """Which queue a run waits in: `gpu` for device archs, `cpu` for the rest and for every dry run."""
    if kind != _DRY_RUN and arch.startswith(_GPU_ARCH_PREFIXES):
        return GPU
    return CPU
