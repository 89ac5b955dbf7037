"""PTX text to a module of functions and variables. Raises Unsupported for what it cannot read."""

import re
from dataclasses import dataclass, field
from itertools import count

from native_bench.gpu.emulator.faults import Place, Unsupported
from native_bench.gpu.emulator.initial import initial_bytes
from native_bench.gpu.emulator.lex import Block, read_blocks
from native_bench.gpu.emulator.lines import LineTable
from native_bench.gpu.emulator.rename import renamed, renamed_variable, split_operands
from native_bench.gpu.emulator.syntax import Function, Instruction, Label, ParsedModule, Statement, Variable
from native_bench.gpu.emulator.value_types import DTYPES, size_of

_SPACES = "global|const|shared|local|param"
_VARIABLE = re.compile(
    rf"(?:\.(?:visible|extern|weak|common)\s+)*\.({_SPACES})\s+(?:\.attribute\s*\([^)]*\)\s*)?(.*)$", re.DOTALL
)
_DECLARATION = re.compile(
    r"((?:\.[\w:]+\s+(?:\d+\s+)?)*)([A-Za-z_$%][\w$]*)\s*((?:\[[^\]]*\]\s*)*)(?:=\s*(.*))?$", re.DOTALL
)
_FUNCTION = re.compile(
    r"(?:\.(?:visible|extern|weak)\s+)*\.(entry|func)\s*(?:\.attribute\s*\([^)]*\)\s*)?"
    r"(?:\(([^)]*)\)\s*)?([A-Za-z_$%][\w$]*)\s*(?:\(([^)]*)\))?(.*)$",
    re.DOTALL,
)
_INSTRUCTION = re.compile(r"(?:@\s*(!?\s*[%\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
_THREADS = re.compile(r"\.(maxntid|reqntid)\s+(\d+)\s*(?:,\s*(\d+))?\s*(?:,\s*(\d+))?")
# One declaration may name them all; a text of a few bytes must not fill the memory.
_MOST_REGISTERS = 1 << 20
_IGNORED = (".version", ".target", ".address_size", ".file", ".pragma", ".alias", ".section", ".weak .alias")


def parse(ptx: str) -> ParsedModule:
    """Read a PTX module."""
    module, lines = ParsedModule(), LineTable(ptx)
    for item in read_blocks(ptx).items:
        header = item.header if isinstance(item, Block) else item
        if header.startswith(_IGNORED) or not header:
            continue
        if match := _FUNCTION.match(header):
            function = _function(match)
            if isinstance(item, Block):
                function.has_body = True
                _Body(function, lines).read(item)
                module.functions[function.name] = function
            else:
                module.functions.setdefault(function.name, function)
        elif match := _VARIABLE.match(header):
            variable = _variable(match[1], match[2])
            module.variables[variable.name] = variable
        elif not header.startswith(".loc "):
            raise Unsupported(f"the directive {header[:80]!r}")
    return module


def _function(match: re.Match[str]) -> Function:
    function = Function(match[3], match[1] == "entry", _parameters(match[4]), _parameters(match[2]))
    for limit in _THREADS.finditer(match[5]):
        x, y, z = (int(limit[at] or 1) for at in (2, 3, 4))
        function.max_threads = x * y * z
        if limit[1] == "reqntid":
            function.required_threads = (x, y, z)
    return function


def _parameters(text: str | None) -> tuple[Variable, ...]:
    parts = [part.strip() for part in (text or "").split(",")]
    return tuple(_parameter(part) for part in parts if part)


def _parameter(text: str) -> Variable:
    match = re.match(r"\.(param|reg)\s+(.*)$", text)
    if match is None:
        raise Unsupported(f"the parameter {text!r}")
    return _variable(match[1], match[2])


def _variable(space: str, text: str) -> Variable:
    match = _DECLARATION.match(text)
    if match is None:
        raise Unsupported(f"the variable {text[:80]!r}")
    align, type_name, is_pointer = _qualifiers(match[1])
    nbytes = size_of(type_name)
    for extent in re.findall(r"\[([^\]]*)\]", match[3]):
        nbytes *= int(extent, 0) if extent.strip() else 0
    initial, pointers = initial_bytes(match[4], type_name) if match[4] else (b"", ())
    return Variable(
        match[2],
        space,
        type_name,
        nbytes,
        align or size_of(type_name),
        initial,
        pointers,
        is_pointer,
        bool(match[3]),
    )


def _qualifiers(text: str) -> tuple[int, str, bool]:
    """Return alignment, type and whether it is a pointer; an alignment after `.ptr` is that of the target."""
    words = text.split()
    is_pointer = ".ptr" in words
    own = words[: words.index(".ptr")] if is_pointer else words
    align = int(own[own.index(".align") + 1]) if ".align" in own else 0
    types = [word[1:] for word in own if word[1:] in DTYPES]
    if len(types) != 1:
        raise Unsupported(f"a variable of type {text.strip()!r}", type_name=text.strip())
    return align, types[0], is_pointer


@dataclass
class _Scope:
    """What stands between two braces of a body."""

    statements: list[Statement] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)

    def take(self, inner: "_Scope", suffix: str) -> None:
        """Add an inner scope, with the names declared in it made unique."""
        declared = {*inner.labels, *inner.registers, *(variable.name for variable in inner.variables)}
        names = {name: name + suffix for name in declared}
        self.statements += [renamed(statement, names) for statement in inner.statements]
        self.labels |= {names[label] for label in inner.labels}
        self.registers |= {names[name]: type_name for name, type_name in inner.registers.items()}
        self.variables += [renamed_variable(variable, names) for variable in inner.variables]


class _Body:
    """Reads the statements of one function."""

    def __init__(self, function: Function, lines: LineTable) -> None:
        self._function = function
        self._lines = lines
        self._place = Place()
        self._serial = count(1)

    def read(self, block: Block) -> None:
        scope = self._scope(block)
        self._function.statements = scope.statements
        self._function.registers = scope.registers
        self._function.variables = scope.variables

    def _scope(self, block: Block) -> _Scope:
        scope = _Scope()
        for item in block.items:
            if isinstance(item, Block):
                inner = self._scope(item)
                scope.take(inner, f"__s{next(self._serial)}")
            elif item.endswith(":"):
                scope.statements.append(Label(item[:-1]))
                scope.labels.add(item[:-1])
            elif item.startswith("."):
                self._directive(item, scope)
            else:
                scope.statements.append(self._instruction(item))
        return scope

    def _directive(self, text: str, scope: _Scope) -> None:
        if text.startswith(".loc "):
            self._place = self._lines.place(text) or self._place
        elif text.startswith(".reg"):
            self._registers(text, scope)
        elif text.startswith(".branchtargets") and scope.statements and isinstance(scope.statements[-1], Label):
            targets = tuple(part.strip() for part in text.removeprefix(".branchtargets").split(","))
            self._function.branch_targets[scope.statements[-1].name] = targets
        elif match := _VARIABLE.match(text):
            scope.variables.append(_variable(match[1], match[2]))
        elif not text.startswith((".pragma", ".callprototype")):
            raise Unsupported(f"the directive {text[:80]!r}", self._place)

    def _registers(self, text: str, scope: _Scope) -> None:
        match = re.match(r"\.reg\s*\.(\w+)\s+(.*)$", text)
        parts = match[2].split(",") if match else []
        if match is None or match[1] not in DTYPES:
            raise Unsupported(f"the registers {text!r}", self._place, type_name=text)
        for part in parts:
            whole = re.match(r"\s*([%\w$]+)\s*(?:<\s*(\d+)\s*>)?", part)
            if whole is None:
                raise Unsupported(f"the registers {text!r}", self._place)
            if int(whole[2] or 0) > _MOST_REGISTERS:
                raise Unsupported(f"{whole[2]} registers", self._place)
            names = [f"{whole[1]}{at}" for at in range(int(whole[2]))] if whole[2] else [whole[1]]
            scope.registers.update(dict.fromkeys(names, match[1]))

    def _instruction(self, text: str) -> Instruction:
        match = _INSTRUCTION.match(text)
        if match is None:
            raise Unsupported(f"the statement {text[:80]!r}", self._place)
        predicate = (match[1] or "").replace(" ", "")
        return Instruction(match[2].rstrip(), split_operands(match[3]), predicate, self._place)
