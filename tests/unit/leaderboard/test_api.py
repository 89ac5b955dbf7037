"""The read API, each address by the same ladder: works, 304, method, bad name, missing."""

import gzip
import io
import json
import tarfile
from uuid import uuid4

import pytest

from leaderboard import mirror
from submissions.models import Run

from .documents import BOARD, RECEIVED, run_document

FAST, OTHER, BASE = f"{BOARD}/fast", f"{BOARD}/other", f"{BOARD}/reference_impl"

ADDRESSES = [
    "/api/index.json",
    "/api/problems",
    "/api/problems/Vector/saxpy/fp32",
    f"/api/boards/{BOARD}",
    "/api/kernels",
    f"/api/kernels/{FAST}",
    f"/api/kernels/{FAST}/bench-history",
    f"/api/kernels/{FAST}/source",
]


@pytest.fixture
def mirrored(board):
    board.measured(FAST, 1.5)
    board.kernel(OTHER)
    mirror.bring_to_head()
    return board


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_answers_and_then_says_not_modified(client, mirrored, address):
    first = client.get(address)
    assert first.status_code == 200
    assert first.headers["Content-Type"] == "application/json"
    again = client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_refuses_to_be_written_to(client, mirrored, address):
    answer = client.post(address)
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "request:method"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/api/problems/Vector/saxpy/fp64", "missing:problem"),
        ("/api/boards/sm_90/Vector/saxpy/fp32", "missing:board"),
        (f"/api/kernels/{BOARD}/nobody", "missing:kernel"),
        (f"/api/kernels/{BOARD}/nobody/bench-history", "missing:kernel"),
        (f"/api/kernels/{BOARD}/nobody/source", "missing:kernel"),
        (f"/api/runs/{uuid4()}", "missing:run"),
    ],
)
def test_it_says_what_is_missing(client, mirrored, address, code):
    answer = client.get(address)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == code


def test_it_serves_the_index_as_it_lies_packed_for_who_takes_it(client, mirrored, settings):
    plain = client.get("/api/index.json")
    assert plain.content == settings.INDEX_PATH.read_bytes()
    packed = client.get("/api/index.json", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert "Accept-Encoding" in packed.headers["Vary"]


def test_it_serves_the_new_index_after_a_change(client, mirrored):
    before = client.get("/api/index.json").headers["ETag"]
    mirrored.bench(FAST, 2.0)
    mirror.bring_to_head()
    after = client.get("/api/index.json")
    assert after.headers["ETag"] != before
    assert after.json()["kernels"][0]["speedup"]["value"] == 2.0


def test_it_writes_an_index_that_is_not_there_yet(client, mirrored, settings):
    settings.INDEX_PATH.unlink()
    assert client.get("/api/index.json").json()["schema_version"] == 1


def test_it_lists_problems_and_gives_one_with_sources_to_start_from(client, mirrored):
    (listed,) = client.get("/api/problems").json()["problems"]
    assert (listed["problem_id"], listed["archs"], listed["kernels"]) == ("Vector/saxpy/fp32", ["x86_64"], 3)
    problem = client.get("/api/problems/Vector/saxpy/fp32").json()
    assert problem["document"]["cases"][0]["id"] == "n1m"
    assert problem["reference_py"].startswith("def reference")
    assert "src/saxpy.cpp" in problem["starter_sources"][BOARD]
    assert "POST /api/submissions" in problem["how_to_submit"]["submit"]


def test_it_gives_the_ranking_of_a_board(client, mirrored):
    board = client.get(f"/api/boards/{BOARD}").json()
    assert [row["kernel_id"] for row in board["tabs"][0]["rows"]] == [FAST, BASE]
    assert board["tabs"][0]["rows"][0]["speedup"] == {"value": 1.5, "lo": 1.4985, "hi": pytest.approx(1.5015)}
    assert board["unranked"][0]["why_not_ranked_code"] == "rank:unmeasured"


def test_it_pages_through_the_kernels_by_cursor(client, mirrored):
    seen, cursor = [], ""
    for _ in range(3):
        page = client.get("/api/kernels", {"limit": 1} | ({"cursor": cursor} if cursor else {})).json()
        seen += [kernel["kernel_id"] for kernel in page["kernels"]]
        cursor = page["next"]
    assert seen == [FAST, OTHER, BASE]
    assert cursor is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"status": "unmeasured"}, [OTHER]),
        ({"rank": "1"}, [FAST]),
        ({"arch": "sm_90"}, []),
        ({"problem": "Vector/saxpy/fp32", "language": "cpp", "device": "cpu-a"}, [FAST, BASE]),
    ],
)
def test_it_filters_the_kernels(client, mirrored, query, names):
    assert [each["kernel_id"] for each in client.get("/api/kernels", query).json()["kernels"]] == names


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "many"},
        {"limit": "501"},
        {"limit": "9" * 5000},
        {"cursor": "%%"},
        {"cursor": "YQBi"},
        {"cursor": "L2V0Yy9wYXNzd2Q"},
        {"rank": "x"},
        {"rank": str(1 << 31)},
    ],
)
def test_it_refuses_a_query_it_can_not_read(client, mirrored, query):
    answer = client.get("/api/kernels", query)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "request:invalid"


@pytest.mark.parametrize("kernels", [0, 5])
def test_it_lists_with_one_query(client, mirrored, django_assert_num_queries, kernels):
    for at in range(kernels):
        mirrored.kernel(f"{BOARD}/k{at}")
    mirror.bring_to_head()
    with django_assert_num_queries(1):
        client.get("/api/kernels")


def test_it_gives_a_kernel_with_its_history(client, mirrored):
    mirrored.bench(FAST, 1.7)
    mirror.bring_to_head()
    kernel = client.get(f"/api/kernels/{FAST}").json()
    assert (kernel["standing"]["rank"], kernel["standing"]["speedup"]["value"]) == (1, 1.7)
    assert kernel["standing"]["accepted_at"].endswith("Z")
    history = client.get(f"/api/kernels/{FAST}/bench-history").json()
    assert [point["speedup"]["value"] for point in history["history"]] == [1.5, 1.7]
    assert history["current"]["speedup"]["value"] == 1.7


def test_it_gives_a_source_as_files_or_as_an_archive(client, mirrored):
    files = client.get(f"/api/kernels/{FAST}/source").json()["files"]
    assert files["src/saxpy.cpp"] == 'extern "C" void saxpy() {}\n'
    packed = client.get(f"/api/kernels/{FAST}/source", headers={"Accept": "application/gzip"})
    assert packed.headers["Content-Type"] == "application/gzip"
    assert "Accept" in packed.headers["Vary"]
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as archive:
        assert "src/saxpy.cpp" in archive.getnames()
    etag = packed.headers["ETag"]
    again = client.get(
        f"/api/kernels/{FAST}/source", headers={"Accept": "application/gzip", "If-None-Match": etag}
    )
    assert again.status_code == 304


def test_it_answers_json_errors_to_who_asks_for_an_archive(client, mirrored):
    answer = client.get(f"/api/kernels/{BOARD}/nobody/source", headers={"Accept": "application/gzip"})
    assert json.loads(answer.content)["error"]["code"] == "missing:kernel"


def test_it_gives_a_run_with_its_record(client, mirrored):
    record = run_document(uuid4(), FAST, None)
    Run.objects.create(
        uuid=record["uuid"], kernel_id=FAST, arch="x86_64", queued_at=RECEIVED, state="finished", record=record,
        verdict="wrong_result",
    )  # fmt: skip
    run = client.get(f"/api/runs/{record['uuid']}").json()
    assert (run["verdict"], run["device"], run["stages"][1]) == (
        "wrong_result",
        "cpu-a",
        {"name": "build", "ms": 700},
    )


def test_it_leaves_what_is_no_text_out_of_the_json_but_not_out_of_the_archive(client, mirrored):
    mirrored.put({f"{FAST}/src/table.bin": b"\xff\xfe\x00"})
    mirror.bring_to_head()
    assert "src/table.bin" not in client.get(f"/api/kernels/{FAST}/source").json()["files"]
    packed = client.get(f"/api/kernels/{FAST}/source", headers={"Accept": "application/gzip"})
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as archive:
        assert "src/table.bin" in archive.getnames()
