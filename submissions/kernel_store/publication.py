"""What is written to the store: a publication, a ledger entry, and a prepared but not yet visible write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId

Files = Mapping[str, bytes]


class Moved(Broken):
    """A head is no longer where the write was prepared; prepare again on the new one."""

    def __init__(self, message: str) -> None:
        super().__init__("store:moved", message)


@dataclass(frozen=True)
class LedgerEntry:
    """One folder of the ledger: its records, and the submitted tree where there is one."""

    uuid: str
    received_at: datetime
    records: Mapping[str, bytes]
    source: Files | None = None
    subject: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Publication:
    """An accepted submission on its way to `main` and `ledger`.

    `package_files` is the whole package without bench_result.yaml, or None when the source in the store stays and
    only its figures change. `make_bench` gets the id of the source commit and returns bench_result.yaml.
    """

    uuid: str
    received_at: datetime
    kernel_id: KernelId
    package_files: Files | None
    make_bench: Callable[[str], bytes]
    ledger: LedgerEntry
    speedup_text: str = ""
    summary: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)
    committed_at: datetime | None = None


@dataclass(frozen=True)
class Prepared:
    """Commits that exist under refs/zoo/pending/<uuid> and that nobody sees yet.

    A crash may leave only one of the two refs: then the other new id is "" and `is_complete` is False; drop it.
    """

    uuid: str
    main_old: str
    main_new: str
    ledger_old: str
    ledger_new: str
    source_commit: str

    @property
    def is_complete(self) -> bool:
        return bool(self.main_new and self.ledger_new)

    @property
    def bench_commit(self) -> str:
        return self.main_new
