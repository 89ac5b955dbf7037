"""Integer expressions over a problem's dims, such as `ceil_div(n, 256) * 4`: parsed here, never by Python.

    expression = term (("+" | "-") term)*
    term       = factor (("*" | "//" | "%") factor)*
    factor     = "-" factor | number | name | function "(" expression ("," expression)* ")" | "(" expression ")"

`//` and `%` round down, as Python's do.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from submissions.kernel_package.errors import Rejected

MAX_CHARACTERS = 200
MAX_DEPTH = 20
MAX_VALUE = (1 << 63) - 1
CODE = "package:expression"

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>//|[-+*%(),]))")

Node = int | str | tuple[str, tuple["Node", ...]]


def _floor_divide(a: int, b: int) -> int:
    return a // b


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": _floor_divide,
    "%": lambda a, b: a % b,
    "ceil_div": _ceil_div,
}
_DIVIDES = frozenset({"//", "%", "ceil_div"})
FUNCTIONS = frozenset({"min", "max", "ceil_div"})


def evaluate(expression: str | int, dims: Mapping[str, int]) -> int:
    """Return the value; raises Rejected `package:expression` (syntax, unknown name, zero divisor, overflow)."""
    tree = expression if isinstance(expression, int) else _parse(expression)
    return _value(tree, dims, str(expression))


def names_in(expression: str | int) -> frozenset[str]:
    """Return the dims an expression needs; raises Rejected `package:expression` on bad syntax."""
    return _names(expression if isinstance(expression, int) else _parse(expression))


def _names(node: Node) -> frozenset[str]:
    if isinstance(node, int):
        return frozenset()
    if isinstance(node, str):
        return frozenset({node})
    return frozenset[str]().union(*(_names(part) for part in node[1]))


def _value(node: Node, dims: Mapping[str, int], text: str) -> int:
    if isinstance(node, int):
        result = node
    elif isinstance(node, str):
        if node not in dims:
            raise _error(text, f"{node!r} is not a dim; known: {', '.join(sorted(dims)) or 'none'}")
        result = dims[node]
    else:
        operator, parts = node
        result = _apply(operator, [_value(part, dims, text) for part in parts], text)
    if abs(result) > MAX_VALUE:
        raise _error(text, "its value does not fit 64 bits")
    return result


def _apply(operator: str, values: list[int], text: str) -> int:
    if operator == "min":
        return min(values)
    if operator == "max":
        return max(values)
    if operator == "negate":
        return -values[0]
    if operator in _DIVIDES and values[1] == 0:
        raise _error(text, "it divides by zero")
    return _BINARY[operator](values[0], values[1])


def _error(text: str, why: str) -> Rejected:
    return Rejected(
        CODE, f"the expression {text[:MAX_CHARACTERS]!r} is wrong: {why}", expression=text[:MAX_CHARACTERS]
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> Node:
    if len(text) > MAX_CHARACTERS:
        raise _error(text, f"it is longer than {MAX_CHARACTERS} characters")
    return _Parser(text).parse()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _Parser:
    """Recursive descent over the tokens; depth is bounded, length is by the caller."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = self._tokenize(text)
        self._next = 0
        self._depth = 0

    def _tokenize(self, text: str) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        stripped = text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise _error(text, f"{stripped[position:].lstrip()[:1]!r} is not allowed in it")
            kind = str(match.lastgroup)
            tokens.append(_Token(kind, match.group(kind)))
            position = match.end()
        return tokens

    def parse(self) -> Node:
        tree = self._sum()
        if self._peek() is not None:
            raise _error(self.text, f"{self._take().text!r} is not expected there")
        return tree

    def _peek(self) -> str | None:
        return self._tokens[self._next].text if self._next < len(self._tokens) else None

    def _take(self) -> _Token:
        if self._next >= len(self._tokens):
            raise _error(self.text, "it ends too early")
        self._next += 1
        return self._tokens[self._next - 1]

    def _expect(self, sign: str) -> None:
        token = self._take()
        if token.text != sign:
            raise _error(self.text, f"{sign!r} is expected where {token.text!r} stands")

    def _sum(self) -> Node:
        tree = self._product()
        while (sign := self._peek()) in ("+", "-"):
            self._take()
            tree = (str(sign), (tree, self._product()))
        return tree

    def _product(self) -> Node:
        tree = self._factor()
        while (sign := self._peek()) in ("*", "//", "%"):
            self._take()
            tree = (str(sign), (tree, self._factor()))
        return tree

    def _factor(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _error(self.text, f"it is nested deeper than {MAX_DEPTH}")
        tree = self._unnested_factor(self._take())
        self._depth -= 1
        return tree

    def _unnested_factor(self, token: _Token) -> Node:
        if token.kind == "number":
            value = int(token.text)
            if value > MAX_VALUE:
                raise _error(self.text, "a number does not fit 64 bits")
            return value
        if token.kind == "name":
            return self._call(token.text) if self._peek() == "(" else token.text
        if token.text == "-":
            return ("negate", (self._factor(),))
        if token.text == "(":
            tree = self._sum()
            self._expect(")")
            return tree
        raise _error(self.text, f"{token.text!r} is not expected there")

    def _call(self, function: str) -> Node:
        if function not in FUNCTIONS:
            raise _error(self.text, f"{function!r} is no function; known: {', '.join(sorted(FUNCTIONS))}")
        self._expect("(")
        arguments = [self._sum()]
        while self._peek() == ",":
            self._take()
            arguments.append(self._sum())
        self._expect(")")
        if len(arguments) < 2 or (function == "ceil_div" and len(arguments) != 2):
            raise _error(self.text, f"{function} has the wrong number of arguments")
        return (function, tuple(arguments))
