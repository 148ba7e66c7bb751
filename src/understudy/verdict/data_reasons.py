"""What is judged about the data themselves: codebook, kept variables, group facts."""

from __future__ import annotations

from understudy.errors import quoted, quoted_list
from understudy.findings.schema import DataFindings
from understudy.summaries import counted, number, percent
from understudy.verdict.grading import Outcome, Reason, graded
from understudy.verdict.thresholds import Thresholds

__all__ = ["reasons_about_data", "small_pattern_share", "smallest_pattern"]


def reasons_about_data(data: DataFindings, limits: Thresholds) -> list[Reason]:
    """Judge what holds for every synthesizer."""
    reasons = []
    if limits.codebook_required:
        reasons.append(_codebook(data))
    if data.kept:
        reasons += [_smallest_pattern(data, limits), _group_facts(data)]
    if data.passed:
        reasons.append(_passed(data, limits))
    return reasons


def _passed(data: DataFindings, limits: Thresholds) -> Reason:
    """Judge what columns that pass through add to what somebody can recognize a record by."""
    share = data.passed_unique / data.n_records if data.n_records else 0.0
    beside = data.passed_unique_unweighted / data.n_records if data.n_records else 0.0
    weighted = any(column.weight for column in data.passed)
    outcome = graded(beside if weighted else share, limits, "passed_unique")
    if outcome == "pass" and share > limits.passed_unique_pass:
        outcome = "review"  # a weight is not known from elsewhere, but it can be found in all files
    listed = ", ".join(
        f"{quoted(column.name)} ({column.stored}) {column.unique_with_kept:,}"
        for column in data.passed
    )
    words = (
        f"True values pass through unchanged in {counted(len(data.passed), 'column')}. Together "
        f"they make {counted(data.passed_unique, 'record')} ({percent(share)}) unique among "
        "those with the same kept variables; each alone: "
        f"{listed}. Whoever knows such a value finds the person's row, and the row can be followed "
        "through all files although their rows are shuffled. (The own-record effect in the worst "
        "case, which is judged, assumes as much.)"
    )
    own = [column for column in data.passed if 2 * column.alone > data.n_records]
    if own:
        named = ", ".join(quoted(column.name) for column in own)
        words += (
            f" Most records have a value of their own in {named}, as in a name or an identifier."
        )
    if outcome == "pass" and not all(column.weight for column in own):
        outcome = "review"  # even where every record is alone with its kept variables already
    deciding = [quoted(column.name) for column in data.passed if column.decides]
    deciding += [f"{quoted_list(names)} together" for names in data.passed_together]
    if deciding:
        outcome = "fail"  # the files would hold the secret
        words += (
            f" {', '.join(deciding)} nearly decide{'s' * (len(deciding) == 1)} what is "
            "synthesized: whoever knows how they belong together reads the secret from it. Leave "
            "them out, or group them until they no longer tell it."
        )
    return Reason(
        subject="columns passed through",
        outcome=outcome,
        words=words,
        found=share,
        limit=limits.passed_unique_pass,
    )


def _codebook(data: DataFindings) -> Reason:
    outcome: Outcome
    if not data.codebook_declared:
        outcome = "fail"
        which = f" of {quoted_list(data.undeclared)}" if data.undeclared else ""
        words = (
            f"No codebook declares the levels{which}. Their list comes from the confidential file "
            "and says who is in it. Declare them before anything is released."
        )
    elif not data.codebook_reviewed:
        outcome = "review"
        words = "A codebook declares the levels, but it is not marked as reviewed."
    else:
        outcome, words = "pass", "A reviewed codebook declares the levels."
    if data.codebook_declared and set(data.observed_only) >= {
        variable.name for variable in data.variables
    }:
        rare = sum(data.rare_levels.values())
        outcome = "review" if rare and outcome == "pass" else outcome
        words += (
            " Its levels are exactly those that somebody has, like a list taken from the file: "
            "make sure that it comes from the survey's design."
        )
    if data.rare_levels:
        listed = ", ".join(f"{many:,} of {quoted(name)}" for name, many in data.rare_levels.items())
        words += f" Levels that only one or two records have: {listed}."
    return Reason(subject="codebook", outcome=outcome, words=words)


def _group_facts(data: DataFindings) -> Reason:
    """Judge what the files tell about groups: labels that nearly everybody of a pattern has."""
    points = []
    if data.dominated_patterns:
        points.append(
            f"In {counted(data.dominated_patterns, 'pattern')} "
            f"({counted(data.dominated_records, 'record')}) nearly everybody has the same label: "
            "a useful file tells it, whoever the person is."
        )
    if data.deciding:
        points.append(
            f"The kept variable{'s' * (len(data.deciding) > 1)} {quoted_list(data.deciding)} "
            f"nearly decide{'s' * (len(data.deciding) == 1)} what is synthesized, and will be "
            "published unchanged."
        )
    words = " ".join(points) or "In no pattern does nearly everybody have the same label."
    return Reason(subject="group facts", outcome="review" if points else "pass", words=words)


def _smallest_pattern(data: DataFindings, limits: Thresholds) -> Reason:
    size, share = smallest_pattern(data), small_pattern_share(data, limits.smallest_pattern)
    people = "one record only" if size == 1 else counted(size, "record")
    words = f"The smallest combination of the kept variables has {people}"
    outcome: Outcome
    if size >= limits.smallest_pattern:
        outcome = "pass"
        words += f"; {limits.smallest_pattern:,} are required."
    else:
        outcome = "review" if share <= limits.small_pattern_share_review else "fail"
        words += (
            f"; {limits.smallest_pattern:,} are required. {percent(share)} of all records lie in "
            "such small combinations, and their kept variables are released unchanged. Merge "
            "levels, or write down why that is acceptable."
        )
    if data.population is not None and data.population.sample_uniques:
        known = data.population
        words += (
            f" Of the {known.sample_uniques:,} records that are alone, about "
            f"{number(known.population_uniques)} are alone in the population of "
            f"{known.people:,.0f}, too (estimated from the survey weights, people of a pattern "
            "given its records taken as negative binomial)."
        )
    return Reason(
        subject="smallest pattern",
        outcome=outcome,
        words=words,
        found=float(size),
        limit=float(limits.smallest_pattern),
    )


def smallest_pattern(data: DataFindings) -> int:
    """Records in the smallest pattern."""
    sizes = [*data.pattern_sizes, *(pattern.records for pattern in data.patterns)]
    return min(sizes, default=0)


def small_pattern_share(data: DataFindings, fewest: int) -> float:
    """Share of the records that lie in patterns with fewer records than that."""
    counted = data.pattern_sizes
    listed = [pattern.records for pattern in data.patterns if pattern.records not in counted]
    small = [size * number for size, number in counted.items() if size < fewest]
    small += [size for size in listed if size < fewest]
    return sum(small) / data.n_records if data.n_records else 0.0
