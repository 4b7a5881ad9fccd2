"""The page: files of the package, read once, and the report's colours before its style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fieldmend.live.server.answers import Answer, answer
from fieldmend.report import palette

TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript"}


def routes() -> list[Route]:
    """The page and what it loads."""
    return [Route("/", _page), Route("/assets/{name}", _asset)]


async def _page(request: Request) -> Response:
    return asset("live.html").to(request)


async def _asset(request: Request) -> Response:
    found = names().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "no such file")
    return asset(found).to(request)


@cache
def names() -> dict[str, str]:
    """What may be asked for: a name that is not here reaches no file."""
    return {entry.name: entry.name for entry in _folder().iterdir() if entry.is_file()}


@cache
def asset(name: str) -> Answer:
    """A file of the page."""
    ending = name.rpartition(".")[2]
    text = (_folder() / name).read_text("utf-8")
    if ending == "css":
        text = f"{palette.themes()}\n{text}"
    return answer(text.encode(), f"{TYPES[ending]}; charset=utf-8")


def _folder() -> Traversable:
    return files(__package__) / "assets"
