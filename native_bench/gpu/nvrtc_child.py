"""Compiles one CUDA C++ source with NVRTC, in a process that is started for it, sandboxed, and can be lost.

Started from its text, alone: it imports nothing of ours. argv: a JSON document {"libraries": [BUILTINS, NVRTC]},
and to compile also "source": its path, "options": NVRTC's, "name_expressions": kernels as C++ names them,
"log_bytes": how much of the log is wanted. stdout: a JSON line {"version", "archs"}, and after a compilation also
"result" (NVRTC's number, 0 is good), "log", "lowered": {expression: symbol}, "ptx_bytes" and "cubin_bytes"; behind
the line PTX and cubin themselves. Exit status 3: the libraries cannot be loaded.
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

CANNOT_LOAD = 3


def load(libraries: list[str]) -> Any:
    """Return NVRTC. Its built-ins come first: it would look for them in the system's folders only."""
    *before, nvrtc = libraries
    for path in before:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(nvrtc)


def about(nvrtc: Any) -> dict[str, Any]:
    """Return the compiler's version and the archs that it knows."""
    major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    archs = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(archs)
    return {"version": [major.value, minor.value], "archs": list(archs)}


def fetch(nvrtc: Any, program: Any, what: str) -> bytes:
    """Return what NVRTC gives as a size and a content; nothing where it has none."""
    size = ctypes.c_size_t()
    if getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) != 0 or size.value == 0:
        return b""
    content = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, content)
    return content.raw


def text(nvrtc: Any, program: Any, what: str) -> bytes:
    """Return a text without the NULs that end it, and that part the assembler's errors from what it tells."""
    return fetch(nvrtc, program, what).replace(b"\0", b"")


def lowered_name(nvrtc: Any, program: Any, expression: str) -> str | None:
    name = ctypes.c_char_p()
    result = nvrtc.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name))
    return None if result != 0 or name.value is None else name.value.decode()


def compile_source(nvrtc: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the answer, the PTX and the cubin."""
    program = ctypes.c_void_p()
    source = Path(request["source"])
    content, name = source.read_bytes(), str(source).encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), content, name, 0, None, None)
    for expression in request["name_expressions"]:
        nvrtc.nvrtcAddNameExpression(program, expression.encode())
    options = [option.encode() for option in request["options"]]
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = text(nvrtc, program, "ProgramLog")[: request["log_bytes"]]
    answer = {"result": result, "log": log.decode("utf-8", "replace")}
    if result != 0:
        return answer | {"lowered": {}}, b"", b""
    names = {expression: lowered_name(nvrtc, program, expression) for expression in request["name_expressions"]}
    return answer | {"lowered": names}, text(nvrtc, program, "PTX"), fetch(nvrtc, program, "CUBIN")


def main() -> int:
    request = json.loads(sys.argv[1])
    try:
        nvrtc = load(request["libraries"])
    except OSError as error:
        print(error, file=sys.stderr)
        return CANNOT_LOAD
    answer, ptx, cubin = about(nvrtc), b"", b""
    if "source" in request:
        compiled, ptx, cubin = compile_source(nvrtc, request)
        answer |= {**compiled, "ptx_bytes": len(ptx), "cubin_bytes": len(cubin)}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + ptx + cubin)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
