"""The page's files under addresses of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette

from citer_core.web.page_files import PageFiles
from tests.web.asgi import Answer, ask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "assets" / "viewer"
    folder.mkdir(parents=True)
    (folder / "page.js").write_text("export const a = 1;\n")
    (folder / "notes.txt").write_text("no type for browsers")
    (folder / "below").mkdir()
    (folder / "below" / "x.js").write_text("x")
    (tmp_path / "assets" / "secret.js").write_text("secret")
    return folder


def get(files: PageFiles, path: str, **headers: str) -> Answer:
    return ask(Starlette(routes=[files.route()]), path, headers=headers)


def test_a_file_is_kept_for_ever_under_its_version(folder: Path) -> None:
    files = PageFiles({"viewer": folder, "one": folder / "page.js"})
    url = files.url(folder / "page.js")
    assert url.startswith("citer/assets/") and url.endswith("/one/page.js")
    answer = get(files, f"/{url}")
    assert answer.status == 200 and answer.body == b"export const a = 1;\n"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"] and answer.headers["etag"]
    (folder / "page.js").write_text("export const a = 2;\n")
    newer = PageFiles({"viewer": folder, "one": folder / "page.js"})
    assert newer.url(folder / "page.js") != url
    old = get(newer, f"/{url}")
    assert old.body == b"export const a = 2;\n" and old.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "name",
    ["viewer/notes.txt", "viewer/below/x.js", "viewer/../secret.js", "secret.js", "viewer/", "", "viewer/none.js"],
)
def test_no_other_file_is_served(folder: Path, name: str) -> None:
    files = PageFiles({"viewer": folder})
    assert get(files, f"/citer/assets/0/{name}").status == 404
    assert get(files, "/citer/assets/0/viewer/page.js").status == 200
    with pytest.raises(KeyError):
        files.url(folder / "notes.txt")


def test_the_same_files_have_the_same_address_elsewhere(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "replica"
    other.mkdir()
    (other / "page.js").write_bytes((folder / "page.js").read_bytes())
    assert PageFiles({"viewer": other}).url(other / "page.js") == PageFiles({"viewer": folder}).url(folder / "page.js")
