"""Do the tests bite? A seeded sample of small wrong changes, each met by the nearest tests.

Run by `make check-long`, or: python tests/mutation.py --packages core --mutants 10
Cosmic Ray (group `mutation`) makes the changes; they are made to copies, never to the source here.
"""

import argparse
import ast
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The quickest first: most mutants die in them.
NEAREST = {
    "core": ("test_prox", "test_loop", "test_engine", "test_problem", "test_refit",
             "test_solvers", "test_decomposition"),
    "field": ("test_cycles", "test_filter", "test_modelfile", "test_fieldmodel",
              "test_field", "properties/test_field_invariance"),
    "recovery": ("test_windows", "test_states", "test_honest", "test_applying", "test_recovery",
                 "test_quantities", "bad/test_recovering", "properties/test_recovery"),
    "faults": ("test_geo", "test_excursions", "test_gross", "test_faults", "test_explanations"),
    "diagnostics": ("test_diagnostics",),
    "metrics.py": ("test_metrics",),
}  # fmt: skip
# What a tired person writes. All pairs of operators would be hundreds, most of them absurd.
PAIRS = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "BitAnd_BitOr", "BitOr_BitAnd")
COMPARED = ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq", "Lt_Gt", "Is_IsNot")
OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in PAIRS),
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in COMPARED),
    *(f"core/ReplaceUnaryOperator_Delete_{one}" for one in ("USub", "Invert", "Not")),
    "core/NumberReplacer", "core/AddNot", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue", "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak", "core/ZeroIterationForLoop",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: which operator, where, and what the line was and becomes."""

    package: str
    file: str  # within src
    operator: str
    code: str
    change: str


def mutants(package, most, seed):
    """A sample of the changes that can be made to a package, the same for the same seed."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    places = []
    place = ROOT / "src/fieldmend" / package
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        nodes = list(ast_nodes(get_ast(path.read_text("utf-8"))))
        for name in OPERATORS:
            operator = get_operator(name)()
            count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            places += [(path, name, i) for i in range(count)]
    random.Random(seed).shuffle(places)
    found = (_mutant(package, *place) for place in places)
    return [one for one, _ in zip((m for m in found if m), range(most), strict=False)], len(places)


def _mutant(package, path, name, occurrence):
    """The mutant, or None where it is no other program.

    So are changes to annotations. A number with a name of its own at the top of a file is a
    setting: a test that tells 1,000,000 from 999,999 there would only repeat it.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = path.read_text("utf-8")
    code = mutate_code(source, get_operator(name)(), occurrence)
    if code is None or _meaning(code) == _meaning(source):
        return None
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    line, (old, new) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    if "strict=" in old and "True" in name:  # zip's own check: no other program while it holds
        return None
    if name == "core/NumberReplacer" and re.match(r"_?[A-Z][A-Z_0-9, ]* = ", old):
        return None
    file = str(path.relative_to(ROOT / "src"))
    return Mutant(package, file, name, code, f"{file}:{line}: {old.strip()}  ->  {new.strip()}")


def _meaning(source):
    """The program without annotations and the blocks that only type checkers run."""

    class Bare(ast.NodeTransformer):
        def visit_arg(self, node):
            node.annotation = None
            return node

        def visit_FunctionDef(self, node):
            node.returns = None
            return self.generic_visit(node)

        def visit_AnnAssign(self, node):
            node.annotation = ast.Constant(None)
            return self.generic_visit(node)

        def visit_If(self, node):
            if "TYPE_CHECKING" in ast.dump(node.test):
                return ast.Pass()
            return self.generic_visit(node)

    return ast.dump(Bare().visit(ast.parse(source)))


def workshop(folder):
    """A copy of what tests need, to be changed."""
    for name in ("src", "tests", "pyproject.toml", "docs", "examples", "README.md", "Makefile"):
        source = ROOT / name
        if source.is_dir():
            skip = shutil.ignore_patterns("__pycache__", "_build", "figures")
            shutil.copytree(source, folder / name, ignore=skip)
        else:
            shutil.copy(source, folder / name)
    return folder


def passing(folder, package, seconds, *, module=None, without=()):
    """Whether the nearest tests pass; in time, for a change may make a loop endless."""
    files = [f"tests/{name}.py" for name in NEAREST[package]]
    files = [name for name in files if (folder / name).exists()]
    if module:
        files.insert(0, f"src/{module}")  # its own examples
    skip = [f"--deselect={name}" for name in without]
    try:
        done = _pytest(folder, "-x", *skip, *files, seconds=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, 5)  # 5: no test there


def failing(folder, package):
    """Tests that fail before anything is changed: they can kill nothing."""
    files = [f"tests/{name}.py" for name in NEAREST[package]]
    done = _pytest(folder, "-rf", *(name for name in files if (folder / name).exists()))
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)


def _pytest(folder, *arguments, seconds=3600):
    settings = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                "FIELDMEND_DATA": str(folder / "no-data")}  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env={**os.environ, **settings}, timeout=seconds,
                          capture_output=True, text=True, check=False)  # fmt: skip


def fate(mutant, folder, seconds, without):
    """What became of a mutant: killed, or survived."""
    target = folder / "src" / mutant.file
    kept = target.read_text("utf-8")
    target.write_text(mutant.code, encoding="utf-8")
    try:
        lives = passing(folder, mutant.package, seconds, module=mutant.file, without=without)
        return "survived" if lives else "killed"
    finally:
        target.write_text(kept, encoding="utf-8")


def main():
    """Print what became of each mutant, and how many of each package were killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", nargs="*", default=list(NEAREST), choices=NEAREST)
    parser.add_argument("--mutants", type=int, default=30, help="of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shops = queue.Queue()
        for job in range(wish.jobs):
            shops.put(workshop(Path(folder, str(job))))
        ended = Counter()
        for package in wish.packages:
            chosen, there = mutants(package, wish.mutants, wish.seed)
            shop = shops.get()
            start = time.monotonic()
            without = failing(shop, package)
            shops.put(shop)
            seconds = 60 + 4 * (time.monotonic() - start)
            for name in without:
                _say(f"{package}: fails before anything is changed, left out: {name}")
            _say(f"{package}: {len(chosen)} of {there} mutants, at most {seconds:.0f} s each")

            def meet(mutant, seconds=seconds, without=tuple(without)):
                shop = shops.get()
                try:
                    return mutant, fate(mutant, shop, seconds, without)
                finally:
                    shops.put(shop)

            with ThreadPoolExecutor(wish.jobs) as pool:
                for mutant, became in pool.map(meet, chosen):
                    ended[package, became] += 1
                    _say(f"  {became:8}  {mutant.change}")
        for package in wish.packages:
            killed, survived = ended[package, "killed"], ended[package, "survived"]
            _say(f"{package:8}  killed {killed} of {killed + survived}")


def _say(text):
    print(text, flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
