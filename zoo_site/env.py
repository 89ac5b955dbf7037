"""Read the environment: the only place in the site that does. A wrong value is named, never guessed."""

import json
import os
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from submissions.kernel_package.errors import ZooError
from submissions.kernel_package.strict_yaml import load_yaml

CHECKOUT = Path(__file__).resolve().parent.parent


_PROBLEM = re.compile(r"[A-Za-z0-9_]+/[A-Za-z0-9_]+/[a-z0-9]+")


class WrongValue(ZooError):
    """A variable holds what it must not; the message names it."""


@dataclass(frozen=True)
class Variable:
    """One variable: how its text is read, and its default as text (None: derived or absent)."""

    name: str
    read: Callable[[str], Any]
    default: str | None
    meaning: str


def _text(value: str) -> str:
    if not value.strip() or any(ord(character) < 32 for character in value):
        raise ValueError("must be one line of text")
    return value


def _path(value: str) -> Path:
    return Path(_text(value)).expanduser().absolute()


def _whole(lowest: int, highest: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not value.strip().isdecimal() or not lowest <= int(value) <= highest:
            raise ValueError(f"must be a whole number from {lowest} to {highest}")
        return int(value)

    return read


def _seconds(lowest: float, highest: float) -> Callable[[str], float]:
    def read(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not lowest <= number <= highest:
            raise ValueError(f"must be a number of seconds from {lowest:g} to {highest:g}")
        return number

    return read


def _switch(value: str) -> bool:
    if value not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return value == "1"


def _choice(*allowed: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return value

    return read


def _url(*schemes: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if urlsplit(value).scheme not in schemes:
            raise ValueError(f"must be a URL that starts with {' or '.join(f'{s}://' for s in schemes)}")
        return value

    return read


def _problems(value: str) -> frozenset[str] | None:
    if value == "all":
        return None
    names = frozenset() if value == "none" else frozenset(name.strip() for name in value.split(","))
    if not all(_PROBLEM.fullmatch(name) for name in names):
        raise ValueError("must be all, none, or problems like Vector/saxpy/fp32 by comma")
    return names


def _secret(value: str) -> str:
    if len(value) < 32:
        raise ValueError("must have at least 32 characters")
    return value


def _email(value: str) -> str:
    if value.count("@") != 1 or any(character in value for character in "<>\n "):
        raise ValueError("must be a plain address like zoo@example.org")
    return value


def _author(value: str) -> str:
    if any(character in value for character in "<>"):
        raise ValueError("must not hold < or >")
    return _text(value)


def _runner_keys(value: str) -> dict[str, list[str]]:
    try:
        keys = json.loads(value)
    except ValueError:
        keys = None
    is_mapping = isinstance(keys, dict) and all(
        isinstance(archs, list) and all(isinstance(arch, str) for arch in archs) for archs in keys.values()
    )
    if not is_mapping:
        raise ValueError('must be JSON of the form {"<key>": ["<arch>", …]}')
    return dict(keys)


VARIABLES: Mapping[str, Variable] = {
    variable.name: variable
    for variable in (
        Variable("KERNEL_ZOO_HOME", _path, str(CHECKOUT / "var"), "Folder of everything the site keeps."),
        Variable("KERNEL_ZOO_PLATFORM_REPO_PATH", _path, str(CHECKOUT), "The checkout the site runs from."),
        Variable("KERNEL_ZOO_KERNEL_REPO_PATH", _path, None, "The store: a git repository. Default: under home."),
        Variable("KERNEL_ZOO_QUEUE_DIR", _path, None, "The spool of uploads. Default: under home."),
        Variable("KERNEL_ZOO_INDEX_PATH", _path, None, "The prebuilt index.json. Default: under home."),
        Variable("KERNEL_ZOO_HOST", _text, "127.0.0.1", "Address to listen on."),
        Variable("KERNEL_ZOO_PORT", _whole(1, 65535), "8000", "Port to listen on."),
        Variable("KERNEL_ZOO_ALLOWED_HOSTS", _text, None, "Host names to answer to, by comma."),
        Variable("KERNEL_ZOO_RUNNER_KEYS_JSON", _runner_keys, "{}", "Keys of remote runners with their archs."),
        Variable("KERNEL_ZOO_LONGPOLL_TIMEOUT_SECONDS", _seconds(0, 120), "30", "Longest wait of a long poll."),
        Variable("KERNEL_ZOO_GIT_AUTHOR_NAME", _author, "Kernel Zoo", "Author of the store's commits."),
        Variable("KERNEL_ZOO_GIT_AUTHOR_EMAIL", _email, "zoo@localhost", "Address of that author."),
        Variable(
            "KERNEL_ZOO_DATABASE_URL",
            _url("sqlite", "postgres", "postgresql"),
            None,
            "SQL mirror. Default: SQLite under home.",
        ),
        Variable(
            "KERNEL_ZOO_REDIS_URL", _url("redis", "rediss", "unix"), None, "Redis for live hints. Default: none."
        ),
        Variable("KERNEL_ZOO_SECRET_KEY", _secret, None, "Signs sessions. Default: made once, kept under home."),
        Variable("KERNEL_ZOO_OPEN_SUBMISSIONS", _switch, "0", "1: accept X-Submitter-Id without a token."),
        Variable(
            "KERNEL_ZOO_SERVER_URL", _url("http", "https"), "http://127.0.0.1:8000", "Site that a runner serves."
        ),
        Variable("KERNEL_ZOO_RUNNER_KEY", _text, None, "Key a remote runner shows."),
        Variable("KERNEL_ZOO_RUNNER_ARCH", _text, None, "Archs of a runner, by comma. Default: this machine's."),
        Variable(
            "KERNEL_ZOO_CONTAINER_BACKEND",
            _choice("bwrap", "podman", "docker", "stub"),
            "bwrap",
            "What isolates submitted code; stub never ranks.",
        ),
        Variable("KERNEL_ZOO_CONTAINER_IMAGE", _text, None, "Image of the container backends."),
        Variable("KERNEL_ZOO_CONTAINER_TIMEOUT_S", _whole(1, 86400), "600", "Longest run on a runner."),
        Variable("KERNEL_ZOO_RUNNER_WORKDIR", _path, None, "Folder of a runner's runs. Default: under home."),
        Variable(
            "KERNEL_ZOO_RUNNER_CACHE_BYTES", _whole(1 << 20, 1 << 50), str(2 << 30), "Bound of the build cache."
        ),
        Variable(
            "KERNEL_ZOO_STARTER_PROBLEMS", _problems, "all", "Starter problems: all, none, or names by comma."
        ),
        Variable("KERNEL_ZOO_HEARTBEAT_SECONDS", _seconds(0.05, 300), "15", "Between two heartbeats of a run."),
        Variable("KERNEL_ZOO_LEASE_SECONDS", _seconds(0.2, 3600), "60", "Life of a lease after a heartbeat."),
    )
}


def value_of(name: str, environ: Mapping[str, str] | None = None) -> Any:
    """Return the typed value of a variable, None where it is unset without a default; raises WrongValue."""
    variable = VARIABLES[name]
    text = (os.environ if environ is None else environ).get(name, variable.default)
    if text is None:
        return None
    try:
        return variable.read(text)
    except ValueError as error:
        raise WrongValue("config:wrong-value", f"{name} {error}; it is {_shown(name, text)}") from None


def _shown(name: str, text: str) -> str:
    return "not shown" if "KEY" in name else repr(text)


def all_values(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return every variable's value by name; raises WrongValue at the first wrong one."""
    values = {name: value_of(name, environ) for name in VARIABLES}
    if values["KERNEL_ZOO_HEARTBEAT_SECONDS"] * 2 > values["KERNEL_ZOO_LEASE_SECONDS"]:
        raise WrongValue(
            "config:wrong-value",
            "KERNEL_ZOO_LEASE_SECONDS must be at least twice KERNEL_ZOO_HEARTBEAT_SECONDS, "
            "or one lost heartbeat ends a run",
        )
    return values


def load_config_file(path: Path, environ: MutableMapping[str, str] | None = None) -> None:
    """Set every variable the YAML file names and the environment does not; raises WrongValue or Rejected."""
    target = os.environ if environ is None else environ
    try:
        document = load_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise WrongValue("config:unreadable", f"--config {path} can't be read: {error.strerror}") from None
    if not isinstance(document, dict):
        raise WrongValue("config:wrong-value", f"{path} must be a mapping of variable names to values")
    for name, value in document.items():
        if name not in VARIABLES:
            raise WrongValue("config:unknown-variable", f"{path} names {name}, which is no variable of the site")
        target.setdefault(name, _as_text(name, value))


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str | int | float):
        return str(value)
    if name.endswith("_JSON"):
        return json.dumps(value)
    raise WrongValue("config:wrong-value", f"{name} must be a single value, not {type(value).__name__}")


def set_default(name: str, text: str) -> None:
    """Set a variable for this process and its children, unless it is set."""
    os.environ.setdefault(name, text)


def child_environment(**extra: str) -> dict[str, str]:
    """Return the environment for a process of the site."""
    return {**os.environ, **extra}
