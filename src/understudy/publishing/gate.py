"""`release`, the only function that writes publishable files, and all of its conditions.

It reads as the list of them. Whatever is refused is refused before a byte is written to a public
folder, and the folder appears there in one rename.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from understudy import __version__
from understudy.errors import NotConvergedError, ReleaseRefused, SettingError, quoted
from understudy.findings.schema import SynthesizerFindings
from understudy.public_errors import only_our_errors
from understudy.publishing.approval import (
    check_first,
    check_reason,
    need_reason,
    past_approvals,
    read_approval,
    record_approval,
)
from understudy.publishing.evidence import Evidence, gather, set_bytes
from understudy.publishing.files import (
    Format,
    check_format,
    data_file,
    set_codes,
    write_bytes,
    write_set,
)
from understudy.publishing.manifest import NAME, check_bundle, manifest_text
from understudy.publishing.public_figures import public_pictures
from understudy.publishing.public_pages import Release, codebook_page, methods_page, readme
from understudy.publishing.rounding import summarize
from understudy.publishing.target import building, check_target, move_in
from understudy.publishing.variables import (
    Formulas,
    check_formulas,
    check_text,
    public_book,
    public_variables,
)
from understudy.storage import Lock

__all__ = ["release"]

TITLE = "Synthetic data"
# Targets looser than these show nothing, whatever a plan asks for.
LOOSEST_RHAT = 1.1
LEAST_DRAWS = 50
# A seed below this can be found by trying; one from the operating system has 128 bits.
GUESSABLE = 2**64


@only_our_errors
def release(
    directory: str | os.PathLike[str],
    to: str | os.PathLike[str],
    approve: str,
    *,
    synthesizer: str | None = None,
    reason: str | None = None,
    overwrite: bool = False,
    format: Format = "csv",  # noqa: A002
    formulas: Formulas = "refuse",
    title: str = TITLE,
    guessable_seed: bool = False,
) -> Path:
    """Make the public folder of a study, if everything that must hold does.

    Refused are: a study that is not complete or is being run; a single chain, or targets of
    convergence that show nothing; files, findings, verdict or codebook that do not belong together;
    the verdict fail, and review without a written reason (also where chains have not converged);
    further files beside those of an earlier approval without a written reason; a codebook that is
    not declared and reviewed; an approval without name, date and reason; a folder that is not
    empty, a symbolic link, or mixed up with the confidential one; levels that a spreadsheet takes
    for formulas, or that cannot be written; synthetic records that the codebook calls impossible; a
    study whose seed can be guessed.

    The rows of every file are put into a random order that takes all its randomness from the
    operating system and cannot be repeated.

    Parameters
    ----------
    directory : str or path
        The study's folder, which holds ``internal``.
    to : str or path
        The public folder to make. Its parent must exist.
    approve : str
        Name, date and reason, such as ``"Jane Doe, 2026-01-31, read by the review board"``. It is
        kept in the study's internal folder and not published.
    synthesizer : str, optional
        Whose files; the one that the verdict recommends when left out.
    reason : str, optional
        Why the points under review are acceptable, where the verdict is review; why files may leave
        although others of this study did before.
    overwrite : bool
        Whether an earlier release may be replaced, as a whole. Nothing else is ever replaced.
    format : {"csv", "parquet", "stata", "spss"}
        Of the data files.
    formulas : {"refuse", "quote"}
        What to do with levels that a spreadsheet takes for formulas: refuse, or put an apostrophe
        before them.
    title : str
        Of the public pages. The study's own title is internal.
    guessable_seed : bool
        Whether a study that was run with a seed that can be guessed may be released: whoever knows
        nearly all records and the seed can test guesses about the rest.

    Returns
    -------
    pathlib.Path
        The public folder.
    """
    approval = read_approval(approve)
    written_reason = check_reason(reason)
    form, formula_choice = check_format(format), check_formulas(formulas)
    check_text(title, "the public title")
    evidence = gather(directory)
    target = check_target(to, evidence.internal, overwrite=overwrite)
    with Lock(evidence.internal):  # no run changes what is being judged
        evidence = gather(directory)
        chosen = evidence.synthesizer(synthesizer)
        _check_chains(chosen)
        outcome = _check_verdict(evidence, chosen, written_reason)
        _check_seed(evidence, guessable_seed=guessable_seed)
        past = past_approvals(evidence.internal)
        files = _files_digest(evidence, chosen)
        check_first(past, files, written_reason)
        variables = public_variables(evidence.codebook, formula_choice)
        with building(target) as folder:
            n_rows = _write_sets(evidence, chosen, variables, folder, form)
            about = Release(
                title=title.strip(),
                m=chosen.m,
                n_rows=n_rows,
                form=form,
                fully_synthetic=chosen.fully_synthetic,
                converged=chosen.convergence.converged,
                variables=variables,
                quoted=any(
                    public.levels != own.levels
                    for public, own in zip(variables, evidence.codebook.variables, strict=True)
                ),
                summary=summarize(evidence.findings, chosen),
                version=__version__,
            )
            _write_words(evidence, chosen, about, folder)
            check_bundle(folder, _secrets(evidence))
            facts: dict[str, Any] = {
                "synthesizer": chosen.name,
                "files": files,
                "verdict": outcome,
                "thresholds": evidence.verdict.thresholds,
                "convergence_targets": {
                    "rhat": chosen.convergence.rhat_target,
                    "ess": chosen.convergence.ess_target,
                },
                "written_reason": written_reason,
                "manifest_sha256": sha256((folder / NAME).read_bytes()).hexdigest(),
                "to": str(target),
            }
            record_approval(evidence.internal, past, approval, facts)
            move_in(folder, target, overwrite=overwrite)
    return target


def _check_chains(synthesizer: SynthesizerFindings) -> None:
    chains = synthesizer.convergence
    if chains.rhat_target > LOOSEST_RHAT or chains.ess_target < LEAST_DRAWS:
        raise NotConvergedError(
            expected=f"convergence judged by an R-hat of at most {LOOSEST_RHAT} and at least "
            f"{LEAST_DRAWS} effective draws",
            came=f"targets of {chains.rhat_target:g} and {chains.ess_target:g}",
            do="set stricter targets in the plan, or leave them out, and run again",
        )
    if chains.chains < 2 and synthesizer.kind not in {"perfect", "uniform"}:
        raise NotConvergedError(
            expected=f"at least two chains of {quoted(synthesizer.name)} that can be compared",
            came="one",
            do="run the study with several chains",
        )


def _check_verdict(evidence: Evidence, synthesizer: SynthesizerFindings, reason: str | None) -> str:
    verdict = evidence.verdict.synthesizers.get(synthesizer.name)
    if verdict is None:
        raise ReleaseRefused(
            expected=f"a verdict on {quoted(synthesizer.name)}",
            came="none",
            do="run the study again with this synthesizer in the plan",
        )
    if "fail" in {verdict.outcome, evidence.verdict.outcome}:
        raise ReleaseRefused(
            expected=f"a verdict on {quoted(synthesizer.name)} that allows a release",
            came="fail: do not release",
            do="read the reasons in the report, change the plan, and run again",
        )
    if verdict.outcome == "review":
        need_reason(reason)
    return verdict.outcome


def _check_seed(evidence: Evidence, *, guessable_seed: bool) -> None:
    seed = evidence.study.seed
    if seed is not None and seed < GUESSABLE and not guessable_seed:
        raise SettingError(
            expected="synthetic values drawn without a seed, or with one that nobody can guess",
            came="a study that was run with a small seed: whoever guesses it can draw the same",
            do="leave the seed out of the plan and run again; or, where the data are no secret, "
            "say guessable_seed=True (--guessable-seed)",
        )


def _write_sets(
    evidence: Evidence, synthesizer: SynthesizerFindings, variables: Any, folder: Path, form: Format
) -> int:
    """Write all sets, each checked, and give their number of rows."""
    n_rows = None if synthesizer.fully_synthetic else evidence.findings.data.n_records
    for number, content in enumerate(set_bytes(evidence, synthesizer), start=1):
        codes = set_codes(content, number, evidence.codebook, n_rows)
        n_rows = len(next(iter(codes.values())))
        write_set(codes, variables, folder / data_file(number, synthesizer.m, form))
    return n_rows or 0


def _write_words(
    evidence: Evidence, synthesizer: SynthesizerFindings, about: Release, folder: Path
) -> None:
    """Write everything but the data: plots, pages, codebook, and the manifest last."""
    from understudy.microdata.codebook import codebook_text

    figures = public_pictures(evidence.findings, synthesizer)
    if figures:
        (folder / "figures").mkdir()
    for name, content in figures.items():
        write_bytes(folder / "figures" / name, content)
    notes = ["Columns, levels and labels of the synthetic files, for understudy and for programs."]
    book = codebook_text(public_book(evidence.codebook, about.variables), notes)
    texts = {
        "methods.html": methods_page(about, figures),
        "codebook.html": codebook_page(about),
        "codebook.toml": book,
        "README.txt": readme(about),
    }
    for name, text in texts.items():
        write_bytes(folder / name, text.encode("utf-8"))
    facts = {
        "format": 1,
        "made_with": f"understudy {about.version}",
        "title": about.title,
        "sets": about.m,
        "rows": about.n_rows,
        "combining_rule": about.rule,
    }
    write_bytes(folder / NAME, manifest_text(folder, facts).encode("utf-8"))


def _files_digest(evidence: Evidence, synthesizer: SynthesizerFindings) -> str:
    """Name the sets of a synthesizer by one digest, to tell whether others were released before."""
    listed = evidence.findings.set_digests.get(synthesizer.name, ())
    return sha256("\n".join(listed).encode()).hexdigest()


def _secrets(evidence: Evidence) -> list[str]:
    """List marks of the study that no public byte may hold; short ones would be found anywhere."""
    findings = evidence.findings
    marks = [findings.data_fingerprint, evidence.verdict.findings, str(evidence.internal.resolve())]
    marks += [digest for digests in findings.set_digests.values() for digest in digests]
    for seed in (evidence.study.seed, findings.seed):
        marks += [] if seed is None else [str(seed), f"{seed:x}"]
    return [mark for mark in marks if len(mark) >= 12]
