"""YAML as plain data: no aliases, no duplicate keys, no tags, nothing of YAML 1.1; every error has its line."""

import math
import re
from typing import Any

import yaml

from submissions.kernel_package.errors import Rejected

if not yaml.__with_libyaml__:
    raise ImportError("PyYAML was built without libyaml; install its wheel: pip install --force-reinstall PyYAML")

MAX_BYTES = 64 << 10
MAX_NODES = 5000
MAX_DEPTH = 20
_INT_LIMIT = 1 << 63

_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
    r"|(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+)\Z"
)
# Control characters, and those that make a text read other than it is written.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_TAG = "tag:yaml.org,2002:"
_RESOLVERS = (
    ("null", _NULL, ["~", "n", "N", ""]),
    ("bool", _BOOL, list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+0123456789.")),
)


class _Loader(yaml.CSafeLoader):
    yaml_implicit_resolvers = {}


class _Dumper(yaml.CSafeDumper):
    """Quotes what either our rules or YAML 1.1's would not read back as a string; writes no aliases."""

    yaml_implicit_resolvers = {key: list(value) for key, value in yaml.CSafeDumper.yaml_implicit_resolvers.items()}

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)
    _Dumper.add_implicit_resolver(_TAG + _name, _pattern, _first)

Path = tuple[str | int, ...]
Lines = dict[Path, int]


def load_yaml(data: bytes, where: str) -> Any:
    """Return the document's data; raises Rejected `package:yaml`, `…yaml-alias` or `…yaml-duplicate-key`."""
    return load_yaml_with_lines(data, where)[0]


def load_yaml_with_lines(data: bytes, where: str) -> tuple[Any, Lines]:
    """Return the data, and for each path in it the line (from 1) where it stands."""
    root = _compose(data, where)
    builder = _Builder(where)
    return builder.build(root, ()), builder.lines


def _compose(data: bytes, where: str) -> yaml.Node:
    if len(data) > MAX_BYTES:
        raise Rejected("package:yaml", f"{where} has {len(data)} bytes, {MAX_BYTES} are allowed")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Rejected("package:yaml", f"{where} is not UTF-8 (byte {error.start})") from None
    loader = _Loader(text)
    try:
        root: yaml.Node | None = loader.get_single_node()
    except (yaml.YAMLError, RecursionError) as error:
        raise _syntax_error(error, where) from None
    finally:
        loader.dispose()
    if root is None:
        raise Rejected("package:yaml", f"{where} is empty")
    return root


def _syntax_error(error: Exception, where: str) -> Rejected:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is nested too deeply"
    if "undefined alias" in str(problem):
        return Rejected("package:yaml-alias", f"{where}: aliases are not allowed")
    if mark is None:
        return Rejected("package:yaml", f"{where}: {problem}")
    return Rejected("package:yaml", f"{where}, line {mark.line + 1}: {problem}", line=mark.line + 1)


class _Builder:
    """Turns composed nodes into data; composing is in C, so the bounds are checked on the nodes."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.lines: Lines = {}
        self._seen: set[int] = set()

    def build(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        if id(node) in self._seen:
            raise self._error("aliases are not allowed: write the value out", line, "package:yaml-alias")
        self._seen.add(id(node))
        if len(self._seen) > MAX_NODES:
            raise self._error(f"the document has more than {MAX_NODES} values", line)
        if len(path) > MAX_DEPTH:
            raise self._error(f"the document is nested deeper than {MAX_DEPTH}", line)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        raise self._error(f"the tag {node.tag:.80} is not allowed", line)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        document: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self.build(key_node, (*path, ""))
            if not isinstance(key, str):
                raise self._error(f"the key {key!r:.80} is not a string: quote it", line)
            if key in document:
                raise self._error(f"the key {key!r:.80} stands twice", line, "package:yaml-duplicate-key")
            self.lines[(*path, key)] = line
            document[key] = self.build(value_node, (*path, key))
        return document

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            if _CONTROL.search(text):
                raise self._error("a text has a control or direction character", line)
            return text
        if kind == "null" and _NULL.match(text):
            return None
        if kind == "bool" and _BOOL.match(text):
            return text.lower() == "true"
        if kind in ("int", "float") and len(text) <= 40:
            return self._number(kind, text, line)
        raise self._error(f"{text[:40]!r} with the tag {node.tag:.80} is not allowed", line)

    def _number(self, kind: str, text: str, line: int) -> int | float:
        if kind == "int" and _INT.match(text) and abs(int(text)) < _INT_LIMIT:
            return int(text)
        if kind == "float" and _FLOAT.match(text) and math.isfinite(float(text)):
            return float(text)
        raise self._error(f"the number {text!r} is out of range", line)

    def _error(self, message: str, line: int, code: str = "package:yaml") -> Rejected:
        return Rejected(code, f"{self.where}, line {line}: {message}", line=line)


def dump_yaml(document: Any) -> bytes:
    """Return block-style YAML in the document's own order, that `load_yaml` reads back."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=110,
        encoding="utf-8",
    )  # fmt: skip
