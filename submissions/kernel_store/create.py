"""Create a store, or open one that others made, and say clearly what stands in the way."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from git.config import GitConfigParser

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.strict_yaml import dump_yaml
from submissions.kernel_store import layout
from submissions.kernel_store.fast_import import Author, Changes, FastImport
from submissions.kernel_store.git import Git, initialise
from submissions.kernel_store.message import commit_message
from submissions.kernel_store.refs import RefMove, Refs
from submissions.kernel_store.work_tree import WorkTree

FORMAT_VERSION = 1
DEFAULT_AUTHOR = Author("kernel-zoo", "kernel-zoo@localhost")

_CONFIG = (
    # Pushes are checked as our own writes are, cannot rewrite history, and never see the private refs.
    ("receive", "fsckObjects", "true"),
    ("transfer", "fsckObjects", "true"),
    ("receive", "denyNonFastForwards", "true"),
    ("receive", "denyDeletes", "true"),
    ("transfer", "hideRefs", "refs/zoo"),
)


def open_store(path: Path | str) -> None:
    """Check that a store can be used: SHA-1 objects, and bare or clean; raises Broken otherwise."""
    found = Git(path)
    # Read as a file: GitPython's Repo would let GIT_* variables of our caller name another repository.
    with GitConfigParser(found.git_dir / "config", read_only=True) as config:
        object_format = config.get_value("extensions", "objectformat", "sha1")
        is_partial = config.has_option("extensions", "partialclone")
    if object_format != "sha1":
        raise Broken("store:object-format", f"{path} has {object_format} objects; the store needs sha1")
    if is_partial:
        raise Broken(
            "store:partial-clone", f"{path} is a partial clone; the store needs every object, clone it whole"
        )
    WorkTree(found).check_clean()


def create_store(path: Path | str, title: str, author: Author = DEFAULT_AUTHOR) -> None:
    """Create a bare store with zoo.yaml on main and an empty ledger; one that exists is opened and completed."""
    target = Path(path).absolute()
    if not target.exists() or not any(target.iterdir()):
        _initialise(target)
    open_store(target)
    _write_roots(Git(target), title, author)


def _initialise(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and renamed, so that a crash never leaves half a repository in its place.
    with tempfile.TemporaryDirectory(prefix=".new-store-", dir=target.parent) as aside:
        made = Path(aside) / "store.git"
        initialise(made)
        with GitConfigParser(made / "config", read_only=False) as config:
            for section, option, value in _CONFIG:
                config.set_value(section, option, value)
        made.rename(target)


def _write_roots(git: Git, title: str, author: Author) -> None:
    refs = Refs(git)
    present = refs.under("refs/heads")
    zoo = {layout.ZOO_FILE: dump_yaml({"format_version": FORMAT_VERSION, "title": title})}
    wanted = ((layout.MAIN, "Create the zoo", zoo), (layout.LEDGER, "Open the ledger", dict[str, bytes]()))
    now = datetime.now(UTC)
    for ref, subject, files in wanted:
        if ref in present:
            continue
        scratch = f"{layout.SCRATCH}/{ref.rsplit('/', 1)[1]}"
        with FastImport(git, author, now) as session:
            root = session.commit(scratch, "", commit_message(subject), Changes(files))
            session.finish()
        refs.move([RefMove(ref, "", root), RefMove(scratch, root, "")])
    WorkTree(git).check_clean()
