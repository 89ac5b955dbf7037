"""One test per variable: it is read from the environment, from YAML, and a wrong value is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from submissions.kernel_package.errors import ZooError
from zoo_site import env
from zoo_site.server import main

# name: (a right text, its value, a wrong text)
EXAMPLES = {
    "KERNEL_ZOO_HOME": ("/tmp/zoo", Path("/tmp/zoo"), ""),
    "KERNEL_ZOO_PLATFORM_REPO_PATH": ("/srv/zoo", Path("/srv/zoo"), ""),
    "KERNEL_ZOO_KERNEL_REPO_PATH": ("/srv/data.git", Path("/srv/data.git"), "\n"),
    "KERNEL_ZOO_QUEUE_DIR": ("/srv/queue", Path("/srv/queue"), ""),
    "KERNEL_ZOO_INDEX_PATH": ("/srv/index.json", Path("/srv/index.json"), ""),
    "KERNEL_ZOO_HOST": ("0.0.0.0", "0.0.0.0", ""),
    "KERNEL_ZOO_PORT": ("8123", 8123, "80000"),
    "KERNEL_ZOO_ALLOWED_HOSTS": ("zoo.example", "zoo.example", ""),
    "KERNEL_ZOO_RUNNER_KEYS_JSON": ('{"k": ["sm_90"]}', {"k": ["sm_90"]}, "[]"),
    "KERNEL_ZOO_LONGPOLL_TIMEOUT_SECONDS": ("5", 5.0, "soon"),
    "KERNEL_ZOO_GIT_AUTHOR_NAME": ("Zoo", "Zoo", "a<b"),
    "KERNEL_ZOO_GIT_AUTHOR_EMAIL": ("zoo@example.org", "zoo@example.org", "zoo"),
    "KERNEL_ZOO_DATABASE_URL": ("sqlite:////tmp/a.sqlite3", "sqlite:////tmp/a.sqlite3", "mysql://x"),
    "KERNEL_ZOO_REDIS_URL": ("redis://h:1/0", "redis://h:1/0", "h:1"),
    "KERNEL_ZOO_SECRET_KEY": ("k" * 40, "k" * 40, "short"),
    "KERNEL_ZOO_OPEN_SUBMISSIONS": ("1", True, "yes"),
    "KERNEL_ZOO_STARTER_PROBLEMS": (
        "GEMM/nn/fp32, Scan/inclusive/i32",
        {"GEMM/nn/fp32", "Scan/inclusive/i32"},
        "x",
    ),
    "KERNEL_ZOO_SERVER_URL": ("https://zoo.example", "https://zoo.example", "zoo.example"),
    "KERNEL_ZOO_RUNNER_KEY": ("secret", "secret", ""),
    "KERNEL_ZOO_RUNNER_ARCH": ("x86_64", "x86_64", ""),
    "KERNEL_ZOO_CONTAINER_BACKEND": ("podman", "podman", "lxc"),
    "KERNEL_ZOO_CONTAINER_IMAGE": ("base:1", "base:1", ""),
    "KERNEL_ZOO_CONTAINER_TIMEOUT_S": ("60", 60, "0"),
    "KERNEL_ZOO_RUNNER_WORKDIR": ("/srv/runner", Path("/srv/runner"), ""),
    "KERNEL_ZOO_RUNNER_CACHE_BYTES": ("1048576", 1 << 20, "1K"),
    "KERNEL_ZOO_HEARTBEAT_SECONDS": ("2.5", 2.5, "-1"),
    "KERNEL_ZOO_LEASE_SECONDS": ("40", 40.0, "nan"),
}


def test_it_has_an_example_of_every_variable():
    assert set(EXAMPLES) == set(env.VARIABLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_reads_the_variable(name, tmp_path):
    text, value, _ = EXAMPLES[name]
    assert env.value_of(name, {name: text}) == value

    config = tmp_path / "zoo.yaml"
    config.write_text(f"{name}: {_yaml(name, text)}\n")
    from_file: dict[str, str] = {}
    env.load_config_file(config, from_file)
    assert env.value_of(name, from_file) == value

    kept = {name: "from the environment"}
    env.load_config_file(config, kept)
    assert kept[name] == "from the environment"


def _yaml(name, text):
    return text if name.endswith(("_JSON", "_SECONDS", "_PORT", "_BYTES", "_S")) else f"{text!r}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_exits_2_and_names_a_wrong_value(name, monkeypatch, capsys):
    monkeypatch.setenv(name, EXAMPLES[name][2])
    assert main(["--check"]) == 2
    said = capsys.readouterr().err
    assert name in said and said.count("\n") == 1


def test_it_never_shows_a_key():
    with pytest.raises(env.WrongValue) as caught:
        env.value_of("KERNEL_ZOO_SECRET_KEY", {"KERNEL_ZOO_SECRET_KEY": "hush"})
    assert "hush" not in str(caught.value)


def test_it_wants_a_lease_of_two_heartbeats():
    with pytest.raises(env.WrongValue, match="KERNEL_ZOO_LEASE_SECONDS"):
        env.all_values({"KERNEL_ZOO_HEARTBEAT_SECONDS": "10", "KERNEL_ZOO_LEASE_SECONDS": "15"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KERNEL_ZOO_PROT: 1\n", "KERNEL_ZOO_PROT"),
        ("[1, 2]\n", "mapping"),
        ("KERNEL_ZOO_PORT: [1]\n", "KERNEL_ZOO_PORT"),
        ("KERNEL_ZOO_PORT: 1\nKERNEL_ZOO_PORT: 2\n", "KERNEL_ZOO_PORT"),
        ("a: [\n", "line"),
    ],
)
def test_it_refuses_a_wrong_file(tmp_path, text, said, capsys):
    config = tmp_path / "zoo.yaml"
    config.write_text(text)
    assert main(["--config", str(config), "--check"]) == 2
    assert said in capsys.readouterr().err


def test_it_refuses_a_missing_file(tmp_path, capsys):
    assert main(["--config", str(tmp_path / "none.yaml"), "--check"]) == 2
    assert "can't be read" in capsys.readouterr().err


def test_it_converts_yaml_values():
    assert env._as_text("KERNEL_ZOO_OPEN_SUBMISSIONS", True) == "1"
    assert env._as_text("KERNEL_ZOO_OPEN_SUBMISSIONS", False) == "0"
    with pytest.raises(ZooError):
        env._as_text("KERNEL_ZOO_PORT", None)


def test_it_runs_as_a_command(tmp_path):
    config = tmp_path / "zoo.yaml"
    config.write_text("KERNEL_ZOO_PORT: 70000\n")
    done = subprocess.run(
        [sys.executable, "-m", "zoo_site.server", "--config", str(config)],
        env={**os.environ},
        capture_output=True,
        text=True,
        cwd=env.CHECKOUT,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "kernel_zoo-server: KERNEL_ZOO_PORT must be a whole number from 1 to 65535; it is '70000'"
    ]


@pytest.mark.parametrize(("text", "value"), [("all", None), ("none", set())])
def test_it_reads_all_and_none_of_the_starter_zoo(text, value):
    assert env.value_of("KERNEL_ZOO_STARTER_PROBLEMS", {"KERNEL_ZOO_STARTER_PROBLEMS": text}) == value
