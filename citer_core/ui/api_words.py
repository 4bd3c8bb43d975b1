"""The view API: what can be called, and examples in Python, curl and MCP that run as they stand.

Knows the endpoints by name only. The page's script puts the address that it is seen at into the examples.
"""

from __future__ import annotations

from html import escape

from citer_core.decode_settings import SETTINGS

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
