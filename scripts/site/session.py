"""Records a terminal session on a real server, and writes it as an SVG.

usage: scripts/with-server.sh python3 scripts/site/session.py > docs/plots/session.svg    (scripts/pages.sh session)

The lines are those of SESSION and the replies of the server. The tests run the commands of the file, and compare the replies
(tests/server/each_server/documents.rs). The documentation site displays the lines as text (scripts/site/home.py).
"""

import os
import subprocess
import time
from html import escape

# Commands, and a number of seconds to wait.
SESSION = [
    "TOPK.RESERVE pages 9 80 5 0.9 WINDOW 60000",
    "TOPK.INCRBY pages /home 420 /news 17",
    12,
    "TOPK.INCRBY pages /news 90 /goal 70",
    "TOPK.LIST pages WITHCOUNT",
    "SKETCH.WITHIN 5000 TOPK.LIST pages WITHCOUNT",
    "SKETCH.SERIES -15000 + 10000 TOPK.COUNT pages /news",
]
FONT, LINE, WIDTH, MARGIN = 13, 19, 452, 14
PROMPT, NOTE, OUTPUT = "prompt", "note", "output"


def record():
    """The lines of the session: their kinds and texts."""
    client = ["redis-cli", "-p", os.environ["ROUGHLY_PORT"], "--no-raw"]
    for step in SESSION:
        if isinstance(step, int):
            time.sleep(step)
            yield NOTE, f"# {step} seconds later"
            continue
        yield PROMPT, f"> {step}"
        reply = subprocess.run([*client, *step.split()], capture_output=True, text=True, check=True)
        for line in reply.stdout.rstrip("\n").split("\n"):
            yield OUTPUT, line


def svg(lines):
    """The file: a dark terminal, which is readable on light and dark pages."""
    height = len(lines) * LINE + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    yield "<title>A terminal session: the top pages of the last minute and of the last five seconds, from one key</title>"
    yield "<style>"
    yield f"text {{ font: {FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #c9d1d9; white-space: pre }}"
    yield ".prompt { fill: #79c0ff } .note { fill: #d29922 }"
    yield "</style>"
    yield f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117" stroke="#30363d"/>'
    for number, (kind, text) in enumerate(lines):
        y = MARGIN + FONT + number * LINE
        yield f'<text class="{kind}" x="{MARGIN}" y="{y}">{escape(text, quote=False)}</text>'
    yield "</svg>"


print("\n".join(svg(list(record()))))
