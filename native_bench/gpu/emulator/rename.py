"""New names for what a statement mentions: scopes and inlined functions get names of their own."""

import re
from collections.abc import Mapping
from dataclasses import replace

from native_bench.gpu.emulator.syntax import Instruction, Statement, Variable

# Not inside a literal: `0f3F800000` and `0x10` hold no names.
_NAME = re.compile(r"(?<![\w$%])[A-Za-z_$%][\w$]*")


def renamed_variable(variable: Variable, names: Mapping[str, str]) -> Variable:
    """Return a variable under its new name."""
    return replace(variable, name=names.get(variable.name, variable.name))


def renamed(what: Statement, names: Mapping[str, str]) -> Statement:
    """Return a statement with names replaced."""
    if not isinstance(what, Instruction):
        return replace(what, name=names.get(what.name, what.name))
    operands = tuple(renamed_text(operand, names) for operand in what.operands)
    return replace(what, operands=operands, predicate=renamed_text(what.predicate, names))


def renamed_text(text: str, names: Mapping[str, str]) -> str:
    """Return the text with every whole name replaced."""
    return _NAME.sub(lambda match: names.get(match[0], match[0]), text)


def split_operands(text: str) -> tuple[str, ...]:
    """Split at the commas outside of brackets and braces."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return tuple([*parts, last] if last else parts)
