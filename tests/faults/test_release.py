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
    with Nursery("tests.faults.test_release:job", warm="tests.faults.test_release:warm") as one:
        yield one


def release(
    nursery: Nursery,
    place: Path,
    fault: Fault | None = None,
    kill: float | None = None,
    **more: object,
) -> Ended:
    """Run one release into a folder of its own."""
    arguments = {
        "study": str(place.parent.parent / "study"),
        "to": str(place),
        "form": "csv",
        "overwrite": False,
        **more,
    }
    signals = [] if kill is None else [(kill, signal.SIGKILL)]
    return nursery.run(arguments, fault=fault, signals=signals)


def settled(place: Path) -> str:
    """Tell what is at the target: nothing, an old or a new release; anything else is a fault."""
    if not place.exists():
        return "nothing"
    assert is_whole_release(place)
    return "new" if (place / "synthetic-01.csv").exists() else "old"


def leftovers(place: Path) -> list[str]:
    """List what lies beside the place."""
    return [path.name for path in place.parent.iterdir() if path != place]


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
        place = home(tmp_path, number)
        ended = release(nursery, place, fault)
        assert ended.status == ("raised" if fault.kind == "full" else "stopped"), fault
        seen.add(settled(place))
        if fault.kind == "full":
            assert ended.error.startswith("OutputError: Expected "), ended.error
            assert leftovers(place) == []
        else:
            again = release(nursery, place, overwrite=True)
            assert again.value is True
            assert leftovers(place) == []
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
    faults = [one for one in faults_at_every_call(calm.calls) if one.number >= first]
    for number, fault in enumerate(faults):
        place = home(tmp_path, number)
        release(nursery, place, form="parquet")
        ended = release(nursery, place, fault, overwrite=True)
        state = settled(place)
        seen.add(state)
        if ended.status == "raised":
            assert state in {"old", "new"}
            assert leftovers(place) == []
        again = release(nursery, place, overwrite=True)
        assert again.value is True
        assert settled(place) == "new"
        assert leftovers(place) == []
    assert seen == {"nothing", "old", "new"}


def test_earlier_release_comes_back_when_replacing_was_cut_short(
    nursery: Nursery, tmp_path: Path
) -> None:
    Study(tmp_path / "study", n_records=30, m=2).seal()
    place = home(tmp_path, 1)
    release(nursery, place, form="parquet")
    calm = release(nursery, place, overwrite=True)
    last = len(calm.calls) - 1 - calm.calls[::-1].index("rename")
    release(nursery, place, form="parquet", overwrite=True)
    release(nursery, place, Fault(last, "stop"), overwrite=True)
    assert settled(place) == "nothing"
    ended = release(nursery, place)
    assert "an earlier release" in ended.error
    assert settled(place) == "old"
    assert leftovers(place) == []


def test_kills_at_any_instant(nursery: Nursery, tmp_path: Path) -> None:
    Study(tmp_path / "study", n_records=30, m=2).seal()
    calm = release(nursery, home(tmp_path, "calm"))
    for number in range(KILLS):
        place = home(tmp_path, number)
        release(nursery, place, kill=calm.seconds * (number + 0.5) / KILLS)
        assert settled(place) in {"nothing", "new"}
        assert release(nursery, place, overwrite=True).value is True
        assert leftovers(place) == []
