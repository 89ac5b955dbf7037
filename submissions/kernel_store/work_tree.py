"""Keep the work tree of a non-bare store at its branch's head, and refuse to write over somebody's changes."""

from collections.abc import Sequence

from submissions.kernel_package.errors import Broken
from submissions.kernel_store.git import Git

# Which commit the files on disk show; after a crash between the refs' move and the checkout it tells.
FOLLOWED = "refs/zoo/work-tree"
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class WorkTree:
    """The files of a non-bare repository; for a bare one every method does nothing."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def check_clean(self) -> None:
        """Bring the files to the head after a crash; raises Broken `store:dirty` for other changes."""
        if self._git.work_tree is not None:
            self._catch_up()

    def follow(self, moved: Sequence[str]) -> None:
        """Make the files show the head of their branch if it is among the moved ones; untracked files stay."""
        if self._git.work_tree is not None and self._branch() in moved:
            self._catch_up()

    def _catch_up(self) -> None:
        settings = self._without_filters()
        head = self._commit("HEAD")
        followed = self._commit(FOLLOWED)
        if self._is_clean(head, settings):
            if head and followed != head:
                self._git.run("update-ref", FOLLOWED, head)
            return
        base = followed or _EMPTY_TREE
        if not head or base == head or not self._is_clean(followed, settings):
            raise self._dirty("it has changes that are not committed")
        moved = self._git.attempt("read-tree", "-m", "-u", base, head, settings=settings)
        if moved.returncode != 0:
            raise self._dirty(moved.stderr.decode("utf-8", "replace").strip()[-500:])
        self._git.run("update-ref", FOLLOWED, head)

    def check_can_follow(self, ref: str, new: str) -> None:
        """Before a ref moves: raise Broken `store:dirty` if the files could not be brought to `new`."""
        if self._git.work_tree is None or self._branch() != ref:
            return
        self._catch_up()
        settings = self._without_filters()
        base = self._commit("HEAD") or _EMPTY_TREE
        tried = self._git.attempt("read-tree", "-n", "-m", "-u", base, new, settings=settings)
        if tried.returncode != 0:
            raise self._dirty(tried.stderr.decode("utf-8", "replace").strip()[-500:])

    def _is_clean(self, commit: str, settings: list[str]) -> bool:
        self._git.attempt("update-index", "-q", "--refresh", settings=settings)
        flags = ("--quiet", "--no-ext-diff", "--ignore-submodules=all")
        against = commit or _EMPTY_TREE
        done = self._git.attempt("diff-index", *flags, against, "--", settings=settings)
        if done.returncode not in (0, 1):
            raise self._dirty(done.stderr.decode("utf-8", "replace").strip()[-500:])
        return done.returncode == 0

    def _branch(self) -> str:
        return self._git.attempt("symbolic-ref", "--quiet", "HEAD").stdout.decode().strip()

    def _commit(self, name: str) -> str:
        done = self._git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def _without_filters(self) -> list[str]:
        """Return settings that empty every filter driver: a checkout would run them as programs."""
        done = self._git.attempt("config", "--null", "--name-only", "--get-regexp", r"^filter\..*")
        names = {name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name}
        drivers = {name.rsplit(".", 1)[0] for name in names}
        for driver in drivers:
            if "=" in driver:
                raise self._dirty(f"its configuration has the filter {driver!r}, whose name cannot be overridden")
        parts = ("clean=", "smudge=", "process=", "required=false")
        return [f"{driver}.{part}" for driver in sorted(drivers) for part in parts]

    def _dirty(self, words: str) -> Broken:
        advice = "commit or discard what `git status` shows there, or use a bare repository"
        return Broken("store:dirty", f"the work tree of {self._git.path} cannot be used: {words}; {advice}")
