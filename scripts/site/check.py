"""Checks the built documentation site in headless Chromium.

usage: check.py SITE

Every page, in light colors at 360 px and in dark colors at 1280 px, must have the colors of the scheme, no horizontal
scrolling, and no missing image. The search must find the pages for some texts. The exit status is 1 if something is
wrong.
"""

import http.server
import json
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

# Name, value of Chromium's preferredColorScheme, width in pixels, brightness of the background (0 to 255).
SCHEMES = [("light", 1, 360, range(200, 256)), ("dark", 0, 1280, range(0, 80))]
# What a reader types into the search, and the page that must be among the first five results.
SEARCHES = {
    "TOPK.ADD": "commands/topk.add.html",
    "bf.reserve": "commands/bf.reserve.html",
    "alert growths": "monitoring.html",
    "Redis 8 to Valkey": "migration.html",
    "add a command": "CONTRIBUTING.html",
    "non scaling filter is full": "troubleshooting.html",
}
TIMEOUT = 300

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
async function measure(page) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = "/" + page;
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame);
  await loaded;
  await sleep(30);
  const doc = frame.contentDocument;
  for (const image of doc.images) await Promise.race([image.decode().catch(() => {}), sleep(3000)]);
  const result = {
    page,
    brightness: brightness(doc.querySelector("main") ?? doc.body),
    overflow: doc.documentElement.scrollWidth - width,
    broken: [...doc.images].filter(image => !image.naturalWidth).map(image => image.src),
  };
  frame.remove();
  return result;
}
async function search(text) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.src = "/index.html?q=" + encodeURIComponent(text);
  document.body.append(frame);
  let links = [];
  for (let wait = 0; wait < 200 && !links.length; wait++) {
    await sleep(100);
    links = [...(frame.contentDocument?.querySelectorAll(".md-search-result__list > li > a") ?? [])];
  }
  const found = links.slice(0, 5).map(link => new URL(link.href).pathname.slice(1));
  frame.remove();
  return {text, found};
}
(async () => {
  const found = [];
  const worker = async () => {
    while (pages.length) found.push(await measure(pages.shift()));
  };
  await Promise.all(Array.from({length: 6}, worker));
  const searched = [];
  for (const text of searches) searched.push(await search(text));
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

    def log_message(self, *_):
        pass


def measure(server, profile, scheme, width, pages):
    """What Chromium measured on each page, and the results of the searches."""
    server.config = {"pages": pages, "searches": list(SEARCHES), "width": width}
    server.results = None
    server.done = threading.Event()
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={width},900",
        "--remote-debugging-port=0",
    ]
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
    for name, scheme, width, expected in SCHEMES:
        # A new profile, because the site stores the scheme of the first visit.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            measured = measure(server, profile, scheme, width, pages)
            for search in measured["searches"]:
                if SEARCHES[search["text"]] not in search["found"]:
                    faults.append(f"search for {search['text']!r} ({name}): found {search['found']}")
            for result in measured["pages"]:
                place = f"{result['page']} ({name}, {width} px)"
                if result["brightness"] not in expected:
                    faults.append(f"{place}: brightness {result['brightness']} of the background")
                if result["overflow"] > 0:
                    faults.append(f"{place}: {result['overflow']} px wider than the window")
                faults += [f"{place}: missing image {image}" for image in result["broken"]]
    for fault in faults:
        print(f"check: {fault}", file=sys.stderr)
    print(f"check: {len(pages)} pages in {len(SCHEMES)} color schemes, {len(faults)} faults", file=sys.stderr)
    sys.exit(bool(faults))


main()
