"""The documentation builds as a site: every page is in the navigation, every link and anchor leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import aeroloop
from tools import describe, site_pages

ROOT = Path(__file__).resolve().parents[2]
BUILD = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [*BUILD, str(site), "--config-file", str(config)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_and_every_command_is_in_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert {str(path) for path in pages} >= set(describe.PAGES)
    assert not [page for page in pages if not (site / page.with_suffix(".html")).is_file()]


def test_the_first_page_links_every_page() -> None:
    docs = ROOT / "docs"
    linked = {target for target, _ in site_pages.LINK.findall((docs / "index.md").read_text("utf-8"))}
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md") if path.parent.name != "commands"}
    assert pages - linked - {"index.md"} == set()
    assert linked >= {"commands/index.md", "../ARCHITECTURE.md", "../benchmarks/README.md"}


def test_files_of_the_repository_that_pages_link_to_are_in_the_site(site: Path) -> None:
    assert 'href="source/examples/aircraft/sled/build.py.html"' in (site / "faults.html").read_text("utf-8")
    assert "of_actuators" in (site / "source/examples/aircraft/sled/build.py.html").read_text("utf-8")
    assert 'href="../new-aircraft.html"' in (site / "source/ARCHITECTURE.html").read_text("utf-8")


def test_python_reference_has_types_and_words(site: Path) -> None:
    page = (site / "python-reference.html").read_text("utf-8")
    assert 'id="aeroloop.ground.commands.Vehicle.takeoff"' in page
    assert "Symbols for a law's inputs" in page
    assert not [name for name in aeroloop.__all__ if f'id="aeroloop.{name}"' not in page]


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_wheels_on_pages_have_this_version(page: str) -> None:
    named = set(re.findall(r"aeroloop-([\w.]+)-py3-none-any\.whl", (ROOT / page).read_text("utf-8")))
    assert named == {aeroloop.__version__}


def test_the_changelog_has_this_version() -> None:
    """A release with its date; or one in development, after the last release, with its lines under Unreleased."""
    titles = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    released = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", title) for title in titles]
    last = next(found for found in released if found)
    this = Version(aeroloop.__version__)
    if this.is_devrelease:
        assert titles[0] == "Unreleased" and this > Version(last[1])
    else:
        assert released[0] and Version(last[1]) == this
    assert all(released[this.is_devrelease :]), "a release without its date"
    dates = [found[2] for found in released if found]
    assert dates == sorted(dates, reverse=True)


def test_the_install_page_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = re.findall(r"^\| `\[(\w+)\]` \|", (ROOT / "docs" / "install.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(table) == sorted(project["optional-dependencies"])


@pytest.mark.parametrize("page", ["README.md", "docs/install.md", "docs/first-flights.md", "docs/command-examples.md"])
def test_what_a_newcomer_is_told_to_fly_is_shipped(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"(?:aeroloop fly |aeroloop\.fly\(\")([a-z0-9-]+)(?![a-z0-9/.-])", text))
    assert named and named <= {path.stem for path in (ROOT / "scenarios").glob("*.toml")}


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    links = site_pages.LINK.findall(text)
    assert len(text.splitlines()) <= 80
    assert re.search(r"^!\[.+\]\(docs/images/[\w-]+-film\.webp\)$", text, re.MULTILINE), "a film of a flight"
    assert "aeroloop cmd arm --wait" in text
    assert len(links) > 20
    assert [target for target, _ in links if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("link", ["[x](nothing.md)", "[x](other.md#nowhere)", "[x](../none.py)"])
def test_a_broken_link_is_an_error(link: str, tmp_path: Path) -> None:
    """Checked as in the site, but without theme and reference, which only cost time."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Page\n\n{link}\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    small = {key: settings[key] for key in ("site_name", "use_directory_urls", "validation")}
    (tmp_path / "mkdocs.yml").write_text(yaml.dump({**small, "docs_dir": "docs"}))
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0 and "WARNING" in done.stderr


def test_links_are_rewritten_only_where_they_lead_out_of_the_docs() -> None:
    assert site_pages.site_uri("docs/faults.md") == "faults.md"
    assert site_pages.site_uri("firmware/README.md") == "source/firmware/README.md"
    assert site_pages.site_uri("examples/router.toml") == "source/examples/router.toml.md"
    assert site_pages._in_repository("docs/faults.md", "../../outside.md") is None
    assert site_pages._in_repository("docs/faults.md", "https://example.org/x.md") is None
