"""``understudy release``: the public folder of a study, if everything that must hold does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from understudy.chained_log import read_log
from understudy.cli.options import AsJson, Switch
from understudy.cli.output import paragraph, say, say_json
from understudy.errors import ExitCode
from understudy.publishing.gate import TITLE
from understudy.publishing.gate import release as make_release
from understudy.publishing.manifest import read_manifest

__all__ = ["release"]


def release(
    directory: Path,
    /,
    *,
    to: Path,
    approve: str,
    synthesizer: str | None = None,
    reason: str | None = None,
    overwrite: Switch = False,
    format: Literal["csv", "parquet", "stata", "spss"] = "csv",  # noqa: A002
    formulas: Literal["refuse", "quote"] = "refuse",
    title: str = TITLE,
    guessable_seed: Switch = False,
    register: Path | None = None,
    sign: Path | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Make the public folder of a study, if everything that must hold does.

    Parameters
    ----------
    directory
        The study's folder: what understudy run was given with --out.
    to
        The public folder to make.
    approve
        Who approves, when and why: "name, year-month-day, reason". Kept inside, not published.
    synthesizer
        Whose files to release; left out: those of the recommended synthesizer.
    reason
        Why the points under review are acceptable, where the verdict is review; why files may leave
        although others of this study did before.
    overwrite
        Replace an earlier release, as a whole.
    format
        Format of the data files.
    formulas
        Refuse levels that a spreadsheet takes for formulas, or put an apostrophe before them.
    title
        Title of the public pages.
    guessable_seed
        Release a study although its seed was given by hand.
    register
        The register that the study was entered in. It need not be named; another one is refused.
    sign
        An SSH key to sign the manifest with; understudy verify checks the signature.
    as_json
        Print JSON.
    """
    folder = make_release(
        directory,
        to,
        approve,
        synthesizer=synthesizer,
        reason=reason,
        overwrite=overwrite,
        format=format,
        formulas=formulas,
        title=title,
        guessable_seed=guessable_seed,
        register=register,
        sign=sign,
    )
    manifest = read_manifest(folder) or {}
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    if as_json:
        say_json({"released": str(folder), "files": names})
        return ExitCode.DONE
    say(f"Released to {folder}: {len(names)} files, {manifest.get('sets')} of them data.")
    say(_runs(directory))
    say()
    say(
        paragraph(
            "Before you publish: read methods.html and codebook.html as a stranger would. To send "
            "the folder on, pack it without names of users: zip -X -r release.zip FOLDER, or "
            "tar --owner=0 --group=0 --numeric-owner -czf release.tar.gz FOLDER."
        )
    )
    return ExitCode.DONE


def _runs(directory: Path) -> str:
    """Say how often the same data and plan were run, as the approval has it."""
    runs = read_log(directory / "internal" / "approvals.json")[-1].get("runs")
    if runs is None:
        return paragraph(
            "No register was named when the study was run, so it is not known how often the same "
            "data and plan were run."
        )
    many = f"{runs['same plan']:,} run{'s' * (runs['same plan'] > 1)}"
    return paragraph(f"The register has {many} of the same data and plan.")
