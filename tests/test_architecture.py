"""The folders: who may import whom, and what every file has."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import understudy

SOURCE = Path(understudy.__file__).parent
ROOT = SOURCE.parent.parent

# What every folder may use.
BASE = {
    "errors",
    "randomness",
    "compiling",
    "checks",
    "summaries",
    "settings",
    "private_folder",
    "public_errors",
    "storage",
    "interrupts",
    "spreading",
    "work_done",
    "memory",
    "display",
}

# Who may import whom. What is not listed may not.
ALLOWED = {
    "errors": set(),
    "randomness": {"errors"},
    "compiling": {"errors"},
    "checks": {"errors"},
    "summaries": {"errors"},
    "settings": {"errors"},
    "private_folder": {"errors"},
    "public_errors": {"errors"},
    "storage": {"errors", "private_folder"},
    "interrupts": {"errors"},
    "spreading": {"work_done"},
    "work_done": set(),
    "memory": {"errors"},
    "templates": set(),
    "display": {"errors", "summaries", "checks", "templates"},
    "chained_log": {"errors", "private_folder", "storage"},
    "study_register": {"errors", "private_folder", "storage", "chained_log"},
    "finish_time": {"errors", "private_folder", "storage"},
    "microdata": BASE,
    "risk": {*BASE, "microdata"},
    "utility": {*BASE, "microdata"},
    "synthesis": {*BASE, "microdata", ""},
    "findings": {*BASE, "microdata", "risk", "utility"},
    "verdict": {"errors", "summaries", "settings", "findings", "display"},
    "pages": {"errors", "summaries", "templates", "findings", "verdict"},
    "publishing": {
        *BASE,
        "chained_log",
        "study_register",
        "finish_time",
        "microdata",
        "findings",
        "verdict",
        "pages",
        "",
    },
    "study": {
        *BASE,
        "study_register",
        "finish_time",
        "microdata",
        "synthesis",
        "utility",
        "findings",
        "verdict",
        "pages",
        "",
    },
    "frontiers": {
        *BASE,
        "microdata",
        "synthesis",
        "utility",
        "findings",
        "verdict",
        "pages",
        "study",
    },
    "reproduction": {
        *BASE,
        "microdata",
        "risk",
        "utility",
        "synthesis",
        "findings",
        "verdict",
        "pages",
        "study",
        "",
    },
    "cli": {
        *BASE,
        "chained_log",
        "microdata",
        "risk",
        "utility",
        "synthesis",
        "verdict",
        "study",
        "frontiers",
        "publishing",
        "reproduction",
        "",
    },
    "__main__": {"cli", "errors"},
    "__init__": {
        "memory",
        "microdata",
        "risk",
        "utility",
        "synthesis",
        "study",
        "frontiers",
        "publishing",
    },
}

# Facts about models, which import no model: whoever shows or judges one may read them.
FACTS = "understudy.synthesis.registry"

# Libraries that only one folder may use. matplotlib has two homes: `pages` draws findings in the
# style of the report, and `display`, which lies below all results and knows none of them, draws the
# panels of numbers that a result gives. So `result.plot()` needs no import of pages from risk.
ONLY_IN = {
    "cyclopts": {"cli"},
    "rich": {"cli"},
    "pyreadstat": {"microdata"},
    "numba": {"compiling", "synthesis"},
    "matplotlib": {"pages", "display"},
    "jinja2": {"templates"},
    "distributed": {"synthesis"},
    "dask": {"synthesis"},
}

MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Give the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def folder_of(path: Path) -> str:
    """Name the folder that a file lies in."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> set[str]:
    """Walk the syntax tree for everything a file imports, wherever in it."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_who_imports_whom(path: Path) -> None:
    mine = folder_of(path)
    assert mine in ALLOWED, f"a folder that is not listed: {mine}"
    for name in imports(path):
        library, *rest = name.split(".")
        if library == "understudy":
            other = rest[0] if rest else ""
            allowed = other == mine or other in ALLOWED[mine]
            facts = name == FACTS and mine in {"verdict", "pages", "publishing"}
            assert allowed or facts, f"{mine} may not import {name}"
        elif library in ONLY_IN:
            assert mine in ONLY_IN[library], f"{mine} may not import {library}"


WITH_KERNELS = [path for path in MODULES if "@compiled" in path.read_text(encoding="utf-8")]


def is_compiled(node: ast.AST) -> bool:
    """Tell whether a function is compiled, and so cached with all that it calls."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(mark, ast.Name) and mark.id == "compiled" for mark in node.decorator_list
    )


def uses_of_other_files(source: str) -> list[str]:
    """List compiled functions that use a name imported from another file of ours.

    Whatever such a function calls or reads is compiled into it. Its cache notices changes of its
    own file alone, and would go on with the old code of the other.
    """
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] == "understudy"
    }
    return [
        f"{function.name} uses {name.id}"  # type: ignore[attr-defined]
        for function in filter(is_compiled, ast.walk(tree))
        for statement in function.body  # type: ignore[attr-defined]
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and name.id in imported
    ]


@pytest.mark.parametrize("path", WITH_KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_compiled_functions_use_their_own_file_only(path: Path) -> None:
    assert not uses_of_other_files(path.read_text(encoding="utf-8"))


def test_compiled_functions_that_use_another_file_are_found() -> None:
    assert len(WITH_KERNELS) > 25
    kernel = "from understudy.a import b\n@compiled\ndef f(x):\n    return {}\n"
    assert uses_of_other_files(kernel.format("b(x)")) == ["f uses b"]
    assert uses_of_other_files(kernel.format("b.c(x)")) == ["f uses b"]
    assert not uses_of_other_files(kernel.format("c(x)"))
    assert not uses_of_other_files(kernel.format("b(x)").replace("@compiled\n", ""))


def undocumented_arguments(source: str) -> list[str]:
    """List arguments of compiled functions that neither they nor their module's docstring name.

    Compiled functions have no annotations: types and axes are stated there.
    """
    tree = ast.parse(source)
    return [
        f"{function.name}({argument.arg})"  # type: ignore[attr-defined]
        for function in filter(is_compiled, ast.walk(tree))
        for argument in function.args.args  # type: ignore[attr-defined]
        if not re.search(
            rf"(?<!\w){argument.arg}(?!\w)",
            f"{ast.get_docstring(tree)} {ast.get_docstring(function)}",  # type: ignore[arg-type]
        )
    ]


@pytest.mark.parametrize("path", WITH_KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_arguments_of_compiled_functions_are_documented(path: Path) -> None:
    assert not undocumented_arguments(path.read_text(encoding="utf-8"))


def test_arguments_without_documentation_are_found() -> None:
    kernel = "{}\n@compiled\ndef f(x, rows):\n    'Adds `rows`.'\n"
    assert undocumented_arguments(kernel.format("'Kernels.'")) == ["f(x)"]
    assert undocumented_arguments(kernel.format("'`x` is float64 (row,).'")) == []


def module_name(path: Path) -> str:
    """Name a module as an import statement does."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def packages_of(module: str) -> set[str]:
    """Name the packages around a module."""
    parts = module.split(".")
    return {".".join(parts[:size]) for size in range(1, len(parts))}


def module_imports() -> dict[str, set[str]]:
    """Map every module to the modules of ours that it imports, inside of functions too.

    Importing a module runs the packages around it too, except those that the importing module lies
    in. The names that the package itself loads on demand are left out: importing it runs none.
    """
    names = {module_name(path): path for path in MODULES}
    graph: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        if name == "understudy":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                wanted = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted = {full if full in names else node.module or "" for full in inside}
            else:
                continue
            around = {package for full in wanted for package in packages_of(full)}
            graph[name] |= ((wanted | around) & set(names)) - {name, *packages_of(name)}
    return graph


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Strip modules that import nothing that is left, again and again: what stays is in a cycle."""
    left = {name: set(wanted) for name, wanted in graph.items()}
    while free := [name for name, wanted in left.items() if not wanted & set(left)]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_module_imports_itself_through_others() -> None:
    graph = module_imports()
    assert "understudy.errors" in graph["understudy.microdata.reading"]
    assert cycle_in(graph) == []


def test_cycles_are_noticed() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


# Names of files that mean the same in every folder that has one.
SHARED_NAMES = {
    "__init__.py",
    "baselines.py",  # Uniform, Marginal, Others, Perfect: drawn, and what they give away
    "chains.py",  # run, and what is kept of them
    "run.py",  # the table of contents of its folder, and the command
    "status.py",  # of a study: read, and the command
    # one folder per model
    *("fit.py", "model.py", "problem.py", "sampler.py", "split_merge.py", "synthetic_labels.py"),
    "structural_zeros.py",  # declared, and conditioned on
}


def test_newcomers_are_told_of_every_folder_and_module_at_the_top() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = {path.name for path in SOURCE.glob("[a-z]*.py")}
    listed |= {f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py")}
    assert [name for name in sorted(listed) if f"{name}`" not in told] == []


def test_html_comes_from_templates() -> None:
    """SVG is put together where plots are drawn."""
    tags = re.compile(
        r"</?(a|body|div|h[1-6]|img|li|p|script|small|span|strong|style|t[dhr]|ul)[ >]"
    )
    for path in MODULES:
        if path.parent.name != "plots":
            texts = [
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            assert not [text for text in texts if tags.search(text)], path.name


def test_a_file_name_has_one_meaning() -> None:
    """What is not listed here occurs once."""
    names = Counter(path.name for path in MODULES)
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_why_it_exists(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_listed_names_exist(path: Path) -> None:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    if parts[-1] == "__main__":
        return
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    listed = getattr(module, "__all__", [])
    assert all(hasattr(module, name) for name in listed)
    if module is not understudy:
        assert listed == sorted(listed, key=_all_order), path.name


def _all_order(name: str) -> tuple[int, str]:
    """Sort as the linter does: CONSTANTS, Classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_facts_about_models_load_no_model() -> None:
    code = f"import sys, {FACTS}; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not set(ended.stdout.decode().split()) & {"numba", "numpy", "polars", "scipy"}


def test_help_loads_nothing_heavy() -> None:
    """Time is not asserted; what takes the time is."""
    code = (
        "import sys, json\n"
        "from understudy.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=600
    )
    loaded = set(json.loads(ended.stdout.decode().splitlines()[-1]))
    assert not loaded & {"numba", "polars", "scipy", "matplotlib", "pyreadstat", "numpy", "pandas"}


def test_no_file_names_this_machine() -> None:
    """Nothing that is tracked may name a package index or a folder of a machine."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if tracked.returncode:
        paths = [path for path in ROOT.rglob("*.toml") if ".venv" not in path.parts]
    else:
        paths = [ROOT / name for name in tracked.stdout.splitlines()]
    banned = ["index" + "-url", "pypi" + ".org", "python" + "hosted", "/ro" + "ot/", "/ho" + "me/"]
    for path in paths:
        if path.suffix in {".gz", ".png"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8").replace("--no-emit-index" + "-url", "")
        assert not [word for word in banned if word in text], path.name


def test_the_texts_that_planted_bugs_change_exist() -> None:
    from tests.mutants import MUTANTS

    gone = [
        mutant.what
        for mutant in MUTANTS
        if mutant.old not in (SOURCE / mutant.file).read_text("utf-8")
    ]
    assert gone == []


def test_planted_bugs_are_listed_by_the_folder_that_they_are_planted_in() -> None:
    from tests.mutants import FOLDERS

    for folder in FOLDERS:
        name = folder.__name__.rpartition(".")[2].partition("_")[0]  # dpmpm has two files
        for mutant in folder.MUTANTS:
            parents = Path(mutant.file).parent.parts or ("shared",)
            assert name == parents[-1 if parents[0] == "synthesis" else 0], mutant.what


def test_names_of_slow_tests_exist() -> None:
    from tests.conftest import SLOW_FILES, SLOW_FOLDERS, SLOW_TESTS

    files = list((ROOT / "tests").rglob("test_*.py"))
    assert {path.name for path in files} >= SLOW_FILES
    assert {path.parent.name for path in files} >= SLOW_FOLDERS
    texts = [path.read_text("utf-8") for path in files]
    gone = [name for name in SLOW_TESTS if not any(f"def {name}(" in text for text in texts)]
    assert gone == []
