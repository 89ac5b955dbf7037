"""Run by `python -I -S`: takes on the limits named in its arguments, drops root, and becomes bubblewrap.

It forks nothing, so that the engine stays the direct parent and the kernel ends the sandbox with the engine.
Each argument is STEP=VALUE, done in order; what follows `--` is executed with an empty environment.
"""

import ctypes
import os
import resource
import stat
import sys

CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
SIGKILL = 9
EXIT_FAILED = 97

libc = ctypes.CDLL(None, use_errno=True)
sources: list[tuple[int, str]] = []


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if text is None else text.encode() for text in (source, target, kind)]
    data = None if options is None else options.encode()
    checked(libc.mount(*encoded, ctypes.c_ulong(flags), data), f"mount {source} on {target}")


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def join(path: str) -> None:
    write(path, "0")


def cpus(value: str) -> None:
    os.sched_setaffinity(0, {int(cpu) for cpu in value.split(",")})


def nice(value: str) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, int(value))


def limit(value: str) -> None:
    number, soft, hard = (int(part) for part in value.split(":"))
    ceiling = resource.getrlimit(number)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(number, (soft, hard))


def oom(value: str) -> None:
    write("/proc/self/oom_score_adj", value)


def private(_: str) -> None:
    """Enter a mount namespace of our own, which ends with the sandbox. Sources are opened in it."""
    checked(libc.unshare(CLONE_NEWNS), "unshare mounts")
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def show(path: str) -> None:
    sources.append((os.open(path, os.O_PATH), "show"))


def device(path: str) -> None:
    sources.append((os.open(path, os.O_PATH), "device"))


def stage(folder: str) -> None:
    """Bind each opened source under `folder`.

    The unprivileged sandbox then needs no right to walk to its sources, and can't undo a read-only
    mount made by root: in a user namespace such flags are locked.
    """
    mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755")
    for number, (descriptor, kind) in enumerate(sources):
        target = f"{folder}/{number}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(target)  # noqa: PTH102 - importing pathlib takes longer than all of this
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT))
        mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)
        flags = MS_NOSUID if kind == "device" else MS_NOSUID | MS_NODEV | MS_RDONLY
        mount("none", target, None, MS_REMOUNT | MS_BIND | flags)
        os.close(descriptor)


def become(value: str) -> None:
    uid = int(value)
    # Past the last capability the call fails.
    capability = 0
    while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def parent(value: str) -> None:
    """Die with the engine. A change of uid clears this, so it comes after `become`.

    An engine that has died before this line is no longer our parent: nobody would end us.
    """
    checked(libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "die with parent")
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    if os.getppid() != int(value):
        raise SystemExit(EXIT_FAILED)


STEPS = {
    step.__name__: step for step in (join, cpus, nice, limit, oom, private, show, device, stage, become, parent)
}


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    for argument in arguments[:end]:
        step, _, value = argument.partition("=")
        try:
            STEPS[step](value)
        except OSError as error:
            sys.stderr.write(f"sandbox: {step} {value}: {error.strerror or error}\n")
            raise SystemExit(EXIT_FAILED) from error
    command = arguments[end + 1 :]
    os.execve(command[0], command, {})  # noqa: S606  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
