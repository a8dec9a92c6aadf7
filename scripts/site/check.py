"""Checks the built documentation site in headless Chromium.

usage: check.py SITE

Every page, in light colors at 360 px and in dark colors at 1280 px, must have the header of the site, the colors of the scheme, no
horizontal scrolling of the page or of a table, and no missing image. The sizing calculator must show results. The search must find some pages among the first
results, and for each error text and log line of docs/troubleshooting.md that page first. The exit status is 1 if something is wrong.
"""

import contextlib
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

# Name, value of Chromium's preferredColorScheme, width in pixels, brightness of the background (0 to 255).
SCHEMES = [("light", 1, 360, range(200, 256)), ("dark", 0, 1280, range(0, 80))]
# What a reader types into the search, the page that must be found, and the number of results among which it must be.
SEARCHES = [
    ("TOPK.ADD", "commands/topk.add.html", 1),
    ("BF.MEXISTS", "commands/bf.exists.html", 1),
    ("bf.reserve", "commands/bf.reserve.html", 1),
    ("alert growths", "monitoring.html", 5),
    ("Redis 8 to Valkey", "migration-replication.html", 5),
    ("ttl", "sliding-windows.html", 1),
    ("expire", "sliding-windows.html", 1),
    ("distinct", "recipes/unique-items.html", 1),
    ("rollback", "migration.html", 1),
    ("redis stack", "migration.html", 5),
    ("200 GB", "migration-replication.html", 5),
    ("memory before", "sizing.html", 1),
    ("memory", "sizing.html", 1),
    ("window", "sliding-windows.html", 1),
    ("bloom filter", "families/bloom.html", 1),
    ("huge pages", "operations.html", 1),
    ("rate limit", "recipes/rate-limiting.html", 1),
    ("merge", "commands/bf.merge.html", 5),
    ("install", "packages.html", 1),
    ("docker", "containers.html", 1),
    ("cluster", "cluster.html", 1),
    ("python", "python.html", 1),
    ("python client", "clients.html", 5),
]
TROUBLESHOOTING = Path(__file__).resolve().parents[2] / "docs/troubleshooting.md"
TIMEOUT = 600

# Loads the pages into frames of the given width, six at a time, and sends the measurements to the server.
FRAME = """<!doctype html><meta charset=utf-8><body style="margin:0"><script>
const {pages, searches, width} = CONFIG;
const sleep = ms => new Promise(done => setTimeout(done, ms));
function brightness(element) {
  for (; element; element = element.parentElement) {
    const parts = element.ownerDocument.defaultView.getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
    if (parts.length < 4 || parts[3] > 0) return Math.round((parts[0] + parts[1] + parts[2]) / 3);
  }
  return 255;
}
async function load(page) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = "/" + page;
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame);
  await loaded;
  return frame;
}
async function measure(page) {
  const frame = await load(page);
  await sleep(30);
  const doc = frame.contentDocument;
  for (const image of doc.images) await Promise.race([image.decode().catch(() => {}), sleep(3000)]);
  const result = {
    page,
    header: doc.querySelector(".md-header .md-search") !== null,
    brightness: brightness(doc.querySelector("main") ?? doc.body),
    empty: page === "sizing.html" && !doc.querySelector("#figures dd"),
    overflow: doc.documentElement.scrollWidth - width,
    wide: [...doc.querySelectorAll(".md-typeset__scrollwrap")].filter(wrap => wrap.scrollWidth > wrap.clientWidth).map(wrap =>
      wrap.querySelector("tr").textContent.trim().replace(/\\s+/g, " ")),
    broken: [...doc.images].filter(image => !image.naturalWidth).map(image => image.src),
  };
  frame.remove();
  return result;
}
// Types the texts into the search of one page, and reads the links of the results.
async function search(texts) {
  const frame = await load("index.html");
  const doc = frame.contentDocument, input = doc.querySelector(".md-search__input");
  const links = () => [...doc.querySelectorAll(".md-search-result__list > li > a")];
  const type = async (text, isDone) => {
    input.value = text;
    input.dispatchEvent(new Event("keyup"));
    for (let wait = 0; wait < 3000 && !isDone(); wait++) await sleep(20);
  };
  doc.querySelector("#__search").click();
  input.focus();
  // The first search waits for the index.
  for (let wait = 0; wait < 20 && !links().length; wait++) await type("TOPK", () => links().length);
  const results = [];
  for (const text of texts) {
    await type("", () => !links().length);
    await type(text, () => links().length);
    results.push({text, found: links().slice(0, 5).map(link => new URL(link.href).pathname.slice(1))});
  }
  return results;
}
(async () => {
  const found = [];
  const worker = async () => {
    while (pages.length) found.push(await measure(pages.shift()));
  };
  await Promise.all(Array.from({length: 6}, worker));
  const searched = searches.length ? await search(searches) : [];
  await fetch("/results", {method: "POST", body: JSON.stringify({pages: found, searches: searched})});
})();
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and the page with the frames, and receives the measurements of that page."""

    def do_GET(self):
        if self.path == "/frame":
            page = FRAME.replace("CONFIG", json.dumps(self.server.config)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)
        else:
            super().do_GET()

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.server.results = json.loads(self.rfile.read(length))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def copyfile(self, source, outputfile):
        # The page removes frames that still load files.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            super().copyfile(source, outputfile)

    def log_message(self, *_):
        pass


def error_texts():
    """The error texts and log lines in the first columns of the tables of the page."""
    is_error = False
    for line in TROUBLESHOOTING.read_text().splitlines():
        if line.startswith("| ") and line.split(" | ")[0] in ("| text", "| line", "| result"):
            is_error = not line.startswith("| result")
        if is_error and line.startswith("| `"):
            texts = re.findall(r"``(.*?)``|`([^`]+)`", line.split(" | ")[0])
            yield from (text for pair in texts for text in pair if text)


def measure(server, profile, scheme, width, pages, searches):
    """What Chromium measured on each page, and the results of the searches."""
    server.config = {"pages": pages, "searches": searches, "width": width}
    server.results = None
    server.done = threading.Event()
    options = "--headless --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-port=0".split()
    options += [f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={width},900"]
    url = f"http://127.0.0.1:{server.server_port}/frame"
    browser = subprocess.Popen(
        ["chromium", *options, url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    finished = server.done.wait(TIMEOUT)
    browser.kill()
    browser.wait()
    if not finished:
        sys.exit(f"check: Chromium did not finish within {TIMEOUT} s")
    return server.results


def main():
    site = Path(sys.argv[1])
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = [page for page in pages if page != "404.html"]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    faults = []
    expected_results = SEARCHES + [(text, "troubleshooting.html", 1) for text in error_texts()]
    searches = [text for text, _, _ in expected_results]
    for name, scheme, width, expected in SCHEMES:
        # A new profile, because the site stores the scheme of the first visit.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            measured = measure(server, profile, scheme, width, pages, searches)
            for (text, wanted, results), search in zip(expected_results, measured["searches"]):
                if wanted not in search["found"][:results]:
                    faults.append(f"search for {text!r}: found {search['found']} instead of {wanted}")
            # The results do not depend on the colors.
            searches = []
            for result in measured["pages"]:
                place = f"{result['page']} ({name}, {width} px)"
                if not result["header"]:
                    faults.append(f"{place}: no header of the site")
                if result["empty"]:
                    faults.append(f"{place}: no results")
                if result["brightness"] not in expected:
                    faults.append(f"{place}: brightness {result['brightness']} of the background")
                if result["overflow"] > 0:
                    faults.append(f"{place}: {result['overflow']} px wider than the window")
                faults += [f"{place}: the table of {table} is wider than the window" for table in result["wide"]]
                faults += [f"{place}: missing image {image}" for image in result["broken"]]
    for fault in faults:
        print(f"check: {fault}", file=sys.stderr)
    numbers = f"{len(pages)} pages in {len(SCHEMES)} color schemes, {len(expected_results)} searches"
    print(f"check: {numbers}, {len(faults)} faults", file=sys.stderr)
    sys.exit(bool(faults))


main()
