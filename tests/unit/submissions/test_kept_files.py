import stat

import pytest

from submissions import artifacts, secrets, spool
from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import ProblemId
from submissions.models import Submission

PROBLEM = ProblemId.parse("Vector/saxpy/fp32")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SECRETS_DIR = tmp_path / "secrets"
    settings.QUEUE_DIR = tmp_path / "queue"
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    return settings


def test_it_keeps_secrets_from_other_users(folders):
    secrets.version_secret(PROBLEM, 1)
    secrets.run_secret(Submission().pk, 1)
    assert stat.S_IMODE(folders.SECRETS_DIR.stat().st_mode) == 0o700
    files = list(folders.SECRETS_DIR.iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
    assert all(len(file.read_bytes()) == 32 for file in files)


def test_it_gives_each_version_and_each_lease_its_own_secret():
    run_id = Submission().pk
    assert secrets.version_secret(PROBLEM, 1) == secrets.version_secret(PROBLEM, 1)
    assert secrets.version_secret(PROBLEM, 1) != secrets.version_secret(PROBLEM, 2)
    assert secrets.run_secret(run_id, 1) == secrets.run_secret(run_id, 1)
    assert secrets.run_secret(run_id, 1) != secrets.run_secret(run_id, 2)
    assert secrets.run_secret(run_id, 1) != secrets.run_secret(Submission().pk, 1)


def test_it_lets_one_of_two_first_askers_make_the_secret(folders):
    winner = secrets.version_secret(PROBLEM, 1)
    assert secrets._made_secret(folders.SECRETS_DIR / "Vector~saxpy~fp32~v1") == winner
    assert len(list(folders.SECRETS_DIR.iterdir())) == 1


def test_it_keeps_artifacts_by_their_content():
    digest = artifacts.keep(b"log")
    assert artifacts.keep(b"log") == digest
    assert artifacts.read(digest) == b"log"
    assert artifacts.read("0" * 64) is None


@pytest.mark.parametrize("name", ["../secrets/runs", "", "A" * 64, "a" * 63])
def test_it_reads_no_artifact_by_another_name(name):
    with pytest.raises(ValueError, match="not a sha256"):
        artifacts.read(name)


def test_it_spools_whole_uploads_only(folders):
    submission_id = Submission().pk
    spool.keep(submission_id, b"bytes", {"mode": "ranked"})
    assert list(spool.waiting()) == [submission_id]
    assert list(spool.drafts()) == []
    spool.discard(submission_id)
    spool.discard(submission_id)
    with pytest.raises(Broken) as broken:
        spool.package_bytes(submission_id)
    assert broken.value.code == "spool:missing"


def test_it_sees_an_empty_spool_where_there_is_none():
    assert list(spool.waiting()) == []
    assert list(spool.drafts()) == []
