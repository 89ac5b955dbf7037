"""PTX written by hand around one instruction: values in, one instruction, values out."""

from collections.abc import Sequence

import numpy as np

from native_bench.gpu.emulator import DeviceMemory, load_module

HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n"
WIDTHS = {"pred": 32, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32}


def width_of(type_name: str) -> int:
    """Return the bits that a value of this type takes in memory here."""
    return WIDTHS.get(type_name) or int(type_name[1:])


def register_width(type_name: str) -> int:
    """Return the bits of the register that holds it: there are none of 8."""
    return max(16, width_of(type_name))


def evaluate(
    instruction: str, sources: Sequence[tuple[str, np.ndarray]], results: Sequence[str], variables: str = ""
) -> list[np.ndarray]:
    """Return the bits of the results of an instruction, whose operands are `{d0}`, `{s0}` and so on."""
    threads = len(sources[0][1]) if sources else 32
    lines = ["mov.u32 %tid, %tid.x;"]
    for at, (name, _) in enumerate(sources):
        lines += _load(at, name)
    lines += ["// under test", instruction.format(**_operands(sources, results))]
    for at, name in enumerate(results):
        lines += _store(len(sources) + at, at, name)
    memory = DeviceMemory()
    arrays = [np.asarray(array) for _, array in sources]
    buffers = [memory.allocate(array.nbytes, "in", True, array) for array in arrays]
    buffers += [memory.allocate(threads * width_of(name) // 8, "out") for name in results]
    module = load_module(kernel(lines, len(buffers), _registers(sources, results), variables))
    module.launch("k", (1, 1, 1), (threads, 1, 1), 0, buffers, memory)
    outputs = zip(buffers[len(sources) :], results, strict=True)
    return [memory.fetch(buffer, f"u{width_of(name) // 8}") for buffer, name in outputs]


def kernel(lines: Sequence[str], buffers: int, registers: Sequence[str] = (), variables: str = "") -> str:
    """Return a module with one kernel `k` of so many buffers; `%a0` and so on are their addresses."""
    parameters = ", ".join(f".param .u64 p{at}" for at in range(buffers))
    loads = [f"ld.param.u64 %a{at}, [p{at}];" for at in range(buffers)]
    common = [f".reg .b64 %a<{buffers + 1}>, %at, %w<20>;", ".reg .b32 %tid, %r<40>;", ".reg .pred %p<9>;"]
    common += [".reg .b16 %h<9>;", ".reg .f32 %f<40>;"]
    body = "\n".join([*common, *registers, *loads, *lines, "ret;"])
    return f'{HEADER}{variables}\n.visible .entry k({parameters})\n{{\n.loc 1 1 0\n{body}\n}}\n.file 1 "k.ptx"\n'


def _operands(sources: Sequence[tuple[str, np.ndarray]], results: Sequence[str]) -> dict[str, str]:
    return {f"s{at}": f"%s{at}" for at in range(len(sources))} | {
        f"d{at}": f"%d{at}" for at in range(len(results))
    }


def _registers(sources: Sequence[tuple[str, np.ndarray]], results: Sequence[str]) -> list[str]:
    named = [(f"%s{at}", name) for at, (name, _) in enumerate(sources)]
    named += [(f"%d{at}", name) for at, name in enumerate(results)]
    return [
        f".reg .pred {register};" if name == "pred" else f".reg .b{register_width(name)} {register};"
        for register, name in named
    ]


def _address(buffer: int, name: str) -> str:
    return f"mad.wide.u32 %at, %tid, {width_of(name) // 8}, %a{buffer};"


def _load(at: int, name: str) -> list[str]:
    if name == "pred":
        return [_address(at, name), "ld.global.u32 %r0, [%at];", f"setp.ne.u32 %s{at}, %r0, 0;"]
    signed = name if name in ("s8", "u8") else f"b{width_of(name)}"
    return [_address(at, name), f"ld.global.{signed} %s{at}, [%at];"]


def _store(buffer: int, at: int, name: str) -> list[str]:
    if name == "pred":
        return [_address(buffer, name), f"selp.u32 %r0, 1, 0, %d{at};", "st.global.u32 [%at], %r0;"]
    return [_address(buffer, name), f"st.global.b{width_of(name)} [%at], %d{at};"]


def run_lines(
    lines: Sequence[str],
    arrays: Sequence[np.ndarray],
    block: int = 32,
    variables: str = "",
    registers: Sequence[str] = (),
) -> list[np.ndarray]:
    """Run lines on buffers with these contents and return the contents afterwards."""
    memory = DeviceMemory()
    buffers = [memory.allocate(array.nbytes, f"b{at}", False, array) for at, array in enumerate(arrays)]
    module = load_module(kernel(lines, len(arrays), registers, variables))
    module.launch("k", (1, 1, 1), (block, 1, 1), 0, buffers, memory)
    return [memory.fetch(buffer, array.dtype, array.shape) for buffer, array in zip(buffers, arrays, strict=True)]
