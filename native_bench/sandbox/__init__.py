"""Isolation of submitted code: one interface, a bubblewrap backend, and a probe that fails closed."""

from native_bench.sandbox.interface import Bind, Cell, Exit, Limits, OutputRefused, Sandbox, SandboxMissing
from native_bench.sandbox.opening import open_sandbox
from native_bench.sandbox.outputs import read_output
from native_bench.sandbox.probe import Isolation, probe

__all__ = [
    "Bind",
    "Cell",
    "Exit",
    "Isolation",
    "Limits",
    "OutputRefused",
    "Sandbox",
    "SandboxMissing",
    "open_sandbox",
    "probe",
    "read_output",
]
