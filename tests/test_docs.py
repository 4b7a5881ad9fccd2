"""The docs: every snippet runs, the CLI reference is true, the pages build without a warning."""

import ast
import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import fieldmend as fm
from fieldmend.cli.app import app

ROOT = Path(__file__).parents[1]


def script(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


snippets = script(ROOT / "docs" / "snippets.py")
WITH_CONSOLE = [page for page in snippets.PAGES if "```console" in page.read_text("utf-8")]
WITH_PYTHON = [page for page in snippets.PAGES if ">>> " in page.read_text("utf-8")]


def named(page):
    return page.name


SLOW = {"plan.md", "nightly.md", "evaluate.md"}  # a minute of commands


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.long] if p.name in SLOW else []) for p in WITH_CONSOLE],
    ids=named,
)
def test_commands_print_what_the_page_says(page):
    text, wrong = snippets.true_page(page)
    assert not wrong, "\n".join([*wrong, "make snippets puts the true output there"])
    assert text == page.read_text("utf-8")


@pytest.mark.parametrize("page", WITH_PYTHON, ids=named)
def test_python_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script(ROOT / "examples" / "make_readings.py").main(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def test_a_page_that_is_not_true_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\none\n$ echo two\nthree\n```\n")
    text, wrong = snippets.true_page(page)
    assert len(wrong) == 1
    assert text == "```console\n$ echo one\none\n$ echo two\ntwo\n```\n"


def test_the_cli_reference_is_up_to_date():
    made = script(ROOT / "docs" / "generate_cli.py")
    for path, text in made.pages().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run make snippets"


COMMANDS = get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name):
    command = COMMANDS[name]
    assert command.help
    assert f"fieldmend {name}" in command.help, "examples"
    for parameter in command.params:
        assert parameter.help, parameter.name


def test_every_public_name_is_in_the_api():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    for name in set(fm.__all__) - {"__version__"}:
        assert re.search(rf"auto\w+:: (fieldmend\.)?{name}\b", page), name


def test_links_between_pages_lead_somewhere():
    for page in snippets.PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_listed_and_every_listed_page_is_there():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    listed = {line for line in index.splitlines() if re.fullmatch(r"[a-z]+(/[a-z]+)?", line)}
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert listed == pages | {"paper/claims"}
    assert (ROOT / "docs" / "paper" / "claims.md").exists()


def test_the_pages_build_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
         str(ROOT / "docs"), str(tmp_path / "html"), "-d", str(tmp_path / "trees")],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(Path(fm.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").exists()


def test_the_table_of_the_paper_names_what_is_there():
    text = (ROOT / "docs/maths.md").read_text("utf-8")
    table = text.split("## Where the paper is in the code")[1].split("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", table)
    assert len(named) > 40
    for file, name in named:
        path = ROOT / ("" if file.startswith("tests/") else "src/fieldmend") / file
        tree = ast.parse(path.read_text("utf-8"))
        for part in name.split("."):
            inside = [node for node in tree.body if getattr(node, "name", None) == part]
            assert inside, f"{file}: no {name}"
            tree = inside[0]
    # All equations, tables, theorems and lemmas that the paper numbers.
    numbers = set()
    for first, last in re.findall(r"\((\d+)\)(?: to \((\d+)\))?", table):
        numbers |= set(range(int(first), int(last or first) + 1))
    assert numbers == set(range(1, 58))
    for what in (
        "Table I ",
        "Table II ",
        "Table III ",
        "Theorem 1",
        "Theorem 2",
        "Lemma 1",
        "Lemma 2",
    ):
        assert what in table, what


@pytest.mark.parametrize("folder", sorted(p.parent for p in (ROOT / "src").rglob("__init__.py")))
def test_every_package_tells_what_comes_in_what_goes_out_and_who_calls(folder):
    if folder.parent.name in ("src", "report", "experiments"):
        return  # the package itself has docs/; figures/ and claims/ stand in their parents' pages
    text = (folder / "README.md").read_text("utf-8")
    assert "In: " in text
    assert "Out: " in text
    assert re.search(r"Callers?: ", text)
    assert len(text.splitlines()) <= 16
    for name in re.findall(r"`([\w/]+\.py)`", text):
        places = [folder / name, folder.parent / name]
        assert any(place.exists() for place in places), f"{folder.name}: no {name}"


def architecture():
    """The page, and its lines of each package."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    ours, _, _ = text.split("src/fieldmend/\n")[1].split("```")[0].partition("\ntests/")
    rows = re.split(r"^(?=  \S)", ours, flags=re.MULTILINE)[1:]
    return text, ours, {row.split()[0].rstrip("/"): row for row in rows}


def test_every_module_is_named_in_its_packages_page_or_in_the_architecture():
    _, _, rows = architecture()
    package = ROOT / "src/fieldmend"
    nowhere = []
    for path in package.glob("*/**/[!_]*.py"):
        parts = path.relative_to(package).parts
        pages = [folder / "README.md" for folder in (path.parent, path.parent.parent)]
        text = rows[parts[0]] + "".join(p.read_text("utf-8") for p in pages if p.exists())
        if not re.search(rf"\b{path.stem}\.py\b", text):
            nowhere.append("/".join(parts))
    assert not nowhere


def test_the_architecture_names_files_and_packages_that_are_there():
    text, ours, rows = architecture()
    package = ROOT / "src/fieldmend"
    there = {path.name for path in ROOT.rglob("*.py")}
    assert not set(re.findall(r"\b\w+\.py\b", text)) - there
    for name, row in rows.items():
        own = {path.name for path in (package / name).rglob("*.py")} or there
        assert not set(re.findall(r"\b\w+\.py\b", row)) - own, name
    told = set(re.findall(r"^  ([\w.]+)", ours, flags=re.MULTILINE)) | {
        name for line in ours.splitlines()[:3] for name in re.findall(r"\w+\.py", line)
    }
    parts = {p.name for p in package.iterdir() if (p / "__init__.py").exists()}
    parts |= {p.name for p in package.glob("*.py")} - {"__main__.py"}
    assert told == parts
