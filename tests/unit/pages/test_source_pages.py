import gzip
import io
import tarfile

from leaderboard import highlight
from leaderboard.entrant_help import entrant_help
from leaderboard.models import Kernel
from submissions import spool
from submissions.kernel_package.archive import write_archive
from submissions.models import RunState, State
from submissions.store import reader, writer
from tests.unit.pages import cast
from tests.unit.pages.conftest import BOARD

CPP = b'extern "C" void saxpy(const float* x) {\n    // <not a tag>\n    int y = x_;\n}\n'


def commit_source(kernel_id: str) -> None:
    files = {f"{kernel_id}/src/a.cpp": CPP, f"{kernel_id}/.kernel_package/desc.yaml": b"title: A\n"}
    writer().commit_files(files, f"source: {kernel_id}", "")
    Kernel.objects.filter(kernel_id=kernel_id).update(source_commit=reader().main_head())


def test_it_shows_the_source_highlighted_and_escaped(kernel, page):
    commit_source(kernel.kernel_id)

    text = page(f"/kernels/{kernel.kernel_id}")

    assert 'class="hl-' in text
    assert "&lt;not a tag&gt;" in text
    assert text.index("src/a.cpp") < text.index(".kernel_package/desc.yaml</code>")
    assert 'id="src-src-a-cpp-L3"' in text


def test_it_offers_the_package_as_a_tarball(kernel, client):
    commit_source(kernel.kernel_id)

    response = client.get(f"/kernels/{kernel.kernel_id}/source.tar.gz")

    assert response.headers["Content-Type"] == "application/gzip"
    assert "attachment" in response.headers["Content-Disposition"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(response.content))) as archive:
        assert "src/a.cpp" in archive.getnames()


def test_it_has_no_tarball_of_what_is_not_there(board, client):
    assert client.get(f"/kernels/{board}/nobody/source.tar.gz").status_code == 404


def test_it_shows_a_compile_error_beside_its_line_from_the_spool(board, page):
    submission = cast.add_submission(
        f"{BOARD}/typo", State.FAILED, code="run:build-failed", reason="does not compile"
    )
    spool.keep(submission.pk, write_archive({"src/a.cpp": CPP}), {})
    error = {"file": "src/a.cpp", "line": 3, "column": 13, "message": "'x_' was not declared"}
    cast.add_run(submission, RunState.FINISHED, "build_failed", details={"compile_errors": [error]})

    text = page(f"/submissions/{submission.pk}")

    assert "src/a.cpp:3:13" in text
    assert '    int y = x_;\n<span class="caret">            ^</span>' in text


def test_it_shows_a_compile_error_without_its_source():
    error = {"file": "zoo.hpp", "line": 9, "column": 2, "message": "no"}

    details = {"compile_errors": [error], "deep": {"nested": 1}}
    (found,) = entrant_help(details, {}).compile_errors

    assert (found.place, found.source, found.caret) == ("zoo.hpp:9:2", "", "")


def test_it_keeps_tabs_before_the_caret():
    error = {"file": "a.cpp", "line": 1, "column": 3, "message": "no"}

    found = entrant_help({"compile_errors": [error]}, {"a.cpp": b"\tx y"}).compile_errors[0]

    assert found.caret == "\t ^"


def test_it_helps_with_nothing_where_there_is_nothing():
    assert not entrant_help({}, {})
    found = entrant_help({"wall_limit_s": 10, "is_cached": True}, {})

    assert found.rest == (("is cached", "yes"), ("wall limit s", 10))


def test_it_numbers_lines_as_the_file_has_them():
    for text in ("\n\na\n", "a\r\nb\r\n", "a", ""):
        shown = highlight.source_file("a.cpp", text.encode())
        assert len(shown.lines) == text.removesuffix("\n").count("\n") + 1


def test_it_does_not_show_what_is_no_text_or_too_long():
    assert highlight.source_file("a.bin", b"\xff\xfe").note == "not UTF-8 text"
    assert "too long" in highlight.source_file("a.cpp", b"x" * (highlight.SHOWN_BYTES + 1)).note
    assert highlight.source_file("NOTES", b"<plain>").lines == ("&lt;plain&gt;",)
    assert highlight.source_file("a.cu", b"__global__ void k() {}").lines[0].startswith("<span")
    long = highlight.source_file("a.cpp", b"int a;\n" * 40_000)
    assert long.lines[0] == "int a;"


def test_it_shows_a_compile_error_without_a_line_once_the_upload_is_gone(board, page):
    submission = cast.add_submission(f"{BOARD}/typo", State.FAILED, reason="does not compile")
    error = {"file": "src/a.cpp", "line": 3, "column": 13, "message": "'x_' was not declared"}
    cast.add_run(submission, RunState.FINISHED, "build_failed", details={"compile_errors": [error]})

    assert "src/a.cpp:3:13" in page(f"/submissions/{submission.pk}")
