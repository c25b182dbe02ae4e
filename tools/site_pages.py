"""A hook of mkdocs: files of the repository that the pages link to become pages of the site themselves.

In the repository a link leads from `docs/faults.md` to `../examples/aircraft/sled/build.py`. The site has that file as
`source/examples/aircraft/sled/build.py.md`, and links are rewritten accordingly: the site is complete by itself.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "source"
DOCS = "docs"
ALWAYS = ("ARCHITECTURE.md", "CHANGELOG.md", "firmware/README.md", "benchmarks/README.md")
"""Pages of the navigation outside docs/."""
COMMANDS = "Commands"
LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".h": "c", ".ipynb": "json"}


def on_config(config: Any) -> Any:
    """Every command's page is in the navigation below that of all commands."""
    for item in (item for _, items in (entry for tab in config["nav"] for entry in tab.items()) for item in items):
        if isinstance(item, dict) and COMMANDS in item:
            pages = sorted((ROOT / DOCS / "commands").glob("*.md"))
            item[COMMANDS] += [{page.stem: f"commands/{page.name}"} for page in pages if page.stem != "index"]
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages in docs/, and all files that can be reached from them."""
    begin = [f"{DOCS}/{file.src_uri}" for file in files.documentation_pages()]
    waiting, found = [*begin, *ALWAYS], set(begin)
    while waiting:
        page = waiting.pop()
        if page not in found:
            found.add(page)
            files.append(File.generated(config, site_uri(page), content=_content(page)))
        if page.endswith(".md"):
            text = (ROOT / page).read_text("utf-8")
            linked = (_in_repository(page, match["target"]) for match in LINK.finditer(text))
            waiting += [path for path in linked if path and path not in found and not path.startswith(f"{DOCS}/")]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    here = _repository_path(page.file.src_uri)
    if here is None:
        return markdown

    def rewritten(match: re.Match[str]) -> str:
        path = _in_repository(here, match["target"])
        if path is None:
            return match[0]
        link = os.path.relpath(site_uri(path), os.path.dirname(page.file.src_uri) or ".")  # noqa: PTH120
        return f"{link}{match['anchor'] or ''}"

    return LINK.sub(rewritten, markdown)


def site_uri(path: str) -> str:
    """The site's path of a file of the repository."""
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    return f"{SOURCE}/{path}" if path.endswith(".md") else f"{SOURCE}/{path}.md"


def _repository_path(uri: str) -> str | None:
    """The file that a page of the site was made from; None for a page that shows a source file."""
    if not uri.startswith(f"{SOURCE}/"):
        return f"{DOCS}/{uri}"
    path = uri.removeprefix(f"{SOURCE}/")
    return path if (ROOT / path).is_file() else None


def _in_repository(page: str, target: str) -> str | None:
    """The file or folder of the repository that a page's link refers to."""
    if "://" in target or target.startswith(("/", "mailto:")):
        return None
    path = os.path.normpath(Path(page).parent / target)
    return None if path.startswith("..") or not (ROOT / path).exists() else path


def _content(path: str) -> str:
    file = ROOT / path
    if path.endswith(".md"):
        return file.read_text("utf-8")
    shown = f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n"
    if file.is_dir():
        names = sorted(each.name for each in file.iterdir() if not each.name.startswith(("_", ".")))
        return shown + "\n".join(f"- `{name}`" for name in names) + "\n"
    return f"{shown}`````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text('utf-8')}\n`````\n"
