"""The live server: who may ask, and where it listens."""

import base64
import contextlib
import http.client

import pytest

from fieldmend.errors import InputError
from fieldmend.live.server import UnsafeError, serving
from liveserver import READING, TOKEN, served, served_anew, stored


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with served_anew(tmp_path_factory.mktemp("site"), 12, slots=40) as client:
        yield client


@pytest.fixture
def fresh(tmp_path):
    with served_anew(tmp_path) as client:
        yield client


# Who may ask --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.7", "", "[::",
             "localhost@evil.example", "a b"],
)  # fmt: skip
def test_a_foreign_name_is_refused(site, host):
    assert site.ask("/v1/now", Host=host).status in (400, 421)
    assert site.ask("/", Host=host).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9", "localhost."])
def test_our_own_names_are_known(site, host):
    assert site.ask("/v1/now", Host=host).status == 200


def test_names_can_be_added(site):
    with served(site.filled, names=["Sensors.example"]) as client:
        assert client.ask("/v1/now", Host="sensors.example").status == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
     {"Origin": "http://["}, {"Sec_Fetch_Site": "same-site"}],
)  # fmt: skip
def test_no_other_page_makes_a_browser_post(fresh, headers):
    assert fresh.post(READING, **headers).status == 403
    assert stored(fresh) == 0


def test_our_own_page_may_post(fresh):
    own = {"Origin": f"http://127.0.0.1:{fresh.port}", "Sec_Fetch_Site": "same-origin"}
    assert fresh.post(READING, **own).status == 200


def test_no_origin_is_ever_allowed_and_every_answer_has_its_headers(site):
    for path in ("/", "/v1/now", "/assets/main.js", "/nothing", "/metrics", "/healthz"):
        response = site.ask(path, Origin="http://evil.example")
        names = {name.lower() for name, _ in response.getheaders()}
        assert not [name for name in names if name.startswith("access-control")]
        assert "frame-ancestors 'none'" in response.getheader("content-security-policy")
        assert response.getheader("x-content-type-options") == "nosniff"
        assert "server" not in names


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
def test_everything_but_readings_is_read_only(site, method):
    for path in ("/", "/v1/now", "/v1/nodes/m1", "/v1/episodes", "/metrics"):
        assert site.ask(path, method=method).status == 405
    if method != "POST":
        assert site.ask("/v1/readings", method=method).status == 405


@pytest.fixture(scope="module")
def guarded(site, tmp_path_factory):
    file = tmp_path_factory.mktemp("secret") / "token.txt"
    file.write_text(f"{TOKEN}\n")
    with served(site.filled, token_file=file) as client:
        yield client


def basic(password, name="me"):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def test_the_token_opens_as_bearer_and_as_password(guarded):
    for path in ("/", "/v1/now", "/metrics", "/v1/nodes/m1"):
        assert guarded.ask(path).status == 401
        assert guarded.ask(path, Authorization=f"Bearer {TOKEN}").status == 200
        assert guarded.ask(path, Authorization=basic(TOKEN)).status == 200
    assert guarded.ask("/v1/now").getheader("www-authenticate").startswith("Basic")
    assert guarded.ask("/healthz").status == 200


@pytest.mark.parametrize(
    "given",
    ["Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Digest {TOKEN}", TOKEN,
     basic(""), basic("x"), "Basic !!!", basic(TOKEN.upper()), "Bearer \xff"],
)  # fmt: skip
def test_nothing_else_opens(guarded, given):
    assert guarded.ask("/v1/now", Authorization=given.encode("latin-1")).status == 401
    assert guarded.post(READING, Authorization=given.encode("latin-1")).status == 401


def test_a_secret_in_an_address_is_refused(guarded):
    response = guarded.ask(f"/v1/now?token={TOKEN}", Authorization=f"Bearer {TOKEN}")
    assert response.status == 400
    assert TOKEN not in response.text


def test_secrets_are_not_logged(guarded, caplog):
    caplog.set_level("DEBUG")
    guarded.ask(f"/v1/now?token={TOKEN}")
    guarded.ask("/v1/now", Authorization=f"Bearer {TOKEN}x")
    guarded.ask("/v1/now", Authorization=f"Bearer {TOKEN}")
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(guarded.server.serving)


# Where it listens ---------------------------------------------------------------------------------


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "192.168.1.5", "sensors.example:80"])
def test_another_address_needs_a_token(listen, tmp_path, monkeypatch):
    monkeypatch.delenv("FIELDMEND_TOKEN", raising=False)
    with pytest.raises(UnsafeError, match="no token"):
        serving(listen)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    made = serving(listen, token_file=tmp_path / "token")
    assert made.token == TOKEN
    (warning,) = made.warnings
    assert "without TLS" in warning


def test_a_token_that_others_can_read_is_told(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o644)
    (warning,) = serving(token_file=tmp_path / "token").warnings
    assert "chmod 600" in warning
    assert TOKEN not in warning


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9"])
def test_this_machine_needs_none(listen):
    made = serving(listen)
    assert made.token is None
    assert not made.warnings


@pytest.mark.parametrize("listen", ["me:secret@host:1", "http://host:1", "a:b:c", "host:99999"])
def test_an_address_is_an_address(listen):
    with pytest.raises(UnsafeError) as refused:
        serving(listen)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "short", "tab\tin the middle of it", "ümlautümlautümlaut"])
def test_a_token_is_long_enough(text, tmp_path):
    (tmp_path / "token").write_text(text)
    with pytest.raises(UnsafeError) as refused:
        serving(token_file=tmp_path / "token")
    assert not text or text not in str(refused.value)


def test_the_token_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("FIELDMEND_TOKEN", TOKEN)
    assert serving("0.0.0.0:1").token == TOKEN


def test_tls_needs_both_files(tmp_path):
    with pytest.raises(UnsafeError, match="both"):
        serving(tls_cert=tmp_path / "a")
    with pytest.raises(InputError, match="no such file"):
        serving(tls_cert=tmp_path / "a", tls_key=tmp_path / "b")


def test_with_tls_it_speaks_tls(site, tmp_path):
    import shutil
    import ssl
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    with served(site.filled, tls_cert=cert, tls_key=key) as client:
        assert client.server.url.startswith("https://")
        connection = http.client.HTTPSConnection(
            "localhost", client.port, timeout=20, context=ssl.create_default_context(cafile=cert)
        )
        with contextlib.closing(connection):
            connection.request("GET", "/v1/now")
            assert connection.getresponse().status == 200


def test_an_address_in_use_is_said(site):
    with (
        pytest.raises(InputError, match="cannot listen"),
        served(site.filled, f"127.0.0.1:{site.port}"),
    ):
        pass


@pytest.mark.parametrize(
    "options",
    [("--listen", "0.0.0.0:0"), ("--listen", "me:secret@host"), ("--tls-cert", "cert.pem")],
)
def test_the_command_ends_with_2_before_it_listens(options, tmp_path, capsys, monkeypatch):
    from fieldmend.cli import main

    monkeypatch.delenv("FIELDMEND_TOKEN", raising=False)
    assert main(["live", "http", "--state", str(tmp_path / "state"), *options]) == 2
    said = capsys.readouterr().err
    assert "fieldmend: " in said
    assert "secret" not in said
    assert not (tmp_path / "state").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path, capsys, monkeypatch):
    import sys

    from fieldmend.cli import main

    for name in [name for name in sys.modules if name.startswith("fieldmend.live.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["live", "http", "--state", str(tmp_path / "state")]) == 4
    assert "pip install 'fieldmend[live]'" in capsys.readouterr().err
