"""`.loc` directives to places in the source: where code was inlined, the nearest line that the entrant wrote."""

import re

from native_bench.gpu.emulator.faults import Place

_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_HEADER = re.compile(r"(^|/)include/")

_Position = tuple[int, int, int]


class LineTable:
    """The files of a module, and who called what was inlined."""

    def __init__(self, ptx: str) -> None:
        self._files = {int(match[1]): match[2] for match in _FILE.finditer(ptx)}
        self._callers: dict[_Position, _Position] = {}

    def place(self, directive: str) -> Place | None:
        """Return the place of a `.loc`; None for line 0, which the compiler uses for code of its own."""
        match = _LOC.match(directive)
        if match is None:
            return None
        position = (int(match[1]), int(match[2]), int(match[3]))
        if match[4] is not None:
            self._callers[position] = (int(match[4]), int(match[5]), int(match[6]))
        return self._written_by_entrant(position)

    def _written_by_entrant(self, position: _Position) -> Place | None:
        seen = {position}
        while self._is_header(position) and position in self._callers:
            position = self._callers[position]
            if position in seen:
                break
            seen.add(position)
        return Place(self._files.get(position[0], ""), position[1]) if position[1] else None

    def _is_header(self, position: _Position) -> bool:
        return _HEADER.search(self._files.get(position[0], "")) is not None
