"""A release that is killed, or finds the disk full, leaves nothing or the whole at its place."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harness import Ended, Fault, Nursery, faults_at_every_call
from tests.publishing.fake_study import APPROVAL, Study
from understudy.findings.schema import Findings
from understudy.publishing.manifest import is_whole_release

KILLS = 12


def warm() -> None:
    """Import what is needed, and draw one grey pixel in place of the plots."""
    from tests.publishing.conftest import picture
    from understudy.pages import plots as figures
    from understudy.publishing import gate  # noqa: F401

    def quick(findings: Findings, name: str) -> dict[str, bytes]:
        assert name == findings.synthesizers[0].name
        return {"tables.png": picture()}

    figures.public_figures = quick


def job(study: str, to: str, form: str, overwrite: bool) -> bool:
    """Release a study."""
    from understudy.publishing.gate import release

    folder = release(study, to, APPROVAL, format=form, overwrite=overwrite)  # type: ignore[arg-type]
    return is_whole_release(folder)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """A process in which every run starts at once."""
    with Nursery("tests.faults.test_release:job", warm="tests.faults.test_release:warm") as started:
        yield started


def release(
    nursery: Nursery,
    target: Path,
    fault: Fault | None = None,
    kill: float | None = None,
    **more: object,
) -> Ended:
    """Run one release into a folder of its own."""
    arguments = {
        "study": str(target.parent.parent / "study"),
        "to": str(target),
        "form": "csv",
        "overwrite": False,
        **more,
    }
    signals = [] if kill is None else [(kill, signal.SIGKILL)]
    return nursery.run(arguments, fault=fault, signals=signals)


def settled(target: Path) -> str:
    """Tell what is at the target: nothing, an old or a new release; anything else is a fault."""
    if not target.exists():
        return "nothing"
    assert is_whole_release(target)
    return "new" if (target / "synthetic-01.csv").exists() else "old"


def leftovers(target: Path) -> list[str]:
    """List what lies beside the place."""
    return [path.name for path in target.parent.iterdir() if path != target]


def home(tmp_path: Path, name: object) -> Path:
    """Make a folder in which one release may go wrong."""
    folder = tmp_path / f"run {name}"
    folder.mkdir()
    return folder / "public"


def test_fault_at_every_call(nursery: Nursery, tmp_path: Path) -> None:
    Study(tmp_path / "study", n_records=30, m=2).seal()
    calm = release(nursery, home(tmp_path, "calm"))
    assert calm.value is True
    assert calm.calls.count("rename") == 4  # the approval, its digest before and after, the folder
    seen = set()
    for number, fault in enumerate(faults_at_every_call(calm.calls)):
        folder = home(tmp_path, number)
        ended = release(nursery, folder, fault)
        assert ended.status == ("raised" if fault.kind == "full" else "stopped"), fault
        seen.add(settled(folder))
        if fault.kind == "full":
            assert ended.error.startswith("OutputError: Expected "), ended.error
            assert leftovers(folder) == []
        else:
            again = release(nursery, folder, overwrite=True)
            assert again.value is True
            assert leftovers(folder) == []
    assert seen == {"nothing", "new"}


def test_fault_at_every_call_while_replacing(nursery: Nursery, tmp_path: Path) -> None:
    """Faults from the approval on; those before it are the same as without an earlier release."""
    Study(tmp_path / "study", n_records=30, m=2).seal()
    calm_place = home(tmp_path, "calm")
    release(nursery, calm_place, form="parquet")
    calm = release(nursery, calm_place, overwrite=True)
    assert calm.value is True
    first = calm.calls.index("rename") - 2
    seen = set()
    faults = [fault for fault in faults_at_every_call(calm.calls) if fault.number >= first]
    for number, fault in enumerate(faults):
        folder = home(tmp_path, number)
        release(nursery, folder, form="parquet")
        ended = release(nursery, folder, fault, overwrite=True)
        state = settled(folder)
        seen.add(state)
        if ended.status == "raised":
            assert state in {"old", "new"}
            assert leftovers(folder) == []
        again = release(nursery, folder, overwrite=True)
        assert again.value is True
        assert settled(folder) == "new"
        assert leftovers(folder) == []
    assert seen == {"nothing", "old", "new"}


def test_earlier_release_comes_back_when_replacing_was_cut_short(
    nursery: Nursery, tmp_path: Path
) -> None:
    Study(tmp_path / "study", n_records=30, m=2).seal()
    folder = home(tmp_path, 1)
    release(nursery, folder, form="parquet")
    calm = release(nursery, folder, overwrite=True)
    last = len(calm.calls) - 1 - calm.calls[::-1].index("rename")
    release(nursery, folder, form="parquet", overwrite=True)
    release(nursery, folder, Fault(last, "stop"), overwrite=True)
    assert settled(folder) == "nothing"
    ended = release(nursery, folder)
    assert "an earlier release" in ended.error
    assert settled(folder) == "old"
    assert leftovers(folder) == []


def test_kills_at_any_instant(nursery: Nursery, tmp_path: Path) -> None:
    Study(tmp_path / "study", n_records=30, m=2).seal()
    calm = release(nursery, home(tmp_path, "calm"))
    for number in range(KILLS):
        folder = home(tmp_path, number)
        release(nursery, folder, kill=calm.seconds * (number + 0.5) / KILLS)
        assert settled(folder) in {"nothing", "new"}
        assert release(nursery, folder, overwrite=True).value is True
        assert leftovers(folder) == []
