"""The parts of a PTX module as read: variables, functions and their statements."""

from dataclasses import dataclass, field

from native_bench.gpu.emulator.faults import Place


@dataclass(frozen=True)
class Variable:
    """A `.global`, `.const`, `.shared`, `.local` or `.param` variable; `nbytes` 0: sized by the launch."""

    name: str
    space: str
    type_name: str
    nbytes: int
    align: int
    initial: bytes = b""
    # (byte offset, name, addend): words that hold the address of another variable.
    pointers: tuple[tuple[int, str, int], ...] = ()
    is_pointer: bool = False
    is_array: bool = False


@dataclass(frozen=True)
class Instruction:
    """One instruction, its operands still text. `predicate` may begin with `!`."""

    opcode: str
    operands: tuple[str, ...]
    predicate: str
    place: Place

    @property
    def text(self) -> str:
        """Return it as PTX."""
        guard = f"@{self.predicate} " if self.predicate else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".rstrip()


@dataclass(frozen=True)
class Label:
    """A place that branches go to."""

    name: str


Statement = Instruction | Label


@dataclass
class Function:
    """A kernel or a device function."""

    name: str
    is_kernel: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    statements: list[Statement] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    # Tables of labels for `brx.idx`.
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    has_body: bool = False
    required_threads: tuple[int, int, int] | None = None
    max_threads: int | None = None


@dataclass
class ParsedModule:
    """Everything in a PTX text."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
