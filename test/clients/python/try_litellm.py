"""The SDK of LiteLLM, in the words of three vendors."""

import base64
import os

# Otherwise it would download a list of models and prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from kit import KEY, MASK, PICTURE, PROMPT, SAID, SOUND, SPENT, URL, caller, raises, same  # noqa: E402
from pydantic import BaseModel  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
call = caller("litellm")


class Recipe(BaseModel):
    name: str
    minutes: int
    steps: list[str]


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "the weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def say(text=PROMPT):
    return [{"role": "user", "content": text}]


def call_chat(name, **place):
    def ask(text=PROMPT, **more):
        return litellm.completion(messages=say(text), max_retries=0, **{**place, **more})

    def whole():
        answer = ask()
        same(answer.choices[0].message.content, SAID)
        same(answer.usage.completion_tokens, 6)

    def stream():
        chunks = list(ask(stream=True, stream_options={"include_usage": True}))
        same("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), SAID)
        assert any(getattr(chunk, "usage", None) for chunk in chunks), "the usage is told"

    def tools():
        found = ask("look_up Rome", tools=TOOLS).choices[0].message.tool_calls
        same(found[0].function.name, "look_up")

    def structure():
        Recipe.model_validate_json(ask(response_format=Recipe).choices[0].message.content)

    call(f"{name}: completion", whole)
    call(f"{name}: completion, streamed", stream)
    call(f"{name}: completion with a tool", tools)
    call(f"{name}: completion with response_format", structure)
    call(f"{name}: 401", lambda: raises(litellm.AuthenticationError, lambda: ask(api_key="sk-none")))
    call(f"{name}: 404 of a model", lambda: raises(litellm.NotFoundError, lambda: ask(model=place["model"].split("/")[0] + "/none")))
    call(f"{name}: 429", lambda: raises(litellm.RateLimitError, lambda: ask(api_key=SPENT)))
    call(f"{name}: 400", lambda: raises(litellm.BadRequestError, lambda: ask("[[status 400]]")))


OPENAI = {"api_base": URL + "/v1", "api_key": KEY}
call_chat("openai", model="openai/sim-chat", **OPENAI)
call_chat("anthropic", model="anthropic/sim-messages", api_base=URL, api_key=KEY)
call_chat("gemini", model="gemini/sim-generative", api_base=URL + "/v1beta", api_key=KEY)
call_chat("gemini without a version", model="gemini/sim-generative", api_base=URL, api_key=KEY)


def respond():
    same(litellm.responses(model="openai/sim-chat", input=PROMPT, **OPENAI).output[0].content[0].text, SAID)


def respond_streamed():
    events = list(litellm.responses(model="openai/sim-chat", input=PROMPT, stream=True, **OPENAI))
    same(str(getattr(events[-1].type, "value", events[-1].type)), "response.completed")


def messages():
    import asyncio

    answer = asyncio.run(
        litellm.anthropic.messages.acreate(
            model="anthropic/sim-messages", max_tokens=99, messages=say(), api_base=URL, api_key=KEY
        )
    )
    same(answer["content"][0]["text"], SAID)


call("openai: responses", respond)
call("openai: responses, streamed", respond_streamed)
call("anthropic: messages", messages)
call("openai: embedding", lambda: same(len(litellm.embedding(model="openai/sim-embedding", input=[PROMPT, "winter"], **OPENAI).data), 2))


def draw(model, **more):
    answer = litellm.image_generation(model=f"openai/{model}", prompt=PROMPT, n=2, size="1024x1024", **more, **OPENAI)
    same(len(answer.data), 2)
    one = answer.data[0]
    assert base64.b64decode(one.b64_json) if one.b64_json else one.url.startswith(("http", "data:")), "an image"


def edit(model, masked):
    with open(PICTURE, "rb") as picture, open(MASK, "rb") as mask:
        more = {"mask": mask} if masked else {}
        answer = litellm.image_edit(model=f"openai/{model}", prompt=PROMPT, image=[picture], **more, **OPENAI)
    same(len(answer.data), 1)


for model in ("alpha-image-2", "beta-imagine-image"):
    call(f"openai: image_generation, {model}", lambda: draw(model))
    for form in ("url", "b64_json"):
        call(f"openai: image_generation, {model}, {form}", lambda: draw(model, response_format=form))
    call(f"openai: image_generation, {model}, quality", lambda: draw(model, quality="high"))
    call(f"openai: image_edit, {model}", lambda: edit(model, False))
    call(f"openai: image_edit with a mask, {model}", lambda: edit(model, True))


def speak():
    sound = litellm.speech(model="openai/sim-speech", voice="alloy", input=PROMPT, response_format="wav", **OPENAI)
    same(sound.content[:4], b"RIFF")


def listen():
    with open(SOUND, "rb") as sound:
        answer = litellm.transcription(model="openai/sim-transcription", file=sound, **OPENAI)
    assert answer.text.startswith("simulated transcript"), answer.text


call("openai: speech", speak)
call("openai: transcription", listen)
call(
    "cohere: rerank",
    lambda: same(
        len(litellm.rerank(model="cohere/sim-rerank", query="boat", documents=["a boat", "a cat"], api_base=URL, api_key=KEY).results),
        2,
    ),
)
