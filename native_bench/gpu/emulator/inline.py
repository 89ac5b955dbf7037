"""Calls replaced by the bodies of their functions: afterwards a kernel is one list of statements.

A function's formal parameters take the names of the caller's `.param` variables, so that nothing is copied.
"""

from dataclasses import replace
from itertools import count

from native_bench.gpu.emulator.faults import Unsupported
from native_bench.gpu.emulator.rename import renamed, renamed_variable, split_operands
from native_bench.gpu.emulator.syntax import Function, Instruction, Label, ParsedModule, Statement, Variable

# What the device runtime provides; the stepping loop knows them by name.
RUNTIME_CALLS = frozenset({"vprintf", "__assertfail"})
_MOST_DEEP = 64
# Where each function calls the next one twice, the body doubles at each depth.
_MOST_COPIED = 100_000


def inlined(kernel: Function, module: ParsedModule) -> Function:
    """Return the kernel with every call in place; raises Unsupported on recursion and indirect calls."""
    flat = replace(
        kernel,
        registers=dict(kernel.registers),
        variables=list(kernel.variables),
        branch_targets=dict(kernel.branch_targets),
    )
    flat.statements = _Inliner(module, flat).statements_of(kernel, (kernel.name,))
    return flat


class _Inliner:
    def __init__(self, module: ParsedModule, flat: Function) -> None:
        self._module = module
        self._flat = flat
        self._serial = count(1)
        self._copied = 0

    def statements_of(self, function: Function, stack: tuple[str, ...]) -> list[Statement]:
        """Return the function's statements with its calls expanded."""
        out: list[Statement] = []
        for statement in function.statements:
            if isinstance(statement, Instruction) and statement.opcode.split(".")[0] == "call":
                out += self._call(statement, stack)
            else:
                out.append(statement)
        return out

    def _call(self, call: Instruction, stack: tuple[str, ...]) -> list[Statement]:
        results, name, arguments = _parts(call)
        if name in RUNTIME_CALLS:
            return [replace(call, opcode=f"call.{name}", operands=arguments)]
        callee = self._module.functions.get(name)
        if callee is None or not callee.has_body:
            raise Unsupported(f"the call of {name}", call.place, "call", name)
        if name in stack or len(stack) > _MOST_DEEP:
            raise Unsupported(f"the recursive function {name}", call.place, "call", name)
        suffix = f"__c{next(self._serial)}"
        end = f"$return{suffix}"
        copied = self._copy(callee, (*results, *arguments), suffix, stack)
        body = [_returning_to(end, statement) for statement in copied]
        skip = [Instruction("bra", (end,), _negated(call.predicate), call.place)] if call.predicate else []
        return [*skip, *body, Label(end)]

    def _copy(
        self,
        callee: Function,
        actual: tuple[str, ...],
        suffix: str,
        stack: tuple[str, ...],
    ) -> list[Statement]:
        """Return the callee's statements under new names, and declare these names in the kernel."""
        statements = self.statements_of(callee, (*stack, callee.name))
        self._copied += len(statements)
        if self._copied > _MOST_COPIED:
            raise Unsupported(f"more than {_MOST_COPIED} statements by calls", type_name=callee.name)
        names = {name: name + suffix for name in callee.registers}
        names |= {variable.name: variable.name + suffix for variable in callee.variables if _is_own(variable)}
        names |= {item.name: item.name + suffix for item in callee.statements if isinstance(item, Label)}
        formal = [variable.name for variable in (*callee.results, *callee.parameters)]
        names |= dict(zip(formal, actual, strict=True))
        self._flat.registers |= {names[name]: type_name for name, type_name in callee.registers.items()}
        self._flat.variables += [renamed_variable(variable, names) for variable in callee.variables]
        self._flat.branch_targets |= {
            names[label]: tuple(names[target] for target in targets)
            for label, targets in callee.branch_targets.items()
        }
        return [renamed(statement, names) for statement in statements]


def _is_own(variable: Variable) -> bool:
    # A function's shared variables are one for the whole block, however often it is called.
    return variable.space != "shared"


def _parts(call: Instruction) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return the names of results, function and arguments of `call (result), function, (arguments)`."""
    operands = list(call.operands)
    results = split_operands(operands.pop(0).strip("() ")) if operands[0].startswith("(") else ()
    name = operands.pop(0)
    arguments = split_operands(operands.pop(0).strip("() ")) if operands else ()
    if operands or name.startswith("%"):
        raise Unsupported("an indirect call", call.place, "call", name)
    return results, name, arguments


def _returning_to(end: str, statement: Statement) -> Statement:
    if isinstance(statement, Instruction) and statement.opcode in ("ret", "ret.uni"):
        return replace(statement, opcode="bra", operands=(end,))
    return statement


def _negated(predicate: str) -> str:
    return predicate[1:] if predicate.startswith("!") else f"!{predicate}"
