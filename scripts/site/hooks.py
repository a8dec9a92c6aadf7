"""Hooks of the documentation site (mkdocs.yml).

The pages are written for a Git forge. These hooks make the same files work as a site: links to files outside of docs/
lead to copies of these files, the fences of executed examples get a language that the highlighter supports, and the pages of
commands and recipes get the programs of examples/.
"""

import os
import re
import textwrap
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages of the site that are outside of docs/.
ROOT_PAGES = ["SECURITY.md", "CHANGELOG.md"]
# Pages for contributors, who have a clone. They are not on the site, and links to them become text.
NOT_ON_SITE = [ROOT / "CONTRIBUTING.md", ROOT / "CODE_OF_CONDUCT.md", *(DOCS / "contributing").glob("*.md")]
FAMILIES = [
    ("bf", "Bloom filter"),
    ("cf", "Cuckoo filter"),
    ("cms", "Count-min sketch"),
    ("topk", "Top-k"),
    ("tdigest", "t-digest"),
    ("sketch", "All families"),
]
# Pages that use the space of the table of contents.
WIDE_PAGES = ["README.md", "commands/README.md"]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
LINK_WITH_TEXT = re.compile(r"(?<!!)\[([^]]*)\]\(([^)\s]+)\)")
# The languages of examples/, with the name for the highlighter, and the programs with commands and with recipes.
LANGUAGES = {
    "Python": ("python", "python/commands.py", None),
    "Node": ("javascript", "node/commands.mjs", "node/recipes.mjs"),
    "Go": ("go", "go/commands/main.go", "go/recipes.go"),
    "Rust": ("rust", "rust/commands.rs", "rust/recipes.rs"),
}
# The commands that are not in the programs, without their families.
NOT_IN_PROGRAMS = ["SCANDUMP", "LOADCHUNK", "DEBUG", "LOAD", "ADVANCE"]
# The kinds of executed blocks (tests/server/each_server/documents.rs) and how the site shows them.
FENCES = {
    "redis": "text",
    "python roughly": "python",
    "python dask": "python",
    "python spark": "python",
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
    # The hooks in sizing.py create this page.
    if path == DOCS / "sizing.html":
        return "sizing.md"
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
        if found.exists() and found.is_relative_to(ROOT) and found not in NOT_ON_SITE:
            yield link, found


def on_config(config):
    """Adds the pages of the commands to the navigation, family by family."""
    commands = next(part["Commands"] for part in config["nav"] if "Commands" in part)
    families = {prefix: [] for prefix, _ in FAMILIES}
    for page in sorted(path.name for path in (DOCS / "commands").glob("*.md")):
        if page != "README.md":
            # The name of a page about all families has no prefix.
            families.get(page.split(".")[0], families["sketch"]).append(f"commands/{page}")
    commands += [{title: families[prefix]} for prefix, title in FAMILIES]
    return config


def commands_of(path):
    """The commands in the title of a page. A name without a dot stands for this command of all families that have it."""
    programs = (ROOT / "examples" / LANGUAGES["Python"][1]).read_text()
    for name in path.read_text().split("\n")[0].removeprefix("# ").split(", "):
        yield from [name] if "." in name else re.findall(rf" command: (\w+\.{name})\n", programs)


def client_programs(path):
    """The calls of each command of a page in the languages of examples/."""
    commands = [command for command in commands_of(path) if command.split(".")[1] not in NOT_IN_PROGRAMS]
    for command in commands:
        yield f"\n{command} with client libraries:\n" if len(commands) > 1 else "\nWith client libraries:\n"
        yield from command_tabs(command)


def on_files(files, config):
    """Adds the files outside of docs/ that pages link to."""
    pending = [ROOT / page for page in ROOT_PAGES]
    pending += [path for path in DOCS.rglob("*.md") if path not in NOT_ON_SITE]
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


def tab(title, language, code):
    """A tab with code."""
    lines = [f"```{language}", *textwrap.dedent(code).rstrip().split("\n"), "```"]
    return f'\n=== "{title}"\n\n' + "".join(f"    {line}\n" for line in lines)


def recipe_tabs(recipe):
    """The functions of a recipe in the languages of examples/."""
    for name, (language, _, program) in LANGUAGES.items():
        if program:
            text = (ROOT / "examples" / program).read_text()
            yield tab(name, language, text.split(f"// recipe: {recipe}\n")[1].split("// end\n")[0])


def command_tabs(command):
    """The calls of a command in the languages of examples/."""
    for name, (language, program, _) in LANGUAGES.items():
        text = (ROOT / "examples" / program).read_text()
        code = text.split(f" command: {command}\n")[1]
        yield tab(name, language, re.split(r"\n\s*(?://|#) (?:command:|end)", code)[0])


def buttons(line):
    """The links of a line that has only links, as buttons."""
    if not re.fullmatch(r"\[[^]]+\]\([^)]+\)( · \[[^]]+\]\([^)]+\))+", line):
        return line
    primary, *others = line.split(" · ")
    return " ".join([primary + "{ .md-button .md-button--primary }", *[link + "{ .md-button }" for link in others]])


def on_page_markdown(markdown, page, config, files):
    """Adapts links, fences and collapsed blocks to the site. Adds the programs to commands and recipes."""
    uri = page.file.src_uri
    if page.file.generated_by:
        return markdown
    path = source_of(uri)
    if uri in WIDE_PAGES:
        page.meta["hide"] = ["toc"]
    if "\n## Other languages\n" in markdown:
        markdown += "".join(recipe_tabs(path.stem))
    if uri.startswith("commands/") and path.name != "README.md":
        # The first block is the syntax, which wraps on narrow screens.
        markdown = markdown.replace("```text\n", "``` { .text .syntax }\n", 1)
        if programs := "".join(client_programs(path)):
            markdown = markdown.replace("\n## Reply\n", f"{programs}\n## Reply\n", 1)
    targets = dict(linked_files(path))
    here = os.path.dirname(uri)

    def site_link(match):
        target = targets.get(match[2])
        if target is None:
            return match[0]
        anchor = "#" + match[2].split("#")[1] if "#" in match[2] else ""
        return match[1] + os.path.relpath(uri_of(target), here or ".") + anchor + match[3]

    def text_of_link(match):
        target = Path(os.path.normpath(path.parent / match[2].split("#")[0]))
        return match[1] if target in NOT_ON_SITE else match[0]

    lines = []
    markdown = LINK_WITH_TEXT.sub(text_of_link, markdown)
    for line in LINK.sub(site_link, markdown).split("\n"):
        indentation, fence, kind = line.partition("```")
        if fence and not indentation.strip() and kind in FENCES:
            line = indentation + fence + FENCES[kind]
        elif line == "<details>":
            line = '<details markdown="1">'
        elif uri == "README.md":
            line = buttons(line)
        lines.append(line)
    return "\n".join(lines)


def on_page_content(html, page, config, files):
    """Marks the tables of arguments, which docs/site.css displays differently on narrow screens."""
    html = re.sub(r"<table>(?=\s*<thead>\s*<tr>\s*<th>argument</th>\s*<th>type</th>)", "<table data-arguments>", html)
    html = html.replace("<td>required</td>", "<td data-required>required</td>")
    return html
