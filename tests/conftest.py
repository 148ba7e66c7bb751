"""What all tests share: a command line to call, and files to feed it."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.findings_factory import made_study
from understudy.cli import main
from understudy.findings.schema import Findings

settings.register_profile(
    "understudy",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("understudy")


@dataclass(frozen=True)
class Answer:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Answer]
MakeFile = Callable[..., Path]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Call the command line in this process."""

    def call(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Answer(int(code), shown.out, shown.err)

    return call


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Write a file of text or bytes."""

    def write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Findings of a small study on the bundled data, computed once for all workers."""
    shared = tmp_path_factory.getbasetemp().parent
    kept = shared / "findings-of-the-test-study.json"
    with (shared / "findings-of-the-test-study.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            whole = kept.with_suffix(".part")
            whole.write_text(made_study().model_dump_json(), encoding="utf-8")
            whole.replace(kept)
    return Findings.model_validate_json(kept.read_text(encoding="utf-8"))
