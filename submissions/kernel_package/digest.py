"""The name of a tree of files by its content."""

import hashlib

from submissions.kernel_package.files import BENCH_RESULT_PATH, Files


def tree_digest(files: Files) -> str:
    """Return sha256 (hex) over the sorted paths and contents; bench_result.yaml, which is ours, does not count."""
    total = hashlib.sha256()
    for path in sorted(files):
        if path == BENCH_RESULT_PATH:
            continue
        name = path.encode()
        # Lengths first: no two different trees give the same stream.
        total.update(b"%d %d\n" % (len(name), len(files[path])))
        total.update(name)
        total.update(files[path])
    return total.hexdigest()
