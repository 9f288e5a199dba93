"""The report in a real headless Chromium: scripts, policy, requests, phone, dark mode, print."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import aiohttp
import pytest

from saber_assets.retrieval.tables import SETTINGS
from saber_services.report import mathml
from saber_services.report.names import page_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESK = (360, 740), (1200, 900)
SECONDS = 60
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(300),
]


class Browser:
    """A Chromium that reaches no network, driven through its debugging port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--proxy-server=127.0.0.1:9", "--remote-debugging-port=0",
             f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.port = self._port()

    def _port(self) -> int:
        told = self.folder / "DevToolsActivePort"
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if told.is_file() and len(told.read_text().split()) == 2:
                return int(told.read_text().split()[0])
            assert self.process.poll() is None, "Chromium did not start"
            time.sleep(0.05)
        raise AssertionError("Chromium did not open its debugging port")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def visit(self, address: str, size=DESK, script: str = "1", dark: bool = False) -> Visit:
        """Open an address, and return what a script says there."""
        return asyncio.run(asyncio.wait_for(self._visit(address, size, script, dark), SECONDS))

    async def _visit(self, address, size, script, dark) -> Visit:
        base = f"http://127.0.0.1:{self.port}/json"
        async with aiohttp.ClientSession() as session:
            async with session.put(f"{base}/new") as reply:
                page = await reply.json(content_type=None)
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                found = await Tab(socket).open(address, size, script, dark)
            async with session.get(f"{base}/close/{page['id']}"):
                return found


class Visit:
    """What came of a visit: the script's value, complaints of the console, and requests."""

    def __init__(self, value, complaints: list[str], requests: list[str]) -> None:
        self.value, self.complaints, self.requests = value, complaints, requests


class Tab:
    """A tab of the browser."""

    def __init__(self, socket) -> None:
        self.socket, self.number, self.events = socket, 0, []

    async def call(self, method: str, **values):
        self.number += 1
        number = self.number
        await self.socket.send_json({"id": number, "method": method, "params": values})
        while True:
            message = json.loads((await self.socket.receive()).data)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    async def say(self, script: str):
        told = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def open(self, address, size, script, dark) -> Visit:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                        deviceScaleFactor=1, mobile=size == PHONE)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Page.navigate", url=address)
        while await self.say("document.readyState + location.protocol") != "completefile:":
            await asyncio.sleep(0.02)
        value = await self.say(script)
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return Visit(
            value,
            [json.dumps(event) for event in self.events if event["method"] in kinds],
            [event["params"]["request"]["url"] for event in self.events
             if event["method"] == "Network.requestWillBeSent"],
        )  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def addresses(site, reports):
    names = [path.name for path in sorted(site.glob("*.html"))]
    names += [page_of("q", "p001"), page_of("q", reports.odd_id), page_of("p", "p001"),
              page_of("r", "minilm-l6")]  # fmt: skip
    return {name: (site / name).as_uri() for name in names}


NAMES_SHOWN = (
    "[...document.querySelectorAll('#board tbody tr')].filter(r => !r.hidden)"
    ".map(r => r.cells[1].textContent)"
)


def test_no_page_complains_or_asks_for_anything_else(browser, addresses):
    for name, address in addresses.items():
        visit = browser.visit(address)
        assert visit.complaints == [], name
        assert visit.requests == [address], name


def test_on_a_phone_no_page_scrolls_sideways(browser, addresses):
    measure = "[document.documentElement.scrollWidth, innerWidth]"
    for name, address in addresses.items():
        assert browser.visit(address, PHONE, measure).value == [360, 360], name


def test_the_hash_chooses_setting_domain_and_order(browser, addresses, tables):
    address = addresses["index.html"]
    caption = "document.querySelector('#board caption').textContent"
    assert SETTINGS[0] in browser.visit(address, script=caption).value
    chosen = f"{address}#setting={SETTINGS[1]}&domain=Algebra&sort=name&order=down"
    visit = browser.visit(chosen, script=f"[{caption}, {NAMES_SHOWN}, document.querySelector("
                          "'#board th[aria-sort]').textContent]")  # fmt: skip
    assert visit.value[0] == f'nDCG(gain="exp2")@10 in the setting {SETTINGS[1]}, Algebra'
    assert visit.value[1] == sorted(visit.value[1], reverse=True)
    assert len(visit.value[1]) == 7
    assert visit.value[2] == "Retriever"
    mean = browser.visit(
        chosen,
        script="[...document.querySelectorAll('#board tbody tr')].find(r => r.cells[1].textContent "
        "=== 'bm25').cells[2].textContent",
    )
    import polars as pl

    kept = pl.read_parquet(tables / "leaderboard.parquet").row(
        by_predicate=(pl.col("setting") == SETTINGS[1])
        & (pl.col("domain") == "Algebra")
        & (pl.col("retriever") == "bm25"),
        named=True,
    )
    assert mean.value == f"{kept['mean']:.4f}"


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ("q=bm25", {"bm25"}),
        ("type=SB", {"bm25", "tfidf"}),
        ("family=dense", {"minilm-l6", "wordllama-256"}),
        ("size=over+5+billion", {"wordllama-256"}),
        ("family=dense&size=up+to+1+billion", {"minilm-l6"}),
        ("q=%3Cscript%3E", set()),
    ],
)
def test_search_and_filters(browser, addresses, chosen, shown):
    visit = browser.visit(f"{addresses['index.html']}#{chosen}", script=NAMES_SHOWN)
    assert set(visit.value) == shown
    assert visit.complaints == []


def test_typing_and_clicking_change_the_board_and_its_address(browser, addresses):
    script = (
        "(() => { const f = document.getElementById('board-controls').elements;"
        "f.q.value = 'tfidf'; f.q.dispatchEvent(new Event('input', {bubbles: true}));"
        "document.querySelector('#board th.name button').click();"
        f"return [{NAMES_SHOWN}, location.hash,"
        "document.getElementById('board-status').textContent]"
        "})()"
    )
    names, address, told = browser.visit(addresses["index.html"], script=script).value
    assert names == ["tfidf"]
    assert set(address[1:].split("&")) == {"q=tfidf", "sort=name", "order=up"}
    assert told.startswith("1 of 7 retrievers")


def test_the_query_page_shows_one_retrievers_ranks(browser, addresses, site):
    name = page_of("q", "p001")
    column = (
        "[...document.querySelectorAll('#candidates tbody tr')].map(r => r.cells[8].textContent)"
    )
    visit = browser.visit(f"{addresses[name]}#ranks=ratings&setting={SETTINGS[2]}", script=column)
    assert visit.value == [str(rank) for rank in range(1, 13)]
    failed = browser.visit(f"{addresses[name]}#ranks=minilm-l6", script=column)
    assert failed.value[0].isdigit() or failed.value[0] == "–"


def test_without_a_script_the_board_is_there(browser, site, pages, tmp_path):
    bare = re.sub(r"<script>.*?</script>", "", pages["index.html"], flags=re.DOTALL)
    (tmp_path / "bare.html").write_text(bare, encoding="utf-8")
    visit = browser.visit(
        (tmp_path / "bare.html").as_uri(),
        script=f"[{NAMES_SHOWN}, "
        "getComputedStyle(document.getElementById('board-controls')).display]",
    )
    assert len(visit.value[0]) == 7
    assert visit.value[1] == "none"


@pytest.mark.skipif(not mathml.is_available(), reason="latex2mathml is not installed")
def test_formulas_are_drawn(browser, addresses):
    script = (
        "(() => { const m = document.querySelector('.text mfrac').getBoundingClientRect();"
        "return [document.querySelectorAll('.text math').length, m.width, m.height] })()"
    )
    count, width, height = browser.visit(addresses[page_of("p", "p001")], script=script).value
    assert count > 2
    assert width > 4
    assert height > 10


CONTRAST = """
(() => {
  const lum = (c) => c.map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const draw = (colors) => { canvas.clearRect(0, 0, 1, 1);
    for (const c of colors) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  let worst = [99, ""];
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (e.closest("svg, math")) continue;
    if (!e.checkVisibility({checkVisibilityCSS: true})) continue;
    const under = [];
    for (let p = e; p; p = p.parentElement) under.unshift(getComputedStyle(p).backgroundColor);
    const style = getComputedStyle(e), back = draw(under), fore = draw([...under, style.color]);
    const [a, b] = [lum(back), lum(fore)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
  }
  return worst;
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_enough_in_both_colour_schemes(browser, addresses, dark):
    for name, address in addresses.items():
        ratio, where = browser.visit(address, script=CONTRAST, dark=dark).value
        assert ratio >= 4.5, (name, ratio, where)


def test_chromium_itself_takes_the_picture_and_dumps_the_page(site, tmp_path):
    common = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
              "--proxy-server=127.0.0.1:9", f"--user-data-dir={tmp_path / 'profile'}"]  # fmt: skip
    address = (site / "index.html").as_uri()
    picture, paper = tmp_path / "board.png", tmp_path / "board.pdf"
    for wish in (f"--screenshot={picture}", f"--print-to-pdf={paper}"):
        subprocess.run([*common, wish, address], capture_output=True, timeout=SECONDS, check=True)
    assert picture.stat().st_size > 10_000
    assert paper.read_bytes().startswith(b"%PDF")
    dumped = subprocess.run(
        [*common, "--dump-dom", f"{address}#setting={SETTINGS[1]}"],
        capture_output=True, timeout=SECONDS, check=True, text=True,
    ).stdout  # fmt: skip
    assert f"in the setting {SETTINGS[1]}, all domains</caption>" in dumped
