"""A loaded module: its kernels, and the launch of one."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count

import numpy as np

from native_bench.gpu.emulator.arguments import Argument
from native_bench.gpu.emulator.budget import Budget, LaunchCost
from native_bench.gpu.emulator.faults import Unsupported, refuse_arguments
from native_bench.gpu.emulator.inline import inlined
from native_bench.gpu.emulator.launch import Extents, run_launch
from native_bench.gpu.emulator.memory import Buffer, DeviceMemory
from native_bench.gpu.emulator.parse import parse
from native_bench.gpu.emulator.program import Program
from native_bench.gpu.emulator.syntax import ParsedModule, Variable

_SERIAL = count(1)


class Module:
    """What a PTX text holds, decoded; its variables live in the memory that it is first launched in."""

    def __init__(self, parsed: ParsedModule, programs: Mapping[str, Program]) -> None:
        self._variables = [item for item in parsed.variables.values() if item.space in ("global", "const")]
        self._programs = programs
        self._serial = next(_SERIAL)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels, as the compiler lowered them."""
        return tuple(sorted(self._programs))

    def parameter_sizes(self, kernel_name: str) -> tuple[int, ...]:
        """Return the bytes of each parameter that a kernel declares."""
        return tuple(parameter.nbytes for parameter in self._programs[kernel_name].parameters)

    def launch(  # noqa: PLR0913, PLR0917 - what a launch takes, in the order every driver has it
        self,
        kernel_name: str,
        grid: Extents,
        block: Extents,
        shared_bytes: int,
        arguments: Sequence[Argument],
        memory: DeviceMemory,
        budget: Budget | None = None,
    ) -> LaunchCost:
        """Run a kernel to its end and return what it executed.

        Raises LaunchFault for what is wrong with kernel or launch, Unsupported for what cannot be decided here.
        """
        program = self._programs.get(kernel_name)
        if program is None:
            raise refuse_arguments(
                f"no kernel {kernel_name!r}; the module has {', '.join(self.kernels) or 'none'}"
            )
        shape = (grid, block, shared_bytes)
        return run_launch(program, shape, arguments, memory, self.variables_in(memory), budget or Budget())

    def variables_in(self, memory: DeviceMemory) -> dict[str, Buffer]:
        """Return the module's `.global` and `.const` variables in this memory, placed there at the first call."""
        known = memory.module_buffers(self._serial)
        if known is not None:
            return dict(known)
        buffers = {
            item.name: memory.allocate(item.nbytes, item.name, item.space == "const", _initial(item))
            for item in self._variables
        }
        for item in self._variables:
            _link(item, buffers, memory)
        memory.remember_module(self._serial, buffers)
        return dict(buffers)


def load_module(ptx: str, kernels: Collection[str] | None = None) -> Module:
    """Decode a PTX text; `kernels`: the names to decode, all by default.

    Raises Unsupported, with instruction, type and line, for anything that is not emulated.
    """
    parsed = parse(ptx)
    wanted = [
        function
        for function in parsed.functions.values()
        if function.is_kernel and function.has_body and (kernels is None or function.name in kernels)
    ]
    return Module(parsed, {function.name: Program(inlined(function, parsed), parsed) for function in wanted})


def _initial(variable: Variable) -> bytes:
    return variable.initial[: variable.nbytes].ljust(variable.nbytes, b"\0")


def _link(variable: Variable, buffers: Mapping[str, Buffer], memory: DeviceMemory) -> None:
    """Put the addresses of other variables where the initial value asks for them."""
    if not variable.pointers:
        return
    content = memory.fetch(buffers[variable.name])
    for offset, name, addend in variable.pointers:
        if name not in buffers:
            raise Unsupported(f"the address of {name} in an initial value")
        content[offset : offset + 8] = np.array([buffers[name].address + addend], np.uint64).view(np.uint8)
    memory.write(buffers[variable.name], content)
