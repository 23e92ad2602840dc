"""openai-python against damaged answers; asks what each line of its input says, and answers with a line.

Started by `npm run test:python`, which sets GATEWAY_URL and GATEWAY_KEY, and makes the upstream answer before each line.
A line is {"asks": ..., "model": ...}; its answer {"text": ..., "error": ...}, where the text is what a caller receives.
"""

import json
import os
import sys

import openai

# The SDK's default retries.
client = openai.OpenAI(api_key=os.environ["GATEWAY_KEY"], base_url=os.environ["GATEWAY_URL"] + "/v1")
said = [{"role": "user", "content": "a boat"}]
calls = {
    "openai.images": lambda **more: client.images.generate(prompt="a boat", **more),
    "openai.chat": lambda **more: client.chat.completions.create(messages=said, **more),
    "openai.responses": lambda **more: client.responses.create(input="a boat", **more),
}


def receive(asks, model):
    """What the SDK gives its caller, as JSON."""
    kind = asks.removesuffix(".stream")
    if kind == asks:
        answer = calls[kind](model=model)
        return answer.to_json() if hasattr(answer, "to_json") else json.dumps(answer, default=str)
    return json.dumps([event.to_dict() for event in calls[kind](model=model, stream=True)])


for line in sys.stdin:
    try:
        told = {"text": receive(**json.loads(line))}
    except Exception as error:  # noqa: BLE001 - whatever a caller meets is told
        told = {"text": "", "error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
