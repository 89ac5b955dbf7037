"""The generated `zoo_entry`: it unpacks pointers and scalars and calls the entrant's function."""

from submissions.kernel_package.problem import Problem, Scalar, Tensor

CPP_TYPES = {
    "fp64": "double", "fp32": "float", "fp16": "std::uint16_t", "bf16": "std::uint16_t",
    "i8": "std::int8_t", "i16": "std::int16_t", "i32": "std::int32_t", "i64": "std::int64_t",
    "u8": "std::uint8_t", "u16": "std::uint16_t", "u32": "std::uint32_t", "u64": "std::uint64_t",
}  # fmt: skip


def signature(problem: Problem, symbol: str) -> str:
    """Return the C declaration that a kernel of this problem defines."""
    parameters = [f"{_pointer(tensor)} {tensor.name}" for tensor in problem.tensors]
    parameters += [f"{CPP_TYPES[scalar.dtype]} {scalar.name}" for scalar in problem.scalars]
    return f'extern "C" void {symbol}({", ".join(parameters)})'


def wrapper_source(problem: Problem, symbol: str) -> bytes:
    """Return the C++ source of the library's only export."""
    arguments = [_tensor_argument(tensor, index) for index, tensor in enumerate(problem.tensors)]
    arguments += [_scalar_argument(scalar, index) for index, scalar in enumerate(problem.scalars)]
    unused = "" if problem.scalars else "[[maybe_unused]] "
    return f"""#include <cstdint>

{signature(problem, symbol)};

extern "C" __attribute__((visibility("default"))) void zoo_entry(void* const tensors[],
                                                                 {unused}const void* const scalars[]) {{
    {symbol}({(", ").join(arguments)});
}}
""".encode()


def _pointer(tensor: Tensor) -> str:
    constness = "const " if tensor.role == "in" else ""
    return f"{constness}{CPP_TYPES[tensor.dtype]}*"


def _tensor_argument(tensor: Tensor, index: int) -> str:
    return f"static_cast<{_pointer(tensor)}>(tensors[{index}])"


def _scalar_argument(scalar: Scalar, index: int) -> str:
    return f"*static_cast<const {CPP_TYPES[scalar.dtype]}*>(scalars[{index}])"
