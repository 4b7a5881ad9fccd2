"""Do the tests bite? A seeded sample of small wrong changes, each met by the nearest tests.

Run by `make check-long`, or: python tests/mutation.py --packages core --mutants 10
The tree is copied once, as it is when the run begins: what is changed, and what the tests are, is
that copy's, whatever becomes of the tree meanwhile. The nearest tests run once as they are, each
line's tests noted; a mutant then meets the tests that run its line, the quickest first, until one
fails. Cosmic Ray (group `mutation`) makes the changes.
The seed is drawn anew and printed, unless it is given: a run says what it would say of any sample.

Changes that are no other program to who uses it are not among the mutants; the run says how many of
each sort it passed over:

annotation
    Types, and blocks that only type checkers run.
check
    What only looks, or only saves a copy: ``strict=`` of zip, ``frozen=`` and ``eq=`` of
    dataclasses, where a warning points to (``stacklevel=``), ``check_finite=`` and
    ``overwrite_…=`` of SciPy.
setting
    A number with a name of its own at the top of a file: a test that tells 1,000,000 from 999,999
    there would only repeat it.
signature
    The bare ``*`` of a signature made a ``/``: Cosmic Ray takes it for a product.

Survivors that turned out to be the same program, or one that differs in nothing but time or the
last digit, are written down by hand in `mutants_judged.txt`, each with its reason: they are counted
apart, neither killed nor survived.
"""

import argparse
import ast
import os
import queue
import random
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
JUDGED = Path(__file__).with_name("mutants_judged.txt")
BUDGET = 40  # seconds of tests that a mutant meets, as they took with their lines noted
NEAREST = {
    "core": ("test_unchanged", "test_core_rules", "test_core_edges", "test_huber_steps",
             "test_refit_steps", "test_ranks", "test_prox", "test_loop", "test_field_rules",
             "test_engine", "test_problem", "test_room", "test_refit", "test_solvers",
             "test_decomposition", "test_lazy", "test_crew", "test_cluster", "test_spread",
             "test_afar", "test_theorems"),
    "field": ("test_unchanged", "test_days", "test_slotwise", "test_closed_hours",
              "test_field_rules", "test_field_oracles", "test_field_parameters",
              "test_field_decisions", "test_flags", "test_cycles", "test_filter", "test_modelfile",
              "test_modelfile_edges", "test_field_edges", "test_widening", "test_hidden_readings",
              "test_fieldmodel", "test_field", "test_paying", "test_outages", "test_second",
              "test_joint", "test_stillfits", "test_regions", "test_own_parts",
              "properties/test_field_invariance"),
    "recovery": ("test_unchanged", "test_passing", "test_remembered", "test_recovery_rules",
                 "test_recovery_oracles",
                 "test_recovery_steps", "test_recovery_nothing", "test_recovery_parts",
                 "test_recovery_solvers",
                 "test_recovery_edges", "test_windows", "test_frames", "test_crew",
                 "test_states", "test_honest", "test_applying", "test_recovery",
                 "test_quantities", "test_quantities_recovered", "test_decisions", "test_onchange",
                 "test_options", "test_xarrays", "test_hidden_readings", "test_regions",
                 "test_outofcore", "bad/test_recovering", "properties/test_recovery"),
    "faults": ("test_unchanged", "test_remembered", "test_fault_answers",
               "test_fault_answer_oracles", "test_fault_stillness", "test_looked_up", "test_frozen",
               "test_fault_hours",
               "test_fault_rules", "test_fault_oracles", "test_fault_departures",
               "test_fault_decisions", "test_fault_habits", "test_fault_lookalikes",
               "test_fault_sentences",
               "test_geo", "test_excursions", "test_gross",
               "test_faults", "test_fault_levels", "test_fault_episodes", "test_fault_parts",
               "test_fault_events", "test_shifts", "test_explanations", "test_who_moved",
               "test_recovery_rules", "test_recovery_parts"),
    "diagnostics": ("test_diagnostics",),
    "metrics.py": ("test_metrics",),
}  # fmt: skip
# Lines that other processes run, which nobody notes: the tests that start these processes.
ELSEWHERE = {
    "fieldmend/core/worker.py": "tests/test_crew.py",
    "fieldmend/core/afar.py": "tests/test_cluster.py",
    "fieldmend/core/spread.py": "tests/test_cluster.py",
    "fieldmend/core/cluster.py": "tests/test_cluster.py",
}
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


CHECK = r"(strict|frozen|eq|stacklevel|check_finite|overwrite_\w+)= *(True|False|-?\d+)"


@dataclass(frozen=True)
class Mutant:
    """One change: which operator, where, and what the line was and becomes."""

    package: str
    file: str  # within src
    lines: range  # of the statement that is changed
    code: str
    change: str

    @property
    def key(self):
        """The change without the number of its line, which moves."""
        return re.sub(r"^(\S+?):\d+:", r"\1:", " ".join(self.change.split()))


def judged():
    """Mutants that were found to be the same program by hand: the change, and why."""
    out, why = {}, ""
    for line in JUDGED.read_text("utf-8").splitlines():
        if line.startswith("# "):
            why = line[2:]
        elif line.strip():
            out[" ".join(line.split())] = why
    return out


def mutants(tree, package, most, seed):
    """A sample of the changes that can be made to a package, the same for the same seed.

    And of all that can be made their number, and the sorts of those that were passed over.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    places = []
    place = tree / "src/fieldmend" / package
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        nodes = list(ast_nodes(get_ast(path.read_text("utf-8"))))
        for name in OPERATORS:
            operator = get_operator(name)()
            count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            places += [(path, name, i) for i in range(count)]
    random.Random(seed).shuffle(places)
    found, passed = [], Counter()
    for place in places:
        one = _mutant(tree, package, *place)
        if isinstance(one, Mutant):
            found.append(one)
        else:
            passed[one] += 1
        if len(found) == most:
            break
    return found, len(places), passed


def _mutant(tree, package, path, name, occurrence):
    """The mutant, or the sort of change that is no other program."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = path.read_text("utf-8")
    code = mutate_code(source, get_operator(name)(), occurrence)
    if code is None or _meaning(code) == _meaning(source):
        return "annotation"
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    line, (old, new) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    if re.sub(CHECK, "", old) == re.sub(CHECK, "", new):
        return "check"
    if name == "core/NumberReplacer" and re.match(r"_?[A-Z][A-Z_0-9, ]* = ", old):
        return "setting"
    if name == "core/ReplaceBinaryOperator_Mul_Div" and re.search(r"[(,]? */,", new):
        return "signature"
    file = str(path.relative_to(tree / "src"))
    change = f"{file}:{line}: {old.strip()}  ->  {new.strip()}"
    return Mutant(package, file, statement(source, line), code, change)


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


def workshop(tree, folder):
    """A copy of what tests need of a tree."""
    for name in ("src", "tests", "pyproject.toml", "docs", "examples", "README.md", "Makefile"):
        source = tree / name
        if source.is_dir():
            skip = shutil.ignore_patterns("__pycache__", "_build")
            shutil.copytree(source, folder / name, ignore=skip)
        else:
            shutil.copy(source, folder / name)
    return folder


@dataclass(frozen=True)
class Reach:
    """What the nearest tests of a package run, before anything is changed.

    Attributes
    ----------
    tests
        File of the source → line → the tests that run it.
    seconds
        Of each test.
    failing
        Tests that fail already: they can kill nothing.
    """

    tests: dict
    seconds: dict
    failing: frozenset

    def of(self, mutant):
        """The tests that run the changed statement, `BUDGET` seconds of the quickest."""
        lines = self.tests.get(mutant.file, {})
        found = set().union(*(lines.get(n, set()) for n in mutant.lines)) - self.failing
        if not found and mutant.file in ELSEWHERE:
            found = {one for one in self.seconds if one.startswith(ELSEWHERE[mutant.file])}
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda one: (self.seconds.get(one, 0.0), one)):
            spent += self.seconds.get(test, 0.0)
            if chosen and spent > BUDGET:
                break
            chosen.append(test)
        return chosen, min(spent, BUDGET)


def reach(folder, package):
    """Run the nearest tests and the package's own examples once, each line's tests noted."""
    from coverage import CoverageData

    files = [f"tests/{name}.py" for name in NEAREST[package]]
    files = [name for name in files if (folder / name).exists()] + [f"src/fieldmend/{package}"]
    # Of other packages nobody asks, nor of branches: to note them all takes half of the time.
    noted = f"--cov=fieldmend.{package.removesuffix('.py')}", "--cov-config=/dev/null"
    done = _pytest(folder, "-rfE", *noted, "--cov-context=test", "--cov-report=",
                   "--durations=0", "--durations-min=0", "-vv", *files)  # fmt: skip
    timed = re.findall(r"^([\d.]+)s (?:call|setup) +(\S.*)$", done.stdout, flags=re.MULTILINE)
    seconds = Counter()
    for spent, test in timed:
        seconds[test] += float(spent)
    told = re.findall(r"^(?:FAILED|ERROR) (.+)$", done.stdout, flags=re.MULTILINE)
    # Names may have blanks in them: a test that fails already must not be taken for one that kills.
    failing = [
        test for test in seconds if any(f"{one} - ".startswith(f"{test} - ") for one in told)
    ]
    kept = folder / ".coverage"
    if not kept.exists():
        raise SystemExit(f"{package}: the nearest tests did not run\n{done.stdout[-2000:]}")
    data = CoverageData(str(kept))
    data.read()
    tests = {}
    for path in data.measured_files():
        file = str(Path(path).relative_to(folder / "src"))
        tests[file] = {
            line: _ran(contexts, seconds)
            for line, contexts in data.contexts_by_lineno(path).items()
        }
    kept.unlink()
    return Reach(tests, dict(seconds), frozenset(failing))


def _ran(contexts, known):
    """Tests by the names that coverage gives them.

    What a test sets up may be shared: all tests of its file look at it.
    """
    out = set()
    for context in contexts:
        test, _, phase = context.rpartition("|")
        if phase == "run":
            out.add(test)
        elif phase == "setup":
            own = test.partition("::")[0]
            out |= {one for one in known if one.startswith(f"{own}::")}
    return out


def statement(source, line):
    """The lines of the statement that a line belongs to: of a block, its head.

    At the top of a file, and in the head of a class, a change shows wherever the file is used.
    """
    tree = ast.parse(source)
    inner = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            inner = node if inner is None or node.lineno >= inner.lineno else inner
    everything = range(1, source.count("\n") + 2)
    if inner is None or inner in tree.body:
        return everything
    if isinstance(inner, ast.FunctionDef):  # what is default to it: all of it
        return range(inner.lineno, inner.end_lineno + 1)
    heads = [n.body for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    if any(inner in body for body in heads):
        return everything
    body = getattr(inner, "body", None)
    return range(inner.lineno, body[0].lineno if body else inner.end_lineno + 1)


def _pytest(folder, *arguments, seconds=3600):
    settings = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                "COVERAGE_FILE": str(folder / ".coverage"),
                "FIELDMEND_DATA": str(folder / "no-data")}  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
               "-m", "not long or unchanged", *arguments]  # fmt: skip
    return subprocess.run(command, cwd=folder, env={**os.environ, **settings}, timeout=seconds,
                          capture_output=True, text=True, check=False)  # fmt: skip


def fate(mutant, folder, known):
    """What became of a mutant: killed, endless, survived, met by no test at all; or judged."""
    if mutant.key in judged():
        return "judged"
    tests, spent = known.of(mutant)
    if not tests:
        return "unmet"
    target = folder / "src" / mutant.file
    kept = target.read_text("utf-8")
    target.write_text(mutant.code, encoding="utf-8")
    try:
        done = _pytest(folder, "-x", *tests, seconds=90 + 6 * spent)
        return "survived" if done.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        return "endless"
    finally:
        target.write_text(kept, encoding="utf-8")


def main():
    """Print what became of each mutant, and how many of each package were killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", nargs="*", default=list(NEAREST), choices=NEAREST)
    parser.add_argument("--mutants", type=int, default=30, help="of each package")
    parser.add_argument("--seed", type=int, help="drawn anew where it is not given")
    parser.add_argument("--jobs", type=int, default=2)
    wish = parser.parse_args()
    seed = secrets.randbelow(10**6) if wish.seed is None else wish.seed
    with tempfile.TemporaryDirectory() as folder:
        frozen = workshop(ROOT, Path(folder, "frozen"))
        shops = queue.Queue()
        for job in range(wish.jobs):
            shops.put(workshop(frozen, Path(folder, str(job))))
        ended = Counter()
        for package in wish.packages:
            chosen, there, passed = mutants(frozen, package, wish.mutants, seed)
            sorts = ", ".join(f"{name} {count}" for name, count in sorted(passed.items()))
            shop = shops.get()
            known = reach(shop, package)
            shops.put(shop)
            for name in sorted(known.failing):
                _say(f"{package}: fails before anything is changed, left out: {name}")
            _say(f"{package}: {len(chosen)} of {there} mutants by seed {seed}, "
                 f"{len(known.seconds)} tests; passed over: {sorts or 'none'}")  # fmt: skip

            def meet(mutant, known=known):
                shop = shops.get()
                try:
                    return mutant, fate(mutant, shop, known)
                finally:
                    shops.put(shop)

            with ThreadPoolExecutor(wish.jobs) as pool:
                for mutant, became in pool.map(meet, chosen):
                    ended[package, became] += 1
                    _say(f"  {became:8}  {mutant.change}")
        for package in wish.packages:
            killed = ended[package, "killed"] + ended[package, "endless"]
            alive = ended[package, "survived"] + ended[package, "unmet"]
            share, same = killed / max(killed + alive, 1), ended[package, "judged"]
            _say(f"{package:8}  {killed} killed, {alive} survived: {share:.0%} killed; "
                 f"{same} judged the same program (seed {seed})")  # fmt: skip


def _say(text):
    print(text, flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
