"""Hooks of the documentation site (mkdocs.yml).

The pages are written for a Git forge. These hooks make the same files work as a site: links to files outside of docs/
lead to copies of these files, and the fences of executed examples get a language that the highlighter supports.
"""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages of the site that are outside of docs/.
ROOT_PAGES = ["SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"]
FAMILIES = [
    ("bf", "Bloom filter"),
    ("cf", "Cuckoo filter"),
    ("cms", "Count-min sketch"),
    ("topk", "Top-k"),
    ("tdigest", "t-digest"),
    ("sketch", "All families"),
]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# The languages of examples/, with the program and the name for the highlighter.
EXAMPLES = {
    "Node": ("node/recipes.mjs", "javascript"),
    "Go": ("go/recipes.go", "go"),
    "Rust": ("rust/recipes.rs", "rust"),
}
# The kinds of executed blocks (tests/server/each_server/documents.rs) and how the site shows them.
FENCES = {
    "redis": "text",
    "python roughly": "python",
    "redis resp3": 'text title="RESP3"',
    "redis redis-8": 'text title="Redis 8"',
    "make": "sh",
    "console": "sh",
    "conf": "ini",
}


def source_of(uri):
    """The path of a page or file of the site."""
    inside = DOCS / uri
    return inside if inside.exists() else ROOT / uri


def uri_of(path):
    """The name of a file on the site: relative to docs/, or to the repository for files outside of it."""
    if path == ROOT / "README.md":
        return "README.md"
    base = DOCS if path.is_relative_to(DOCS) else ROOT
    return path.relative_to(base).as_posix()


def linked_files(path):
    """The existing files that a page links to, with the links."""
    for _, link, _ in LINK.findall(path.read_text()):
        target = link.split("#")[0]
        if not target or "://" in target:
            continue
        found = Path(os.path.normpath(path.parent / target))
        if found.is_dir():
            found = found / "README.md"
        if found.exists() and found.is_relative_to(ROOT):
            yield link, found


def on_config(config):
    """Adds the pages of the commands to the navigation, family by family."""
    reference = next(part["Reference"] for part in config["nav"] if "Reference" in part)
    commands = ["commands/README.md"]
    for prefix, title in FAMILIES:
        pages = sorted(path.name for path in (DOCS / "commands").glob(f"{prefix}.*.md"))
        commands.append({title: [f"commands/{page}" for page in pages]})
    reference[reference.index("commands/README.md")] = {"Commands": commands}
    return config


def on_files(files, config):
    """Adds the files outside of docs/ that pages link to."""
    pending = [ROOT / page for page in ROOT_PAGES]
    pending += [path for path in DOCS.rglob("*.md")]
    seen = set(pending)
    while pending:
        path = pending.pop()
        if not path.is_relative_to(DOCS):
            files.append(File(uri_of(path), str(ROOT), config["site_dir"], False))
        if path.suffix == ".md":
            new = [found for _, found in linked_files(path) if found not in seen]
            new = [found for found in new if found != ROOT / "README.md"]
            seen.update(new)
            pending += [found for found in new if not found.is_relative_to(DOCS)]
    return files


def other_languages(recipe):
    """The functions of a recipe in the languages of examples/."""
    for name, (file, language) in EXAMPLES.items():
        program = (ROOT / "examples" / file).read_text()
        code = program.split(f"// recipe: {recipe}\n")[1].split("// end\n")[0]
        yield f"\n### {name}\n\n```{language}\n{code}```\n"


def on_page_markdown(markdown, page, config, files):
    """Adapts links and fences to the site. Adds the functions in other languages to recipes."""
    path = source_of(page.file.src_uri)
    if "\n## Other languages\n" in markdown:
        markdown += "".join(other_languages(path.stem))
    targets = dict(linked_files(path))
    here = os.path.dirname(page.file.src_uri)

    def site_link(match):
        target = targets.get(match[2])
        if target is None:
            return match[0]
        anchor = "#" + match[2].split("#")[1] if "#" in match[2] else ""
        return match[1] + os.path.relpath(uri_of(target), here or ".") + anchor + match[3]

    lines = []
    for line in LINK.sub(site_link, markdown).split("\n"):
        if line.startswith("```") and line[3:] in FENCES:
            line = "```" + FENCES[line[3:]]
        lines.append(line)
    return "\n".join(lines)


def on_page_content(html, page, config, files):
    """Ranks the page on performance low in searches, and excludes its tables. Otherwise, its many short headings about
    filters and its numbers would displace other pages."""
    if page.file.src_uri == "performance.md":
        page.meta["search"] = {"boost": 0.2}
        html = html.replace("<table>", "<table data-search-exclude>")
    return html
