"""Run by `python -I -S`: takes on the limits named in its arguments, drops root, and becomes bubblewrap.

Every process from the engine down is tied to its parent's life before the next one starts, so that the
kernel ends the whole sandbox with the engine at whatever moment it dies.
Each argument is STEP=VALUE, done in order; what follows `--` is executed with an empty environment.
"""

import ctypes
import os
import resource
import select
import stat
import sys

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
SIGKILL = 9
EXIT_FAILED = 97

libc = ctypes.CDLL(None, use_errno=True)
sources: list[tuple[int, str]] = []
lifeline: list[int] = []


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


def tie(value: str) -> None:
    """Die with the parent. A change of uid clears this, so it is done again after `become`.

    A parent that died before is noticed: the engine by its number, the nest's keeper by its pipe.
    """
    checked(libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "die with parent")
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    if lifeline:
        poller = select.poll()
        poller.register(lifeline[0], select.POLLIN)
        is_orphan = bool(poller.poll(0))
        os.close(lifeline.pop())
    else:
        is_orphan = os.getppid() != int(value)
    if is_orphan:
        raise SystemExit(EXIT_FAILED)


def nest(kind: str) -> None:
    """Go on as the first process of a pid namespace: with it, the kernel ends all that it has started.

    bubblewrap ties its own child to itself only when that child has finished its setup: an engine killed
    before would leave it running. We keep a process outside, which holds nothing but the lifeline.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWPID | CLONE_NEWNS | (CLONE_NEWUSER if kind == "user" else 0)
    checked(libc.unshare(flags), "unshare")
    if kind == "user":
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{uid} {uid} 1")
        write("/proc/self/gid_map", f"{gid} {gid} 1")
    reading, writing = os.pipe()
    child = os.fork()
    if child != 0:
        os.closerange(0, writing)
        os.closerange(writing + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    os.close(writing)
    lifeline.append(reading)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    # bubblewrap looks its child up by the number that it has in here.
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


STEPS = {step.__name__: step for step in (join, cpus, nice, limit, oom, show, device, stage, become, tie, nest)}


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
