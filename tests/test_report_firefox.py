"""The report in Firefox, where the system has one: figures, another node, a decision, silence."""

import pytest

import firefox
from fieldmend.report import write_report
from test_report import network

SIZES = {
    "3 nodes": ((400, 3), 1),
    "55 nodes, 26 conditions": ((300, 55), 26),
    "600 nodes": ((144, 600), 1),
}
# The middle of the heatmap, where nothing but nodes is: legends and labels have colours too.
DRAWN = """(() => { const c = document.querySelector('#heat');
  const p = c.getContext('2d').getImageData(c.width * .4, c.height * .4, c.width * .3, 20).data;
  return new Set(new Uint32Array(p.buffer)).size })()"""
# From when the figures stand: an error of the page is an error of the test.
ERRORS = "(window.wentWrong ??= (addEventListener('error', e => wentWrong.push(e.message)), []))"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if firefox.path() is None:
        pytest.skip("no Firefox here")
    with firefox.launched(tmp_path_factory.mktemp("firefox")) as found:
        yield found


@pytest.mark.parametrize("name", SIZES)
def test_the_report_in_firefox(page, tmp_path, name):
    shape, count = SIZES[name]
    file = tmp_path / "report.html"
    write_report(network(shape, tuple(f"c{i}" for i in range(count)), intervals=True), file)
    page.open(file)
    assert page.run(ERRORS) == []
    assert page.run("document.documentElement.dataset.figures") == "drawn"
    assert page.run(DRAWN) >= 2  # seen and lost
    last = shape[1] - 1
    page.run(f"fieldmend.choose({last}, {count - 1})")
    page.wait(f"document.getElementById('curve').dataset.drawn === '{count - 1}:{last}'")
    buttons = "[...document.querySelectorAll('#episodes tbody button')]"
    page.run(f"{buttons}.find(b => b.textContent === 'Reject').click()")
    page.wait(f"{buttons}.some(b => b.getAttribute('aria-pressed') === 'true')")
    assert page.run("wentWrong") == []
