"""netCDF: what the conventions ask for, and what was recovered."""

import numpy as np
import pytest

import fieldmend as fm
from exported import PLACES, in_units, recovered, with_interval
from fieldmend.grid import Grid


@pytest.fixture(scope="module")
def rec():
    return recovered(("temperature", "humidity"), places=PLACES)


# netCDF ------------------------------------------------------------------------------------------


def complaints(path, tmp_path):
    """What the IOOS compliance checker says about a file, errors and warnings."""
    runner = pytest.importorskip("compliance_checker.runner")
    runner.CheckSuite.load_all_available_checkers()
    report = tmp_path / "report.txt"
    passed, errors = runner.ComplianceChecker.run_checker(
        str(path), ["cf:1.11"], 1, "strict", output_filename=str(report), output_format="text"
    )
    return (passed, errors), report.read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("places", ["latitude", "x", "some", "none"])
def test_netcdf_passes_the_compliance_checker(places, tmp_path):
    known = {
        "latitude": {n: {"lat": 50.0 + i, "lon": 8.0} for i, n in enumerate("abcdefgh")},
        "x": {n: {"x": 50.0 + i, "y": 8.0, "z": 1.0} for i, n in enumerate("abcdefgh")},
        "some": PLACES,
        "none": None,
    }[places]
    rec = recovered(("air_temperature", "weird °name", "2 m"), places=known)
    units = {"air_temperature": "°C", "weird °name": "furlong"}
    rec = with_interval(in_units(rec, units))
    rec.to_netcdf(tmp_path / "out.nc")
    result, said = complaints(tmp_path / "out.nc", tmp_path)
    assert result == (True, False), said
    assert "All tests passed" in said, said


@pytest.mark.filterwarnings("ignore")
def test_the_compliance_checker_would_complain(rec, tmp_path):
    h5netcdf = pytest.importorskip("h5netcdf")
    rec.to_netcdf(tmp_path / "out.nc")
    with h5netcdf.File(tmp_path / "out.nc", "a") as file:
        file["temperature_flag"].attrs["flag_meanings"] = "PASS"
        file["temperature"].attrs["units"] = "furlongs per fortnight"
    result, _ = complaints(tmp_path / "out.nc", tmp_path)
    assert result != (True, False)


def test_netcdf_with_a_nul_in_names_and_units(tmp_path):
    h5netcdf = pytest.importorskip("h5netcdf")
    rec = recovered(("a\0b", "t"), nodes=["x\0y", *"bcdefgh"], unit="m\0")
    rec.to_netcdf(tmp_path / "out.nc")
    with h5netcdf.File(tmp_path / "out.nc") as file:
        assert file["station_name"][0] == b"x\\x00y"
        assert file.attrs["title"].endswith("a\\x00b, t")


def test_netcdf_holds_what_was_recovered(tmp_path):
    xr = pytest.importorskip("xarray")
    rec = recovered(("air_temperature", "humidity", "depth-ish"), places=PLACES)
    units = {"air_temperature": "°C", "humidity": "%"}
    rec = with_interval(in_units(rec, units))
    rec.to_netcdf(tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        one = rec["air_temperature"]
        air = data["air_temperature"]
        assert air.dims == ("station", "time")
        np.testing.assert_array_equal(air.values.T, one.observed)
        np.testing.assert_array_equal(data["air_temperature_filled"].values.T, one.filled)
        np.testing.assert_array_equal(data["air_temperature_lower"].values.T, one.lower)
        assert air.attrs["standard_name"] == "air_temperature"
        assert air.attrs["units"] == "degree_Celsius"
        assert air.attrs["units_metadata"] == "temperature: on_scale"
        made = "estimate lower upper anomaly filled flag neighbor_flag".split()
        assert air.attrs["ancillary_variables"].split() == [f"air_temperature_{m}" for m in made]
        assert data["humidity"].attrs["standard_name"] == "relative_humidity"
        assert data["humidity"].attrs["units"] == "percent"
        assert data["depth_ish"].attrs["units"] == "1"
        assert data["depth_ish"].attrs["comment"] == "unit not stated in the source"
        flag = data["air_temperature_flag"]
        assert flag.dtype == flag.attrs["flag_values"].dtype == np.int8
        assert flag.attrs["flag_meanings"] == "PASS NOT_EVALUATED SUSPECT FAIL MISSING"
        assert flag.attrs["standard_name"] == "aggregate_quality_flag"
        near = data["air_temperature_neighbor_flag"].attrs
        assert near["standard_name"] == "neighbor_test_quality_flag"
        np.testing.assert_array_equal(flag.values.T, one.flag)
        assert data.station_name.values.tolist() == list("abcdefgh")
        assert data.time.values[1] == np.datetime64("2024-01-01T00:05")
        assert data.attrs["Conventions"] == "CF-1.11"
        assert data.attrs["featureType"] == "timeSeries"
        assert data["altitude"].values[0] == 120.0


def test_what_failed_the_limits_was_not_compared(tmp_path):
    xr = pytest.importorskip("xarray")
    X = fm.simulate.network(slots=60, nodes=8, seed=1).readings
    X[5, 2] = 1e6
    rec = fm.recover(Grid.of(X), limits={"value": (-1000, 1000)}, holdout=False)
    rec.to_netcdf(tmp_path / "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        assert data["value_flag"].values[2, 5] == 4
        assert data["value_neighbor_flag"].values[2, 5] == 2
