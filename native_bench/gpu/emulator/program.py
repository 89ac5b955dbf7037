"""A kernel ready to run: its operations with targets resolved, its registers and its windows of memory."""

import re
from collections import Counter
from functools import lru_cache

import numpy as np

from native_bench.gpu.emulator.faults import Unsupported
from native_bench.gpu.emulator.layout import Layout, lay_out
from native_bench.gpu.emulator.site import Names, Site
from native_bench.gpu.emulator.steps import Jump, Operation
from native_bench.gpu.emulator.syntax import Function, Instruction, Label, ParsedModule, Variable
from native_bench.gpu.emulator.table import step_of
from native_bench.gpu.emulator.value_types import DTYPES, bits_of, unsigned

_NAME = re.compile(r"[A-Za-z_$%][\w$.]*")
_MOVING = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "wmma"})
_MOST_REGISTERS = 100_000


class Program:
    """One kernel of a module."""

    def __init__(self, kernel: Function, module: ParsedModule) -> None:
        self.name = kernel.name
        self.parameters = kernel.parameters
        self.required_threads = kernel.required_threads
        self.max_threads = kernel.max_threads
        instructions = [item for item in kernel.statements if isinstance(item, Instruction)]
        used = set(chain_names(instructions))
        registers = sorted(used & kernel.registers.keys())
        if len(registers) > _MOST_REGISTERS:
            raise Unsupported(f"a kernel of {len(registers)} registers")
        self.register_dtypes = [_register_dtype(kernel.registers[name]) for name in registers]
        self._shared = [
            variable
            for variable in (*module.variables.values(), *kernel.variables)
            if variable.space == "shared" and variable.name in used
        ]
        locals_ = [variable for variable in kernel.variables if variable.space in ("local", "param")]
        self.local = lay_out(locals_)
        self.granule = _granule(instructions)
        self.waits_for_others = any(_may_wait(instruction) for instruction in instructions)
        mentioned = set(chain_names([item for item in instructions if not item.opcode.startswith("ld.param")]))
        # Parameters whose address the kernel takes, beside those that it only loads.
        self.addressed_parameters = {item.name for item in kernel.parameters if item.name in mentioned}
        names = self._names(kernel, module, registers, instructions)
        self.operations = _linked(kernel, names)
        self._layouts = lru_cache(maxsize=8)(lambda dynamic: lay_out(self._shared, dynamic))

    def shared_layout(self, dynamic_bytes: int) -> Layout:
        """Return the window of shared memory of a launch with this much dynamic memory."""
        return self._layouts(dynamic_bytes)

    def bytes_per_thread(self) -> int:
        """Return what a thread's registers, local memory and places in tables cost the emulator."""
        return sum(dtype.itemsize for dtype in self.register_dtypes) + self.local.nbytes + 128

    def _names(
        self, kernel: Function, module: ParsedModule, registers: list[str], instructions: list[Instruction]
    ) -> Names:
        variables = {name: variable.space for name, variable in module.variables.items()}
        variables |= {variable.name: _space_of(variable) for variable in kernel.variables}
        variables |= {variable.name: "param" for variable in kernel.parameters}
        return Names(
            {name: (at, kernel.registers[name]) for at, name in enumerate(registers)},
            variables,
            Counter(chain_names(instructions)),
            {variable.name: variable.nbytes for variable in kernel.parameters},
            kernel.branch_targets,
        )


def chain_names(instructions: list[Instruction]) -> list[str]:
    """Return every name that the operands and guards of instructions mention, with repeats."""
    found: list[str] = []
    for instruction in instructions:
        found += _NAME.findall(instruction.predicate)
        for operand in instruction.operands:
            found += _NAME.findall(operand)
    return found


def _space_of(variable: Variable) -> str:
    return "local" if variable.space == "param" else variable.space


def _register_dtype(type_name: str) -> np.dtype[np.bool_] | np.dtype[np.unsignedinteger]:
    return np.dtype(np.bool_) if type_name == "pred" else unsigned(bits_of(type_name))


def _may_wait(instruction: Instruction) -> bool:
    """Whether a loop around this instruction may wait for what another block writes."""
    opcode, *parts = instruction.opcode.split(".")
    return opcode == "atom" or (opcode == "ld" and bool({"volatile", "acquire", "relaxed"} & set(parts)))


def _granule(instructions: list[Instruction]) -> int:
    """Return the bytes of the smallest access to memory: the resolution at which races are looked for."""
    sizes = [16]
    for instruction in instructions:
        opcode, *parts = instruction.opcode.split(".")
        if opcode in _MOVING and "param" not in parts:
            sizes += [4 if opcode == "cp" else 16]
            sizes += [DTYPES[part].itemsize for part in parts if part in DTYPES]
    return min(4, *sizes)


def _linked(kernel: Function, names: Names) -> list[Operation]:
    labels: dict[str, int] = {}
    at = 0
    for statement in kernel.statements:
        if isinstance(statement, Label):
            labels[statement.name] = at
        else:
            at += 1
    return [_operation(item, names, labels) for item in kernel.statements if isinstance(item, Instruction)]


def _operation(instruction: Instruction, names: Names, labels: dict[str, int]) -> Operation:
    site = Site(instruction, names)
    step = step_of(site)
    is_negated = instruction.predicate.startswith("!")
    guard = -1
    if instruction.predicate:
        known = names.registers.get(instruction.predicate.lstrip("!"))
        if known is None or known[1] != "pred":
            raise site.unsupported(f"the guard {instruction.predicate}")
        guard = known[0]
    targets: tuple[int, ...] = ()
    if isinstance(step, Jump):
        missing = [label for label in step.labels if label not in labels]
        if missing:
            raise site.unsupported(f"the label {missing[0]}")
        targets = tuple(labels[label] for label in step.labels)
    return Operation(step, guard, is_negated, instruction.place, targets)
