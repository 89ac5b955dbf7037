"""A launch's arguments as the bytes of the kernel's parameters, with their sizes and kinds checked."""

import numpy as np

from native_bench.gpu.emulator.faults import refuse_arguments
from native_bench.gpu.emulator.memory import Buffer
from native_bench.gpu.emulator.syntax import Variable
from native_bench.gpu.emulator.value_types import DTYPES

# A pointer, a scalar of a definite type, or a struct's bytes.
Argument = Buffer | np.generic | bytes

_FLOATS = ("f32", "f64", "f16")


def argument_bytes(number: int, parameter: Variable, argument: Argument) -> bytes:
    """Return an argument's bytes; raises LaunchFault when size or kind differ from the declaration.

    A Python number is refused: it does not say whether it has 4 or 8 bytes.
    """
    content = _content(number, argument)
    if len(content) != parameter.nbytes:
        message = f"argument {number} has {len(content)} bytes, the kernel declares {parameter.nbytes}"
        raise refuse_arguments(message)
    is_pointer = isinstance(argument, Buffer)
    if is_pointer and (parameter.is_array or parameter.type_name not in ("u64", "b64", "s64")):
        raise refuse_arguments(f"argument {number} is a buffer, the kernel declares {parameter.type_name}")
    if isinstance(argument, np.generic) and not parameter.is_array:
        _check_kind(number, parameter, argument)
    return content


def _content(number: int, argument: object) -> bytes:
    if isinstance(argument, Buffer):
        return argument.address.to_bytes(8, "little")
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, np.generic):
        return argument.tobytes()
    kind = type(argument).__name__
    raise refuse_arguments(f"argument {number} is a Python {kind}: pass a buffer, a numpy scalar or bytes")


def _check_kind(number: int, parameter: Variable, argument: np.generic) -> None:
    """Refuse an integer for a float parameter and the other way round; bits (`.b32`) may be either."""
    if parameter.is_pointer:
        raise refuse_arguments(f"argument {number} is {argument.dtype}, the kernel declares a pointer")
    if parameter.type_name[0] == "b":
        return
    is_float = parameter.type_name in _FLOATS
    if is_float != (argument.dtype.kind == "f"):
        declared = DTYPES[parameter.type_name]
        raise refuse_arguments(f"argument {number} is {argument.dtype}, the kernel declares {declared}")
