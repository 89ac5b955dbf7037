"""An instruction taken apart: its name, modifiers, types, and operands on demand. Refuses what does not fit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from native_bench.gpu.emulator.faults import Unsupported
from native_bench.gpu.emulator.initial import literal_bits
from native_bench.gpu.emulator.operands import (
    Address,
    Literal,
    NotPredicate,
    Register,
    Source,
    Special,
    Target,
    VariableAddress,
    WideRegister,
)
from native_bench.gpu.emulator.rename import split_operands
from native_bench.gpu.emulator.special import SPECIAL_REGISTERS
from native_bench.gpu.emulator.syntax import Instruction
from native_bench.gpu.emulator.value_types import DTYPES, bits_of, unsigned

_ADDRESS = re.compile(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\s*\w+))?\s*\]$")
_WITH_OFFSET = re.compile(r"([%\w$.]+)\s*\+\s*(-?\w+)$")


@dataclass(frozen=True)
class Names:
    """What operands of a kernel may mention: registers by (number, type), and variables."""

    registers: Mapping[str, tuple[int, str]]
    # The state space of each; a kernel's own parameters are `param`, those of calls `local`.
    variables: Mapping[str, str]
    # How often each register is mentioned in the kernel: a result mentioned once is never read.
    mentions: Mapping[str, int] = field(default_factory=dict)
    parameter_bytes: Mapping[str, int] = field(default_factory=dict)
    branch_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Site:
    """One instruction on its way through the table."""

    def __init__(self, instruction: Instruction, names: Names) -> None:
        self.instruction = instruction
        self.names = names
        # `shared::cta` is this block's shared memory, which is the only one here.
        opcode, *parts = instruction.opcode.replace("shared::cta", "shared").split(".")
        self.opcode = opcode
        self.types = tuple(part for part in parts if part in DTYPES)
        self.modifiers = tuple(part for part in parts if part not in DTYPES)
        self.operands = instruction.operands

    @property
    def type(self) -> str:
        """The last type: the one the instruction works in, where it names only one."""
        return self.types[-1]

    def unsupported(self, why: str = "") -> Unsupported:
        """Return the refusal of this instruction."""
        name, types = ".".join((self.opcode, *self.modifiers)), ".".join(self.types)
        what = f"the instruction {self.instruction.opcode}" + (f": {why}" if why else "")
        return Unsupported(what, self.instruction.place, name, types)

    def expect(self, least: int, most: int | None = None) -> None:
        """Refuse another number of operands."""
        if not least <= len(self.operands) <= (least if most is None else most):
            raise self.unsupported(f"{len(self.operands)} operands")

    def source(self, at: int, type_name: str, is_narrowing: bool = False) -> Source:
        """Return the operand at this place, read as this type."""
        return self.source_of(self.operands[at], type_name, is_narrowing)

    def source_of(self, text: str, type_name: str, is_narrowing: bool = False) -> Source:
        """Return the source that an operand's text names."""
        dtype = DTYPES[type_name]
        if text.startswith("!") and text[1:] in self.names.registers and type_name == "pred":
            return NotPredicate(self._register(text[1:], type_name, False)[0])
        if text in self.names.registers:
            number, width = self._register(text, type_name, is_narrowing)
            is_own_width = width == (1 if type_name == "pred" else 8 * dtype.itemsize)
            return Register(number, dtype) if is_own_width else WideRegister(number, dtype)
        if text in SPECIAL_REGISTERS:
            return Special(text, dtype)
        if text in self.names.variables:
            return VariableAddress(text, dtype)
        match = _WITH_OFFSET.match(text)
        if match and match[1] in self.names.variables:
            return VariableAddress(match[1], dtype, int(match[2], 0))
        return self._literal(text, type_name)

    def target(self, text: str, type_name: str, is_widening: bool = False) -> Target:
        """Return the register that a result of this type goes to; `_` drops it."""
        if text == "_":
            return Target(-1, bits_of(type_name))
        if text not in self.names.registers:
            raise self.unsupported(f"the result {text}")
        number, own = self.names.registers[text]
        width = 1 if own == "pred" else bits_of(own)
        wanted = 1 if type_name == "pred" else bits_of(type_name)
        if width != wanted and not (is_widening and width > wanted and 1 not in (width, wanted)):
            raise self.unsupported(f"a result of {wanted} bits for {text}, which has {width}")
        return Target(number, width)

    def address(self, at: int) -> Address:
        """Return the address operand at this place."""
        match = _ADDRESS.match(self.operands[at]) if at < len(self.operands) else None
        if match is None:
            raise self.unsupported("no address")
        offset = int(match[2].replace(" ", "").rstrip("uU"), 0) if match[2] else 0
        base = match[1]
        if base in self.names.registers:
            width = bits_of(self.names.registers[base][1])
            if width not in (32, 64):
                raise self.unsupported(f"an address of {width} bits")
            return Address(self.source_of(base, f"u{width}"), offset)
        return Address(self.source_of(base, "u64"), offset)

    def parts(self, at: int) -> tuple[str, ...]:
        """Return the names in `{a, b}`, or the one name."""
        text = self.operands[at]
        return split_operands(text[1:-1]) if text.startswith("{") else (text,)

    def integer(self, at: int) -> int:
        """Return an operand that must be a literal integer."""
        try:
            return int(self.operands[at].rstrip("uU"), 0)
        except (ValueError, IndexError):
            raise self.unsupported("an operand that should be a literal") from None

    def is_result_used(self, text: str) -> bool:
        """Whether anything in the kernel mentions this result again."""
        return text != "_" and self.names.mentions.get(text, 0) > 1

    def are_in_parameter(self, name: str, offset: int, nbytes: int) -> bool:
        """Whether these bytes lie in the kernel's parameter."""
        return 0 <= offset <= self.names.parameter_bytes[name] - nbytes

    def _register(self, text: str, type_name: str, is_narrowing: bool) -> tuple[int, int]:
        number, own = self.names.registers[text]
        width = 1 if own == "pred" else bits_of(own)
        wanted = 1 if type_name == "pred" else bits_of(type_name)
        if width != wanted and not (is_narrowing and width > wanted and 1 not in (width, wanted)):
            raise self.unsupported(f"{text} has {width} bits, not {wanted}")
        return number, width

    def _literal(self, text: str, type_name: str) -> Literal:
        try:
            if type_name == "pred":
                return Literal(np.array([bool(int(text, 0))]))
            bits = literal_bits(text, type_name)
        except ValueError:
            raise self.unsupported(f"the operand {text}") from None
        return Literal(np.array([bits], unsigned(bits_of(type_name))).view(DTYPES[type_name]))
