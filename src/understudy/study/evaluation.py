"""Findings about files that another tool made, measured as the sets of a study are.

There is no fit, so nothing is known about chains, and the effect of people's own records has weaker
evidence: a control group of people who were not in the synthesis, or, without one, what the other
records tell. The verdict says which. Everything else is the same, so the same page shows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import polars as pl

from understudy.errors import UnderstudyWarning
from understudy.findings.chains import convergence_findings
from understudy.findings.data import data_findings, population_findings
from understudy.findings.own_record import own_record_findings, with_own_record
from understudy.findings.risk import intruder_findings, risk_findings
from understudy.findings.schema import Findings, IntruderFindings, RiskFindings, SynthesizerFindings
from understudy.findings.survey_measures import SurveyMeasures, survey_measures
from understudy.findings.utility import Analysis, utility_findings
from understudy.microdata.label_table import LARGEST_TABLE
from understudy.microdata.plausibility import table_size
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import child_seed
from understudy.study.stages import MOST_KNOWN
from understudy.study.versions import versions
from understudy.synthesis.diagnostics import SCHEMA
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.verdict.verdict import Verdict, judge
from understudy.work_done import Parts

__all__ = ["SurveyMeasures", "file_findings", "judged_files", "survey_measures"]

NAME, TITLE = "files", "Files of another tool"


def file_findings(
    data: Microdata,
    sets: SyntheticSets,
    intruders: Sequence[tuple[str, ...]],
    *,
    title: str,
    formula: str | None,
    family: str,
    control: Any,
    repeats: int,
    seed: int,
    reviewed: bool,
    remarks: Sequence[str],
) -> Findings:
    """Measure everything that a verdict about these files, row by row beside the data, judges.

    Intruders are by what each knows, none where nothing is kept. `control` are people who were not
    in the synthesis, `repeats` how often the baselines are drawn, and `remarks` what was noticed
    about the files.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnderstudyWarning)
        done = Parts(*[5] * len(intruders), 10, 6)
        beside = tuple(
            done(_baselines(data, known, repeats, len(sets), child_seed(seed, "levels", number)))
            for number, known in enumerate(intruders, 1)
        )
        files = SynthesizerFindings(
            name=NAME,
            title=TITLE,
            kind=NAME,
            settings={},
            m=len(sets),
            fully_synthetic=not data.kept,
            convergence=convergence_findings(
                diagnostics=pl.DataFrame(schema=SCHEMA),
                scalars={},
                converged=True,  # there are no chains
                warmup=0,
                thin=1,
                autocorrelation_time=1.0,
                spacing=1.0,
                rhat_target=RHAT_TARGET,
                ess_target=ESS_TARGET,
            ),
            utility=done(
                utility_findings(
                    data,
                    sets,
                    analyses=[] if formula is None else [Analysis(formula, family, None)],
                    rule=sets.combining_rule,
                    seed=child_seed(seed, "utility"),
                )
            ),
            risk=done(_risk(data, sets, beside, control, child_seed(seed, "own record"))),
            notes=(),
            imputations=sets.imputations,
        )
    texts = [str(warning.message) for warning in caught]
    declared = all(variable.declared for variable in data.variables)
    return Findings(
        title=title,
        data=data_findings(data, codebook_declared=declared, codebook_reviewed=reviewed),
        intruders=beside,
        synthesizers=(
            files.model_copy(update={"notes": tuple(dict.fromkeys([*remarks, *texts]))}),
        ),
        versions=versions(),
        seed=seed,
        data_fingerprint=data.fingerprint(),
        set_digests={},
    )


def judged_files(
    data: Microdata, sets: SyntheticSets, intruders: Sequence[tuple[str, ...]], **asked: Any
) -> tuple[Verdict, str]:
    """Measure files of another tool and judge them; give the verdict, and the page that shows it.

    What else is asked is as `file_findings` takes it.
    """
    from understudy.pages.report import page

    findings = file_findings(data, sets, intruders, **asked)
    verdict = judge(findings)
    return verdict, page(findings, verdict)


def _baselines(
    data: Microdata, known: tuple[str, ...], repeats: int, n_sets: int, seed: int
) -> IntruderFindings:
    """Draw the baselines of one intruder; none where a table of labels would be too large."""
    if table_size(data) > LARGEST_TABLE:
        return IntruderFindings(
            known=known, baselines={}, population=population_findings(data, known)
        )
    return intruder_findings(data, known, repeats=repeats, sets=n_sets, seed=seed)


def _risk(
    data: Microdata,
    sets: SyntheticSets,
    beside: Sequence[IntruderFindings],
    control: Any,
    seed: int,
) -> RiskFindings:
    """Measure the risk of the files, and what people's own records add to it."""
    intruders = [intruder.known for intruder in beside]
    done = Parts(3, 2)
    risk = done(risk_findings(data, sets, intruders, by_knowledge=len(data.kept) <= MOST_KNOWN))
    if not data.kept or table_size(data) > LARGEST_TABLE:
        return risk
    own_record = own_record_findings(
        data, sets, intruders, sets=len(sets), refit=None, folds=1, seed=seed, control=control
    )
    return with_own_record(risk, own_record, beside)
