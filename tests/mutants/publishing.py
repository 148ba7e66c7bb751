"""Bugs planted in the release."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

REFUSALS = "tests/publishing/test_refusals.py"
PUBLIC = "tests/publishing/test_public_folder.py"
CANARIES = "tests/publishing/test_canaries.py"
ROUNDING = "tests/publishing/test_rounding.py"
TAMPERING = "tests/publishing/test_tampering.py"

MUTANTS = [
    Mutant(
        "release: an order that can be repeated",
        "randomness.py",
        'np.frombuffer(os.urandom(8 * n), dtype="<u8")',
        "np.random.default_rng(1).integers(2**60, size=n)",
        CANARIES,
        "order",
    ),
    Mutant(
        "release: rows in the order of the records",
        "publishing/data_files.py",
        "codes[variable.name][rows],",
        "codes[variable.name],",
        CANARIES,
        "order_says_nothing",
    ),
    Mutant(
        "release: files are not compared with the findings",
        "publishing/evidence.py",
        "if digest_of(content) != known:",
        "if not known:",
        REFUSALS,
        "changed_set or swapped",
    ),
    Mutant(
        "release: an edited verdict counts",
        "publishing/evidence.py",
        "    if written != digest:",
        "    if not digest:",
        REFUSALS,
        "by_hand",
    ),
    Mutant(
        "release: each number has the whole chance of showing a label",
        "publishing/rounding.py",
        "many * number.records / (CHANCE * n_records)",
        "number.records / (CHANCE * n_records)",
        ROUNDING,
        "add_up",
    ),
    Mutant(
        "release: numbers are rounded to the nearest",
        "publishing/rounding.py",
        "floor(number.share / step + part)",
        "floor(number.share / step + 0.5)",
        ROUNDING,
        "random",
    ),
    Mutant(
        "release: lists of priors leave",
        "publishing/public_summary.py",
        "BY_HAND if secret and",
        "BY_HAND if not value and",
        "tests/publishing/test_methods_page.py",
        "vectors",
    ),
    Mutant(
        "release: the verdict is not judged again",
        "publishing/evidence.py",
        "if not same or outcomes != written:",
        "if not verdict:",
        TAMPERING,
        "forged_with_all",
    ),
    Mutant(
        "release: a record without its digest counts",
        "publishing/evidence.py",
        "    if claimed is None:",
        "    if claimed is None and not content:",
        REFUSALS,
        "wrong_or_gone",
    ),
    Mutant(
        "release: the size of a seed tells who drew it",
        "publishing/evidence.py",
        "return self.seed_from == DRAWN",
        "return self.seed >= 2**64",
        REFUSALS,
        "by_hand",
    ),
    Mutant(
        "release: removed approvals are not missed",
        "publishing/approval.py",
        "if head_of(past) not in {study.approvals.head, study.approvals.next}:",
        "if past and head_of(past) not in {study.approvals.head, study.approvals.next}:",
        TAMPERING,
        "removed",
    ),
    Mutant(
        "release: one person is two",
        "publishing/approval.py",
        "return {_plain_name(name) for name in (*names, approval.name)}",
        "return {str(number) for number in range(len(names) + 1)}",
        TAMPERING,
        "two_people",
    ),
    Mutant(
        "register: a broken chain counts",
        "chained_log.py",
        'if entry.get("previous") != head_of(entries[:number]):',
        'if "previous" not in entry:',
        TAMPERING,
        "forged_log",
    ),
    Mutant(
        "register: runs are not counted",
        "study_register.py",
        'if entry.get("event") == "run" and',
        'if entry.get("event") == "release" and',
        "tests/publishing/test_study_register.py",
        "several_runs",
    ),
    Mutant(
        "release: whatever was built is published",
        "publishing/manifest.py",
        "if not ALLOWED.fullmatch(name) or path.is_symlink():",
        "if path.is_symlink():",
        PUBLIC,
        "last_look",
    ),
    Mutant(
        "release: any folder is replaced",
        "publishing/target.py",
        "    if not earlier:",
        "    if earlier is None:",
        PUBLIC,
        "unchanged_release",
    ),
    Mutant(
        "release: labels of unpublished levels leave",
        "publishing/public_variables.py",
        "for level, text in labels.items() if level in renamed}",
        "for level, text in labels.items() if renamed.setdefault(level, level)}",
        PUBLIC,
        "unpublished",
    ),
]
