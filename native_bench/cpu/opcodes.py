"""Instructions a kernel has no business with, found in a disassembly.

A linear disassembly can be fooled by a jump into the middle of an instruction; the seals of the worker hold then.
This scan names the honest mistake and the plain cheat before anything runs.
"""

import re

from native_bench.outcome import infra
from native_bench.sandbox.interface import Limits, Sandbox

_LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=30,
    memory_bytes=1 << 30,
    processes=8,
    file_bytes=64 << 20,
    output_bytes=64 << 20,
    tmp_bytes=96 << 20,
)
_X86 = r"syscall|sysenter|sysexit|rdtscp?|rdpmc|int1|icebp|wrpkru|int +\$0x80"
_ARM = r"svc|hvc|smc|mrs\b.*(?:cntvct|cntpct|pmccntr)\w*"
_INSTRUCTION = re.compile(rf"^ +[0-9a-f]+:\s+(?:[a-z0-9]+ )?(?P<name>{_X86}|{_ARM})")
# objdump wants a file it can seek in; the coarse filter keeps the answer small.
_SCRIPT = r"""cat > /tmp/kernel.so && objdump -d --no-show-raw-insn -w /tmp/kernel.so > /tmp/text || exit 1
grep -E 'sys(call|enter|exit)|rdtsc|rdpmc|int1|icebp|wrpkru|int +|svc|hvc|smc|mrs' /tmp/text | head -n 2000
exit 0"""


def forbidden_instructions(listing: str) -> list[str]:
    """Return the names of forbidden instructions in the lines of `objdump -d`, sorted, each once."""
    found = (_INSTRUCTION.match(line) for line in listing.splitlines())
    return sorted({" ".join(match["name"].split()) for match in found if match})


def scan_library(data: bytes, sandbox: Sandbox) -> list[str]:
    """Disassemble the library in the sandbox, as data, and return the forbidden instructions in it."""
    ended = sandbox.run(
        ["/bin/sh", "-c", _SCRIPT], _LIMITS, stdin=data, env={"PATH": "/usr/bin:/bin", "LANG": "C"}
    )
    if not ended.is_ok:
        raise infra("inspect:objdump", f"objdump failed: {ended.stderr.decode('utf-8', 'replace')[-300:]}")
    return forbidden_instructions(ended.stdout.decode("utf-8", "replace"))
