"""The function an entrant of a native board writes, as C++ text from the problem's contract."""

from collections.abc import Mapping
from typing import Any

# Half floats travel as their bits: the C ABI has no type for them.
_C_TYPES = {
    "fp64": "double",
    "fp32": "float",
    "fp16": "uint16_t",
    "bf16": "uint16_t",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}


def native_signature(problem: Mapping[str, Any], symbol: str = "kernel") -> str:
    """Return `extern "C" void …` with the tensors in order, then the scalars."""
    tensors = [_tensor(tensor) for tensor in problem.get("tensors", ())]
    scalars = [f"{_C_TYPES[scalar['dtype']]} {scalar['name']}" for scalar in problem.get("scalars", ())]
    arguments = ",\n    ".join([*tensors, *scalars])
    return f'extern "C" void {symbol}(\n    {arguments});'


def _tensor(tensor: Mapping[str, Any]) -> str:
    c_type = _C_TYPES[tensor["dtype"]]
    return f"const {c_type}* {tensor['name']}" if tensor["role"] == "in" else f"{c_type}* {tensor['name']}"
