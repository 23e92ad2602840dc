"""Translates requests and answers with LiteLLM: one case a line on stdin, one result a line on stdout.

A case has the formats `from` and `to`, the client's `body`, and the `answer` of the upstream, which is a server of this
process, whole and as a stream. A result has the request that LiteLLM `sent`, and what its caller `got`, as a list for a stream.
"""

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

litellm.suppress_debug_info = True
litellm.telemetry = False
litellm.drop_params = True
litellm.num_retries = 0
seen = {}


class Upstream(BaseHTTPRequestHandler):
    def do_POST(self):
        seen["body"] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        stream = seen["body"].get("stream") or "streamGenerate" in self.path
        answer = seen["answer"]["stream" if stream else "whole"].encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
key = {"api_key": "sk-none"}
models = {
    "messages": {"model": "anthropic/claude-opus-4-5", "api_base": base, **key},
    "generate": {"model": "gemini/gemini-3-pro-preview", "api_base": f"{base}/v1beta/models/m:generateContent", **key},
    "responses": {"model": "openai/responses/vendor-model", "api_base": f"{base}/v1", **key},
    "chat": {"model": "llamafile/vendor-model", "api_base": f"{base}/v1", **key},
}


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, bytes):
        return value.decode()
    return value


async def call(case):
    body = {name: value for name, value in case["body"].items() if name != "model"}
    to = models[case["to"]]
    if case["from"] == "chat":
        answer = await litellm.acompletion(**body, **to)
    elif case["from"] == "generate":
        # LiteLLM's proxy passes on a body of generateContent in this form.
        body["config"] = body.pop("generationConfig", {})
        ask = litellm.google_genai.agenerate_content_stream if case["stream"] else litellm.google_genai.agenerate_content
        body.pop("stream", None)
        answer = await ask(**body, **to)
    elif case["from"] == "responses":
        answer = await litellm.aresponses(**body, **to)
    else:
        answer = await litellm.anthropic_messages(**body, **to)
    if not case["stream"]:
        return plain(answer)
    return [plain(one) async for one in answer]


for line in sys.stdin:
    case = json.loads(line)
    seen.clear()
    seen.update(answer=case["answer"])
    result = {}
    try:
        result["got"] = asyncio.run(asyncio.wait_for(call(case), 20))
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"[:600]
    result["sent"] = seen.get("body")
    print(json.dumps(result, default=str), flush=True)
