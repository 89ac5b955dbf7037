"""Instructions a kernel has no business with, found in a disassembly.

A linear disassembly can be fooled by a jump into the middle of an instruction; the seals of the worker hold then.
This scan names the honest mistake and the plain cheat before anything runs. It is complete or it is a refusal.
"""

import re
import secrets

from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Exit, Limits, Sandbox
from submissions.evaluation.verdicts import Verdict

_SECONDS = 120.0
_LIMITS = Limits(
    wall_seconds=_SECONDS,
    cpu_seconds=_SECONDS,
    memory_bytes=1 << 30,
    processes=8,
    file_bytes=64 << 20,
    tmp_bytes=160 << 20,
)
_NO_TOOLS = 127
# Extended regular expressions that mean the same to grep, sed and Python; prefixes stand before a name as words.
_NAMES = "syscall|sysenter|sysexit|sysret|rdtscp?|rdpmc|int1|icebp|wrpkru|svc|hvc|smc"
_COARSE = f"{_NAMES}|int |mrs"
_FORBIDDEN = rf"(^| )(({_NAMES})[lqw]?( |$)|int \$0x80|mrs .*(cntvct|cntpct|pmccntr)[a-z0-9_]*)"
# $1 is the mark that only a complete listing ends with. The second listing goes without symbols: at each symbol
# objdump begins anew, so that one in the middle of an instruction would hide it.
_SCRIPT = r"""command -v objdump strip grep sed sort >/dev/null || exit 127
cat > /tmp/kernel.so && strip -o /tmp/bare.so /tmp/kernel.so || exit 1
list() { objdump -d -z -w --no-show-raw-insn "$1"; }
{ list /tmp/kernel.so && list /tmp/bare.so && echo "$1"; } | grep -aE "$2|^$1\$" | sed -nE "
  s/^ +[0-9a-f]+:[[:space:]]+//
  t code
  /^$1\$/p
  d
  :code
  s/[<#;].*//
  s/[[:space:]]+/ /g
  /$3/p
" | sort -u
"""


def forbidden_instruction(text: str) -> str | None:
    """Return the forbidden instruction in one line of a disassembly, without its prefixes, or None."""
    found = re.search(_FORBIDDEN, text)
    return found.group(2).strip() if found else None


def scan_library(data: bytes, sandbox: Sandbox) -> list[str]:
    """Return the forbidden instructions in a library, sorted, each once; it is disassembled in the sandbox.

    Raises RunEnded inspect_refused `inspect:disassembly` unless all of the code was read.
    """
    mark = secrets.token_hex(16)
    argv = ["/bin/sh", "-c", _SCRIPT, "sh", mark, _COARSE, _FORBIDDEN]
    ended = sandbox.run(argv, _LIMITS, stdin=data, env={"PATH": "/usr/bin:/bin", "LANG": "C"})
    found = set(ended.stdout.decode("utf-8", "replace").splitlines())
    _require_whole(ended, mark in found)
    return sorted({name for name in map(forbidden_instruction, found) if name})


def _require_whole(ended: Exit, is_marked: bool) -> None:
    said = ended.stderr.decode("utf-8", "replace")[-300:]
    if ended.status == "setup_failed" or ended.code == _NO_TOOLS:
        raise infra("inspect:objdump", f"the disassembly could not be started: {said}")
    if not ended.is_ok or not is_marked:
        raise RunEnded(
            Verdict.INSPECT_REFUSED,
            "inspect:disassembly",
            f"the code cannot be read to its end within {_SECONDS:.0f} s and 1 GiB, and so is not run",
        )
