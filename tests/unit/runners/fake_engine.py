"""A real process that speaks the engine's lines; what it does stands in the candidate's `behaviour.txt`.

It shows that the daemon copes with any engine, also with one that misbehaves; the true one is tested elsewhere.
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

folder = Path(sys.argv[-1])
job = json.loads((folder / "job.json").read_text())
spoken = json.loads(sys.stdin.readline())
[script] = (folder / "candidate").rglob("behaviour.txt")
behaviour = script.read_text().strip()


def say(kind, **members):
    print(json.dumps({"event": kind, **members}), flush=True)


def note_pid(name):
    target = Path(os.environ["PID_FOLDER"]) / name
    target.write_text(str(os.getpid()))


def detach_grandchild(name):
    """Leave the session and the parent, as a hostile kernel would."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note_pid(name)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(300)
        os._exit(0)
    os.wait()


def outcome(verdict="ok", code="run:ok"):
    digest = hashlib.sha256(bytes.fromhex(spoken["secret"])).hexdigest()
    result = {
        "verdict": verdict,
        "code": code,
        "message": "",
        "stage": "report",
        "stages_ms": {"prepare": 1.0},
        "evidence": "measured",
        "details": {"hidden": len(spoken["hidden_dims"])},
        "cases": [],
        "contestants": job["contestants"],
        "secret_sha256": digest,
        "harness_version": "0" * 64,
        "processes": job["processes"],
        "environment": {"variables": sorted(os.environ), "files": sorted(p.name for p in folder.iterdir())},
        "log": "",
        "samples": "",
    }
    say("outcome", result=result)


note_pid("engine")
say("stage", stage="build")
if behaviour == "ok":
    say("log", text="compiled\n")
    say("stage", stage="time")
    say("progress", fraction=0.5)
    outcome()
elif behaviour == "slow":
    say("progress", fraction=0.25)
    time.sleep(300)
elif behaviour == "wrong":
    outcome("wrong_result", "check:wrong")
elif behaviour == "dies":
    print("boom", spoken["secret"], file=sys.stderr)
    os.kill(os.getpid(), signal.SIGKILL)
elif behaviour == "exits":
    sys.exit(3)
elif behaviour == "garbage":
    print("no json at all", flush=True)
    time.sleep(300)
elif behaviour == "odd_event":
    say("progress", fraction="half")
    time.sleep(300)
elif behaviour == "flood":
    os.write(1, b"x" * (9 << 20))
    time.sleep(300)
elif behaviour == "chatty":
    for _ in range(400):
        say("log", text="0123456789abcde\n" * 64)
    say("log", text="the very end\n")
    outcome()
elif behaviour == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    detach_grandchild("grandchild")
    say("stage", stage="time")
    time.sleep(300)
elif behaviour == "leaves_grandchild":
    detach_grandchild("grandchild")
    outcome()
elif behaviour == "closes_streams":
    for stream in (1, 2):
        os.close(stream)
    time.sleep(300)
