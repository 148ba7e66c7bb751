"""`release`, the only function that writes publishable files, and all of its conditions.

It reads as the list of them. Whatever is refused is refused before a byte is written to a public
folder, and the folder appears there in one rename.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import polars as pl

from understudy import __version__
from understudy.errors import NotConvergedError, ReleaseRefused, SettingError, quoted
from understudy.findings.schema import SynthesizerFindings
from understudy.microdata.variable import Variable
from understudy.public_errors import only_our_errors
from understudy.publishing.approval import (
    Approval,
    approvers_so_far,
    change_record,
    check_day,
    check_first,
    check_reason,
    need_more_approvals,
    need_reason,
    past_approvals,
    read_approval,
    record_approval,
)
from understudy.publishing.data_files import (
    Format,
    check_format,
    check_whole_columns,
    data_file,
    set_codes,
    write_bytes,
    write_set,
)
from understudy.publishing.evidence import Evidence, gather, passed_frame, set_bytes
from understudy.publishing.manifest import NAME, build_facts, check_bundle, manifest_text
from understudy.publishing.public_pages import Release, codebook_page, methods_page, readme
from understudy.publishing.public_plots import public_pictures
from understudy.publishing.public_summary import public_numbers, summarize
from understudy.publishing.public_variables import (
    Formulas,
    check_formulas,
    check_passed,
    check_text,
    public_book,
    public_variables,
    without_holes,
)
from understudy.publishing.signature import sign_manifest
from understudy.publishing.target import building, check_target, move_in
from understudy.storage import Lock
from understudy.study_register import register_path

__all__ = ["release"]

TITLE = "Synthetic data"
# Targets looser than these show nothing, whatever a plan asks for.
LOOSEST_RHAT = 1.1
LEAST_DRAWS = 50


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
    register: str | os.PathLike[str] | None = None,
    sign: str | os.PathLike[str] | None = None,
) -> Path:
    """Make the public folder of a study, if everything that must hold does.

    Refused are: a study that is not complete or is being run; a single chain, or targets of
    convergence that show nothing; files, findings, verdict or codebook that do not belong together;
    a verdict that does not follow from the findings; the verdict fail, and review without a written
    reason (also where chains have not converged); further files beside those of an earlier approval
    without a written reason, and one of several registered runs; a codebook that is not declared
    and reviewed; an approval without name, date and reason, dated before the study was finished, or
    by fewer people than the plan asks for; a folder that is not empty, a symbolic link, or mixed up
    with the confidential one; levels that a spreadsheet takes for formulas, or that cannot be
    written; synthetic records that the codebook calls impossible; a study whose seed was not drawn
    by the operating system; approvals or a register from which entries were removed.

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
        Whether a study that was run with a seed given by hand may be released: whoever knows nearly
        all records and the seed can test guesses about the rest.
    register : str or path, optional
        The register that the study was entered in. It need not be named: the study knows it. One
        that is named must be the same.
    sign : str or path, optional
        An SSH key to sign the manifest with (``ssh-keygen -Y sign``). The signature lies beside it.

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
    with Lock(evidence.internal) as lock:  # no run changes what is being judged
        evidence = gather(directory)
        check_day(approval, evidence.finished)
        _check_register(evidence, register)
        chosen = evidence.synthesizer(synthesizer)
        _check_chains(chosen)
        variables = public_variables(evidence.codebook, formula_choice)
        holes = evidence.study.missing == "model"
        if holes:
            variables = without_holes(variables, kept_too=chosen.imputations is not None)
        passed = passed_frame(evidence)
        check_passed(passed)
        outcome = _check_verdict(evidence, chosen, written_reason)
        _check_runs(evidence, written_reason)
        _check_seed(evidence, guessable_seed=guessable_seed)
        past = past_approvals(evidence.internal, evidence.study)
        files = _files_digest(evidence, chosen)
        check_first(past, files, written_reason)
        facts = _facts(evidence, chosen, outcome, files, written_reason)
        people = approvers_so_far(past, files, approval)
        if len(people) < evidence.study.approvers:
            _check_sets(evidence, chosen)
            record_approval(lock, past, approval, facts)
            need_more_approvals(len(people), evidence.study.approvers)
        numbers = public_numbers(evidence.findings, chosen, evidence.study.seed)
        with building(target) as folder:
            n_rows = _write_sets(evidence, chosen, variables, passed, folder, form)
            about = Release(
                title=title.strip(),
                m=chosen.m,
                n_rows=n_rows,
                form=form,
                fully_synthetic=chosen.fully_synthetic,
                converged=chosen.convergence.converged,
                seed_drawn=evidence.study.seed_drawn,
                variables=variables,
                passed={name.name: name.stored for name in evidence.codebook.passed},
                quoted=any(
                    public.levels != own.levels[: public.n_levels]
                    for public, own in zip(variables, evidence.codebook.variables, strict=True)
                ),
                missing=evidence.study.missing,
                imputations=chosen.imputations,
                imputed=tuple(
                    public.name
                    for public, own in zip(variables, evidence.codebook.variables, strict=True)
                    if public.role == "kept" and public.n_levels < len(own.levels)
                ),
                summary=summarize(evidence.findings, chosen, numbers),
                version=__version__,
            )
            pictures = public_pictures(evidence.findings, chosen, numbers)
            _write_words(evidence, pictures, about, folder)
            if sign is not None:
                sign_manifest(folder / NAME, sign)
            check_bundle(folder, _secrets(evidence))
            facts["manifest_sha256"] = sha256((folder / NAME).read_bytes()).hexdigest()
            facts["to"] = str(target)
            record_approval(lock, past, approval, facts)
            _enter_release(lock, evidence, approval, facts)
            move_in(folder, target, overwrite=overwrite)
    return target


def _facts(
    evidence: Evidence,
    chosen: SynthesizerFindings,
    outcome: str,
    files: str,
    written_reason: str | None,
) -> dict[str, Any]:
    """List what an approval is about."""
    runs = evidence.runs
    return {
        "synthesizer": chosen.name,
        "files": files,
        "verdict": outcome,
        "thresholds": evidence.verdict.thresholds.model_dump(mode="json"),
        "convergence_targets": {
            "rhat": chosen.convergence.rhat_target,
            "ess": chosen.convergence.ess_target,
        },
        "written_reason": written_reason,
        "seed_from": evidence.study.seed_from,
        "runs": None
        if runs is None
        else {"same plan": runs.same_plan, "same data": runs.same_data},
    }


def _check_register(evidence: Evidence, named: str | os.PathLike[str] | None) -> None:
    if named is None:
        return
    if evidence.register is None:
        raise ReleaseRefused(
            expected="a study that was entered in the register when it was run",
            came="one that was not",
            do="run the study with the register (--register, or register in the plan)",
        )
    if register_path(Path(named)) != evidence.register.folder:
        raise SettingError(
            expected="the register that the study was entered in",
            came="another one",
            do="name the same register, or leave it out",
        )


def _check_runs(evidence: Evidence, reason: str | None) -> None:
    """Ask for a reason where the register has several runs of the same people by now."""
    runs = evidence.runs
    if runs is not None and runs.same_data > 1 and reason is None:
        raise ReleaseRefused(
            expected="the only run of the same people, or a written reason",
            came=f"{runs.same_data:,} runs in the register, each with a seed of its own: files "
            "chosen among them are riskier than their values say",
            do="say with reason= (--reason) why these files were chosen",
        )


def _enter_release(
    lock: Lock, evidence: Evidence, approval: Approval, facts: Mapping[str, Any]
) -> None:
    """Enter a release in the study's register, where it has one."""
    entry = evidence.study.register_entry
    if evidence.register is None or entry is None:
        return
    digest = evidence.register.add(
        "release",
        {
            "study": entry.study,
            "files": facts["files"],
            "manifest_sha256": facts["manifest_sha256"],
            "approved_by": approval.name,
        },
    )
    change_record(
        lock,
        {"register": {**entry.model_dump(), "entry": digest}},
    )


def _check_sets(evidence: Evidence, synthesizer: SynthesizerFindings) -> None:
    """Read all sets, which are compared with their digests, and write nothing."""
    for _ in set_bytes(evidence, synthesizer):
        pass


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
    verdict = evidence.verdict.synthesizers[synthesizer.name]
    if verdict.outcome == "fail":
        raise ReleaseRefused(
            expected=f"a verdict on {quoted(synthesizer.name)} that allows a release",
            came="fail: do not release",
            do="read the reasons in the report, change the plan, and run again",
        )
    if verdict.outcome == "review":
        need_reason(reason)
    return verdict.outcome


def _check_seed(evidence: Evidence, *, guessable_seed: bool) -> None:
    if not evidence.study.seed_drawn and not guessable_seed:
        raise SettingError(
            expected="synthetic values drawn with a seed from the operating system",
            came="a study that was run with a seed given by hand: whoever knows or guesses it can "
            "draw the same",
            do="leave the seed out of the plan and run again; or, where the data are no secret, "
            "say guessable_seed=True (--guessable-seed)",
        )


def _write_sets(
    evidence: Evidence,
    synthesizer: SynthesizerFindings,
    variables: Sequence[Variable],
    passed: pl.DataFrame | None,
    folder: Path,
    form: Format,
) -> int:
    """Write all sets, each checked, and give their number of rows."""
    n_rows = None if synthesizer.fully_synthetic else evidence.findings.data.n_records
    for number, content in enumerate(set_bytes(evidence, synthesizer), start=1):
        codes = set_codes(content, number, evidence.codebook, n_rows)
        n_rows = len(next(iter(codes.values())))
        check_whole_columns(codes, variables, number)
        path = folder / data_file(number, synthesizer.m, form)
        write_set(codes, variables, path, passed, evidence.codebook.columns)
    return n_rows or 0


def _write_words(
    evidence: Evidence, figures: Mapping[str, bytes], about: Release, folder: Path
) -> None:
    """Write everything but the data: plots, pages, codebook, and the manifest last."""
    from understudy.microdata.codebook import codebook_text

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
        **build_facts(),
        "plan_digest": _plan_digest(evidence),
        "title": about.title,
        "sets": about.m,
        "rows": about.n_rows,
        "combining_rule": about.rule,
        **({} if about.imputations is None else {"imputations": about.imputations}),
    }
    write_bytes(folder / NAME, manifest_text(folder, facts).encode("utf-8"))


def _plan_digest(evidence: Evidence) -> str:
    """Digest of the plan, keyed with the study's seed.

    Without the key somebody could try plans, and the priors in them, until the digest agrees.
    """
    plan = json.dumps(evidence.study.identity.get("plan"), sort_keys=True).encode("utf-8")
    key = evidence.study.seed.to_bytes(16, "little")
    return blake2b(plan, key=key, digest_size=32).hexdigest()


def _files_digest(evidence: Evidence, synthesizer: SynthesizerFindings) -> str:
    """Name the sets of a synthesizer by one digest, to tell whether others were released before."""
    listed = evidence.findings.set_digests.get(synthesizer.name, ())
    return sha256("\n".join(listed).encode()).hexdigest()


def _secrets(evidence: Evidence) -> list[str]:
    """List marks of the study that no public byte may hold; short ones would be found anywhere."""
    findings = evidence.findings
    marks = [
        findings.data_fingerprint,
        evidence.verdict.findings or "",
        str(evidence.internal.resolve()),
    ]
    marks += [digest for digests in findings.set_digests.values() for digest in digests]
    marks += [str(evidence.study.seed), f"{evidence.study.seed:x}"]
    return [mark for mark in marks if len(mark) >= 12]
