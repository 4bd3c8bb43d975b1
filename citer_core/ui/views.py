"""The page's header and views: what there is, what an address names (`?view=labels`), the panel of each, and the words
that Learn and API hold from the beginning: how it works, what to read next, what can be called, and examples in Python,
curl and MCP that run as they stand.

Knows the endpoints by name only. The page's script puts the address that it is seen at into the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from citer_core import __version__
from citer_core.decode_settings import SETTINGS


@dataclass(frozen=True, slots=True)
class View:
    """One of them.

    Attributes:
        name: in addresses.
        title: on the page.
        is_headed: its own headings are of the second order.
        is_linked: the header leads to it.
    """

    name: str
    title: str
    is_headed: bool = True
    is_linked: bool = True


EXPLORE = View("explore", "Explore")
LABELS = View("labels", "Labels", is_headed=False)
LEARN = View("learn", "Learn")
API = View("api", "API")  # of a server
VIEWS = (
    EXPLORE,
    View("compare", "Compare", is_headed=False),
    View("lab", "Lab", is_headed=False),
    LABELS,
    View("evidence", "Evidence"),
    View("profile", "Worth it here?"),
    LEARN,
    View("class", "Class", is_headed=False, is_linked=False),
    API,
)
FOLDERS = tuple(view.name for view in VIEWS if view not in (EXPLORE, API))  # of `assets`: a view's modules and styles

TAGLINE = "A small model writes. Where a router expects it to fail, a large one writes the token."

_NAME = '<h1 class="cx-name" aria-label="CITER"><span>CIT</span><span class="cx-llm">ER</span></h1>'

_HEADER = """
<header>
<div class="cx-header">
  {name}
  <button type="button" class="cx-tool" id="cx-menu" aria-expanded="false" aria-controls="cx-menu-list">Menu</button>
  <div class="cx-menu" id="cx-menu-list">
    {views}
    <div class="cx-tools">
      {tools}
      <button type="button" class="cx-tool" id="cx-size" aria-label="Text size">A+</button>
      <button type="button" class="cx-tool" id="cx-theme" aria-label="Dark theme" aria-pressed="false">◐</button>
      <span class="cx-version" title="The version of this page">v{version}</span>
    </div>
  </div>
</div>
<p id="cx-link-said" role="status"></p>
{tagline}
</header>
"""

_TOOLS = """<button type="button" class="cx-tool" id="cx-tour" title="Nine small steps on this page">Tour</button>
      <button type="button" class="cx-tool" id="cx-present" title="Large type, by keyboard">Present</button>
      <button type="button" class="cx-tool" id="cx-copy-link" title="Opens what is on the screen">Copy link</button>"""


def header(views: Sequence[View]) -> str:
    """The top of the page, one line; without views, that of a page in one file. On a phone a button opens it."""
    links = "".join(
        f'<a href="?view={view.name}" data-view="{view.name}"{" aria-current=page" if view is EXPLORE else ""}>'
        f"{escape(view.title)}</a>"
        for view in views
        if view.is_linked
    )
    return _HEADER.format(
        name=_NAME, views=f'<nav class="cx-views" aria-label="Views">{links}</nav>' if views else "",
        tools=_TOOLS if views else "", tagline=f'<p class="cx-tagline">{TAGLINE}</p>', version=__version__,
    )  # fmt: skip


def panels(views: Sequence[View], content: Mapping[str, str]) -> str:
    """The place of each view but Explore, with what it holds from the beginning."""
    return "".join(_panel(view, content.get(view.name, "")) for view in views if view is not EXPLORE)


def _panel(view: View, content: str) -> str:
    heading = "" if view.is_headed else f'<h2 class="cx-hidden">{escape(view.title)}</h2>'
    return (
        f'<div id="cx-tab-{view.name}" data-panel="{view.name}" hidden>{heading}{content}'
        f'<div id="cx-{view.name}" class="cx-{view.name}"></div></div>'
    )


HOW_IT_WORKS = """
<section class="cx-about" aria-labelledby="cx-how">
  <h2 id="cx-how">How it works</h2>
  <div class="cx-columns">
    <div><h3>Two models, one text</h3>
      <p>The small model (SLM) reads every position. A router looks at its state and says how sure it is that the
      small model's next token will do. If it is not, the large model (LLM) catches up on what it missed and writes
      this one token. Each keeps its own cache, so a hand-over costs one pass, not a new start.</p></div>
    <div><h3>What τ means</h3>
      <p>The LLM writes a token when <em>confidence &lt; τ</em>. At 0 the SLM writes everything, at 1 the LLM does.
      Move τ over a finished run and the decisions recolour at once. Where both models write the
      same token the text stays the same, exactly. From the first token that may differ, your browser writes the
      bundled pair's text again; of a pair that only a server has, the rest is hatched.</p></div>
    <div><h3>What it costs</h3>
      <p>Purple is an <em>estimate</em> of the bytes moved: weights once per pass, cache read and written. A pass of
      <var>k</var> new tokens over <var>c</var> cached ones moves <code>W + κ·(c + k)</code>; a step adds SLM, router
      and, where it was asked, LLM. At τ = 1 routing costs more than the LLM alone: the SLM still reads along.
      Milliseconds are measured.</p></div>
  </div>
  {more}
</section>
"""


def how_it_works(chapters: Sequence[tuple[str, str]] = ()) -> str:
    """The section, with links to the chapters where they are served: address and title of each."""
    links = " · ".join(f'<a href="{escape(url)}" target="_blank">{escape(title)}</a>' for url, title in chapters)
    return HOW_IT_WORKS.replace("{more}", f"<h3>Read on</h3><p>{links}</p>" if chapters else "")


PYTHON_EXAMPLE = """import json
from gradio_client import Client  # pip install gradio_client

client = Client("http://127.0.0.1:7860")
question = "Mia buys 4 pens at 12 dollars each and 3 books at 25 dollars each. How many dollars does Mia spend?"
settings = json.dumps({"threshold": 0.7, "max_new_tokens": 200})  # what is not named has its default
job = client.submit(question, data_type="math", settings=settings, api_name="/route_trace")
for text in job:  # its place while it waits, then snapshots, each a trace as JSON text; the last one is complete
    trace = json.loads(text)
    print(trace.get("waiting") or f"{len(trace['events'])} tokens")
print("".join(event["text"] for event in trace["events"]))
print(trace["finish_reason"], trace["answer"])

# The same run at another tau: no model is asked.
again = json.loads(client.predict(text, 0.95, api_name="/replay"))
print("tokens that stay the same, exactly:", again["n_exact"], "LLM share:", again["llm_token_share"])

# What the LLM would have said at every token, asked or not.
for token in json.loads(client.predict(text, api_name="/probe"))[:3]:
    print(token["agree"], token["kl"], token["llm_top"][0])

print([run["preset"] for run in json.loads(client.predict(api_name="/list_presets"))])
print([router["router"] for router in json.loads(client.predict(api_name="/list_routers"))])"""

CURL_EXAMPLE = """# A call is asked for and then read, because it may wait in a queue. [trace, threshold, preset]
id=$(curl -s http://127.0.0.1:7860/gradio_api/call/replay \\
  -H "Content-Type: application/json" -d '{"data": ["", 0.5, "bakery"]}' | grep -o '[0-9a-f]\\{32\\}')
curl -sN http://127.0.0.1:7860/gradio_api/call/replay/$id"""

MCP_EXAMPLE = """{
  "mcpServers": {
    "citer": { "url": "http://127.0.0.1:7860/gradio_api/mcp/" }
  }
}"""

ENDPOINTS = (
    ("/route_trace", "question, data_type, settings (JSON text), router",
     "Answers a question with both models; streams the trace, as JSON text, as it grows."),
    ("/replay", "trace (JSON text) or preset, threshold",
     "The decisions at another τ: counters, estimated cost, how much of the text surely stays. Runs no model."),
    ("/probe", "trace (JSON text) or preset",
     "The LLM's five most probable tokens, agreement and KL at every token, in one pass."),
    ("/list_presets", "", "The recorded runs of this page."),
    ("/list_routers", "", "The routers of the loaded pair, with the τ that each recommends."),
)  # fmt: skip

WITH_MCP = (
    "The endpoints are MCP tools too, over streamable HTTP. For a client that reads a configuration file "
    "(Cursor, Claude, VS Code):"
)

WITHOUT_MCP = (
    "MCP is off on this server: start it with <code>CITER_MCP=1</code> (and gradio's extra <code>mcp</code>, which "
    "<code>requirements.txt</code> has). A client is then configured like this:"
)


def api_words(*, has_mcp: bool) -> str:
    """All of it as HTML; `has_mcp` says whether this server speaks MCP."""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{escape(arguments or "none")}</td>'
        f"<td>{escape(what)}</td></tr>"
        for name, arguments, what in ENDPOINTS
    )
    settings = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th>'
        f"<td>{escape(row.kind.wanted)} ({row.default:g})</td><td>{escape(row.about)}</td></tr>"
        for name, row in SETTINGS.items()
    )
    return f"""
<section class="cx-about" aria-labelledby="cx-api-title">
  <h2 id="cx-api-title">Call it from a program</h2>
  <p>Every argument has a type, a default and a message of its own when it is wrong.
  <code>Client(…).view_api()</code> lists them all; a trace has the form of the JSON download above.</p>
  <div class="cx-scroll" tabindex="0" role="region" aria-label="Endpoints"><table class="cx-endpoints">
    <thead><tr><th scope="col">Endpoint</th><th scope="col">Arguments</th>
    <th scope="col">What it gives</th></tr></thead>
    <tbody>{rows}</tbody></table></div>
  <p>Settings of decoding are one JSON object keyed by name; what it does not name has its default. The command line
  takes the same object: <code>route --settings</code>.</p>
  <div class="cx-scroll" tabindex="0" role="region" aria-label="Settings"><table class="cx-endpoints">
    <thead><tr><th scope="col">Setting</th><th scope="col">Range and default</th>
    <th scope="col">What it does</th></tr></thead>
    <tbody>{settings}</tbody></table></div>
  <h3>Python</h3>{_code("Python example", PYTHON_EXAMPLE)}
  <h3>curl</h3>{_code("curl example", CURL_EXAMPLE)}
  <h3>MCP</h3><p>{WITH_MCP if has_mcp else WITHOUT_MCP}</p>{_code("MCP configuration", MCP_EXAMPLE)}
</section>
"""


def _code(label: str, text: str) -> str:
    return f'<pre class="cx-code" tabindex="0" role="region" aria-label="{label}"><code>{escape(text)}</code></pre>'
