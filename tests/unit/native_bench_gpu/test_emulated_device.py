"""The emulator behind the protocol that a GPU will stand behind too."""

from dataclasses import dataclass

import numpy as np
import pytest

from native_bench.gpu.device import CudaDevice, DeviceLaunch
from native_bench.gpu.emulated_device import EmulatedDevice
from native_bench.gpu.emulator import LaunchFault, Unsupported
from submissions.evaluation.verdicts import Evidence
from tests.unit.native_bench_gpu.hand_written import kernel

DOUBLED = ["mov.u32 %tid, %tid.x;", "mad.wide.u32 %at, %tid, 4, %a0;", "ld.global.u32 %r1, [%at];"]
DOUBLED += ["add.u32 %r1, %r1, %r1;", "mad.wide.u32 %at, %tid, 4, %a1;", "st.global.u32 [%at], %r1;"]


@dataclass(frozen=True)
class Build:
    """What the device needs of a build."""

    ptx: str
    cubin: bytes = b""


def _device() -> CudaDevice:
    return EmulatedDevice()


def test_it_loads_launches_and_fetches() -> None:
    device = _device()
    module = device.load(Build(kernel(DOUBLED, 2)))
    x = device.allocate(128, "x", True, np.arange(32, dtype=np.uint32))
    y = device.allocate(128, "y")
    device.launch(module, DeviceLaunch("k", (1, 1, 1), (32, 1, 1), 0, [x, y]))
    assert np.array_equal(device.fetch(y, np.uint32, (4, 8)), 2 * np.arange(32).reshape(4, 8))


def test_it_never_has_a_time() -> None:
    device = _device()
    assert device.evidence is Evidence.EMULATED and device.elapsed_ns() is None
    module = device.load(Build(kernel(DOUBLED, 2)))
    x, y = (device.allocate(128, name, content=np.zeros(32, np.uint32)) for name in "xy")
    device.launch(module, DeviceLaunch("k", (1, 1, 1), (32, 1, 1), 0, [x, y]))
    assert device.elapsed_ns() is None


def test_its_memory_starts_poisoned() -> None:
    device = _device()
    assert np.isnan(device.fetch(device.allocate(16, "y"), np.float32, (4,))).all()


def test_it_raises_the_kernels_fault() -> None:
    device = _device()
    module = device.load(Build(kernel(DOUBLED, 2)))
    x, y = (device.allocate(64, name, content=np.zeros(16, np.uint32)) for name in "xy")
    with pytest.raises(LaunchFault, match=r"byte 64 of argument 0 \(x\), which has 64 bytes"):
        device.launch(module, DeviceLaunch("k", (1, 1, 1), (32, 1, 1), 0, [x, y]))


def test_it_refuses_an_instruction_that_it_does_not_know_when_it_loads() -> None:
    with pytest.raises(Unsupported, match="tex") as caught:
        _device().load(Build(kernel([".loc 1 9 2", "tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%a0, {%f4,%f5}];"], 1)))
    assert caught.value.place.line == 9 and caught.value.instruction == "tex.2d.v4"
