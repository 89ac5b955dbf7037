"""Which instructions a kernel is made of, where NVIDIA's disassembler is installed."""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from native_bench.sandbox.interface import Bind, Limits, Sandbox

# By the opcode's start; the first that fits counts.
_KINDS = (
    ("tensor", ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTC")),
    ("global_load", ("LDG", "LDGSTS", "UBLKCP", "UTMALDG")),
    ("global_store", ("STG", "UTMASTG")),
    ("shared_load", ("LDS", "LDSM")),
    ("shared_store", ("STS", "STSM")),
    ("local", ("LDL", "STL")),
    ("generic", ("LD", "ST")),
    ("constant_load", ("LDC", "ULDC", "LDCU")),
    ("atomic", ("ATOM", "ATOMS", "ATOMG", "RED", "REDG")),
    ("barrier", ("BAR", "WARPSYNC", "SYNCS", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CCTL")),
    ("shuffle", ("SHFL", "VOTE", "VOTEU", "REDUX", "MATCH")),
    ("special", ("MUFU",)),
    ("fp64", ("DFMA", "DADD", "DMUL", "DSETP", "DMNMX")),
    ("fp16", ("HFMA2", "HADD2", "HMUL2", "HSETP2", "HSET2", "HMNMX2")),
    ("fp32", ("FFMA", "FADD", "FMUL", "FSETP", "FSET", "FMNMX", "FSEL", "FCHK", "FFMA2", "FADD2", "FMUL2")),
    ("convert", ("F2F", "F2I", "I2F", "I2I", "FRND", "F2FP", "I2FP", "F2IP")),
    ("branch", ("BRA", "BRX", "JMP", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "BREAK", "WARPEXIT")),
)
_KIND_OF = {opcode: kind for kind, opcodes in _KINDS for opcode in opcodes}
_SECTION = re.compile(r'\s*\.section\s+"?\.text\.(?P<kernel>[^",\s]+)')
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?(?P<opcode>[A-Z][A-Z0-9]*)")
_LIMITS = Limits(
    wall_seconds=30, cpu_seconds=20, memory_bytes=1 << 30, processes=8, file_bytes=1 << 20, output_bytes=32 << 20
)


def instruction_mixes(cubin: bytes, sandbox: Sandbox) -> Mapping[str, Mapping[str, int]] | None:
    """Return {kernel: {kind: instructions in the code}}; None without nvdisasm, or where it fails.

    The counts are of the code as it lies there: not of what is executed.
    """
    tool = shutil.which("nvdisasm")
    if tool is None:
        return None
    with tempfile.TemporaryDirectory(prefix="zoo-disassemble-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "kernel.cubin").write_bytes(cubin)
        binds = [Bind(folder, "/cubin"), Bind(Path(tool).resolve(), "/nvdisasm")]
        ended = sandbox.run(["/nvdisasm", "-c", "/cubin/kernel.cubin"], _LIMITS, binds)
    return count_instructions(ended.stdout.decode("utf-8", "replace")) if ended.is_ok else None


def count_instructions(listing: str) -> Mapping[str, Mapping[str, int]]:
    """Return {kernel: {kind: count}} of what `nvdisasm -c` prints, with "total"; padding does not count."""
    mixes: dict[str, Counter[str]] = {}
    mix: Counter[str] = Counter()
    for line in listing.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            mix = mixes.setdefault(section["kernel"], Counter())
            continue
        instruction = _INSTRUCTION.match(line)
        if instruction is not None and instruction["opcode"] != "NOP":
            mix["total"] += 1
            mix[_KIND_OF.get(instruction["opcode"], "integer_and_other")] += 1
    return {kernel: dict(mix) for kernel, mix in mixes.items()}
