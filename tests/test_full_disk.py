"""A disk that is full: an error that says so, no half of a file, and no end by the system."""

import subprocess
import sys

import pytest

from fieldmend.export.disk import Disk

# A limit on the size of files stands for a disk: a write beyond it fails as on a full one.
WRITING = """
import resource, sys
import fieldmend as fm
from fieldmend.grid import Grid
net = fm.simulate.network(slots=200, nodes=8, seed=1)
rec = fm.recover(Grid.of(net.readings, nodes="abcdefgh", start="2024-01-01"), method="ls", holdout=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    rec.to_netcdf(sys.argv[1])
except OSError as error:
    sys.exit(f"refused: {error}")
"""  # noqa: E501 - a script


@pytest.mark.parametrize("size", [100, 3000, 9000, 20_000])
def test_netcdf_on_a_full_disk_is_an_error(size, tmp_path):
    pytest.importorskip("h5netcdf")
    pytest.importorskip("resource")
    out = tmp_path / "out.nc"
    # -B: compiled modules are files too, and a half of one would be left to whoever imports next.
    command = [sys.executable, "-B", "-c", WRITING, out, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr[-500:]
    assert "refused" in done.stderr
    assert "file too large" in done.stderr.casefold()
    assert list(tmp_path.iterdir()) == []


def test_what_failed_is_told_at_the_end_and_not_before(tmp_path):
    def full(data):
        raise OSError(28, "No space left on device")

    disk = Disk(tmp_path / "x")
    assert disk.write(b"abc") == 3
    disk._file = _Full(disk._file, full)
    assert disk.write(b"def") == 3
    assert disk.write(b"ghi") == 3
    disk.seek(0)
    buffer = bytearray(b"......")
    assert disk.readinto(memoryview(buffer)) == 6
    assert bytes(buffer) == b"abc\0\0\0"
    with pytest.raises(OSError, match="No space left"):
        disk.__exit__(None, None, None)


class _Full:
    def __init__(self, file, write):
        self._file, self.write = file, write

    def __getattr__(self, name):
        return getattr(self._file, name)
