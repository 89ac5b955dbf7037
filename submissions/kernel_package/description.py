"""What a package says of itself. Read from .kernel_package/desc.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.schema import check_schema
from submissions.kernel_package.strict_yaml import Lines, load_yaml_with_lines

Expression = str | int
HARNESSES = ("native", "rawkernel", "script")


@dataclass(frozen=True)
class Parent:
    """The accepted version this kernel was made from."""

    kernel_id: str
    commit: str


@dataclass(frozen=True)
class Agent:
    """The program that wrote the kernel."""

    name: str
    model: str = ""
    version: str = ""


@dataclass(frozen=True)
class Scratch:
    """A device buffer the launches share, beside the problem's tensors."""

    name: str
    dtype: str
    shape: tuple[Expression, ...]


@dataclass(frozen=True)
class Launch:
    """One launch as data: sizes are expressions over the dims; an argument is a name, or one {dtype: value}."""

    kernel: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared_bytes: Expression = 0
    args: tuple[str | Mapping[str, int | float | str], ...] = ()


@dataclass(frozen=True)
class Description:
    """A checked desc.yaml; `document` is it as data."""

    kernel_id: KernelId
    title: str
    summary: str
    language: str
    harness: str
    entry_source: str
    entry_symbol: str
    sources: tuple[str, ...]
    include_dirs: tuple[str, ...]
    defines: Mapping[str, str]
    parent: Parent | None
    agent: Agent | None
    authors: tuple[str, ...]
    license: str
    tags: tuple[str, ...]
    created: str
    scratch: tuple[Scratch, ...]
    launches: tuple[Launch, ...]
    document: Mapping[str, Any] = field(compare=False)

    @property
    def is_cuda(self) -> bool:
        return self.harness == "rawkernel"


def parse_description(data: bytes) -> Description:
    """Read desc.yaml; raises Rejected `package:{yaml…,schema,harness,kernel-id}`."""
    document, lines = load_yaml_with_lines(data, DESCRIPTION_PATH)
    _check_harness(document, lines)
    check_schema(document, "desc", DESCRIPTION_PATH, lines)
    _check_created(document.get("created", ""), lines)
    return _description(document)


def _check_harness(document: Any, lines: Lines) -> None:
    harness = document.get("harness") if isinstance(document, dict) else None
    if harness is None or harness in HARNESSES:
        return
    line = lines.get(("harness",))
    raise Rejected(
        "package:harness",
        f"{DESCRIPTION_PATH}, line {line}: {str(harness)[:40]!r} is no harness; known: {', '.join(HARNESSES)}",
        line=line,
    )


def _check_created(created: str, lines: Lines) -> None:
    if not created:
        return
    try:
        date.fromisoformat(created)
    except ValueError:
        line = lines.get(("created",))
        message = f"{DESCRIPTION_PATH}, line {line}, created: {created!r} is no date"
        raise Rejected("package:schema", message, path=["created"], line=line) from None


def _description(document: Mapping[str, Any]) -> Description:
    build = document.get("build", {})
    parent = document.get("parent")
    agent = document.get("agent")
    entry = document["entry"]
    return Description(
        kernel_id=KernelId.parse(document["kernel_id"]),
        title=document["title"],
        summary=document.get("summary", ""),
        language=document["language"],
        harness=document["harness"],
        entry_source=entry["source"],
        entry_symbol=entry.get("symbol", ""),
        sources=tuple(build.get("sources", (entry["source"],))),
        include_dirs=tuple(build.get("include_dirs", ())),
        defines={name: str(value) for name, value in build.get("defines", {}).items()},
        parent=Parent(**parent) if parent else None,
        agent=Agent(**agent) if agent else None,
        authors=tuple(document["authors"]),
        license=document["license"],
        tags=tuple(document.get("tags", ())),
        created=document.get("created", ""),
        scratch=tuple(
            Scratch(item["name"], item["dtype"], tuple(item["shape"])) for item in document.get("scratch", ())
        ),
        launches=tuple(_launch(item) for item in document.get("launches", ())),
        document=document,
    )


def _launch(item: Mapping[str, Any]) -> Launch:
    return Launch(
        item["kernel"],
        tuple(item["grid"]),
        tuple(item["block"]),
        item.get("shared_bytes", 0),
        tuple(item["args"]),
    )
