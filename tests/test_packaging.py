"""What is published: the sdist builds, its wheel installs in a clean environment, and works."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
log = logging.getLogger(__name__)
LARGEST = 400  # MB, all that `pip install fieldmend` brings

WHAT_FRAMES_AND_NOTEBOOKS_SHOW = """
import fieldmend as fm
rec = fm.recover("demo.csv", holdout=False)
frame = rec.filled["temperature"]
assert frame.shape == (576, 40), frame.shape
assert "time" in list(rec.anomalies.columns)
assert rec.to_frame().shape[0] == 576 * 40
assert "<img" in rec._repr_html_()
rec.report("again.html")
"""


def run(*command, **more):
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, env=clean,
        **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel made from it."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("packaging")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    made = run(*build, "-t", "sdist", cwd=ROOT)
    assert made.returncode == 0, made.stderr
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    made = run(*build, "-t", "wheel", cwd=source)
    assert made.returncode == 0, made.stderr
    return folder


def test_the_wheel_holds_the_package_and_its_man_page_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        (page,) = (name for name in names if name.endswith("share/man/man1/fieldmend.1"))
        assert packed.read(page).decode() == (ROOT / "docs/fieldmend.1").read_text("utf-8")
    tops = {name.partition("/")[0] for name in names}
    assert {re.sub(r"-.*(\.dist-info|\.data)", r"\1", top) for top in tops} == {
        "fieldmend", "fieldmend.dist-info", "fieldmend.data",
    }  # fmt: skip
    ours = {str(one.relative_to(ROOT / "src")) for one in (ROOT / "src").rglob("*.*")
            if one.suffix in (".py", ".js", ".css", ".html", ".typed")}  # fmt: skip
    assert ours <= names


@pytest.fixture(scope="module")
def clean(built):
    """An environment that holds only what the wheel asks for."""
    (wheel,) = built.glob("*.whl")
    venv.create(built / "plain", with_pip=False)
    python = built / "plain" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    done = run(*pip, "install", "--constraint", ROOT / "constraints.txt", wheel)
    if done.returncode and re.search(
        r"No matching distribution|Connection|connection", done.stderr
    ):
        pytest.skip("pip cannot install here: there is no index that it reaches")
    assert done.returncode == 0, done.stderr
    yield built
    shutil.rmtree(built / "plain")


@pytest.mark.long
def test_the_demo_runs_in_a_clean_environment(clean):
    made = run(clean / "plain/bin/fieldmend", "demo", "--no-open", "--json", cwd=clean)
    assert made.returncode == 0, made.stderr
    assert (clean / "fieldmend-demo/demo.report.html").exists()
    assert json.loads(made.stdout)["fieldmend"] in str(next(clean.glob("*.whl")))
    # No library of frames is there, and all that the notebook shows works.
    shown = run(clean / "plain/bin/python", "-c", WHAT_FRAMES_AND_NOTEBOOKS_SHOW,
                cwd=clean / "fieldmend-demo")  # fmt: skip
    assert shown.returncode == 0, shown.stderr


@pytest.mark.long
def test_all_of_the_readme_works_on_a_plain_install(clean):
    work = clean / "readme"
    work.mkdir()
    python = clean / "plain/bin/python"
    made = run(python, ROOT / "examples/make_readings.py", work)
    assert made.returncode == 0, made.stderr
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (work / "readme.txt").write_text("\n".join(blocks), "utf-8")
    said = run(python, "-m", "doctest", "-o", "ELLIPSIS", "readme.txt", cwd=work)
    assert (said.returncode, said.stdout) == (0, "")
    asked = run(python, "-c", "import fieldmend as fm; fm.LSDecomposition")
    assert "pip install 'fieldmend[sklearn]'" in asked.stderr.splitlines()[-1]


@pytest.mark.long
def test_it_brings_no_more_than_it_needs(clean):
    assert (clean / "plain/share/man/man1/fieldmend.1").exists()
    (site,) = (clean / "plain/lib").glob("python*/site-packages")
    sizes = {
        one.name: sum(f.stat().st_blocks * 512 for f in [one, *one.rglob("*")]) / 2**20
        for one in site.iterdir()
    }
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:8]
    log.info("%.0f MB: %s", sum(sizes.values()), {name: round(size) for name, size in largest})
    assert sum(sizes.values()) <= LARGEST, largest
    assert not (site / "tests").exists()
