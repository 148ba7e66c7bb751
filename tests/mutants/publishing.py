"""Bugs planted in the release."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

REFUSALS = "tests/publishing/test_refusals.py"
PUBLIC = "tests/publishing/test_public_folder.py"
CANARIES = "tests/publishing/test_canaries.py"

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
        "publishing/files.py",
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
        "release: small counts are shown",
        "publishing/rounding.py",
        "if value < LIMIT:",
        "if value < 0:",
        PUBLIC,
        "counts",
    ),
    Mutant(
        "release: shares from the exact count",
        "publishing/rounding.py",
        "100 * shown / n_records",
        "100 * value / n_records",
        PUBLIC,
        "shares",
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
        "publishing/variables.py",
        "for level, text in labels.items() if level in renamed}",
        "for level, text in labels.items() if renamed.setdefault(level, level)}",
        PUBLIC,
        "unpublished",
    ),
]
