"""A GPU's behaviour without a GPU: runs the PTX that the CUDA compiler made, in numpy. It tells no times.

A launch ends in one of three ways: it returns, and the buffers hold what the kernel wrote; it raises LaunchFault,
whose `fault` says what the kernel does wrong, where, and in which thread; or Unsupported, which says nothing about
the kernel.
"""

from native_bench.gpu.emulator.arguments import Argument
from native_bench.gpu.emulator.budget import Budget, LaunchCost
from native_bench.gpu.emulator.faults import Fault, FaultKind, LaunchFault, Unsupported
from native_bench.gpu.emulator.memory import Buffer, DeviceMemory
from native_bench.gpu.emulator.module import Module, load_module

__all__ = [
    "Argument",
    "Budget",
    "Buffer",
    "DeviceMemory",
    "Fault",
    "FaultKind",
    "LaunchCost",
    "LaunchFault",
    "Module",
    "Unsupported",
    "load_module",
]
