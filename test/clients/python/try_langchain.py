"""LangChain for Python: models of chat, structured answers, tools, embeddings."""

import anthropic
import openai
from kit import KEY, PROMPT, SAID, SPENT, URL, caller, raises, same
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, Field


class Step(BaseModel):
    text: str
    hot: bool


class Recipe(BaseModel):
    """A recipe."""

    name: str
    steps: list[Step]
    note: str | None


class Ranges(BaseModel):
    """How long, in how many steps."""

    minutes: int = Field(ge=5)
    steps: list[str] = Field(min_length=2)


@tool
def look_up(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


def call_chat(call, name, model, methods):
    def invoke():
        answer = model.invoke(PROMPT)
        same(answer.text, SAID)
        same(answer.usage_metadata["output_tokens"], 6)

    def stream():
        chunks = list(model.stream(PROMPT))
        same("".join(chunk.text for chunk in chunks), SAID)
        assert any((chunk.usage_metadata or {}).get("output_tokens") == 6 for chunk in chunks), "the usage is told"

    def bind():
        calls = model.bind_tools([look_up]).invoke("look_up Rome").tool_calls
        same(calls[0]["name"], "look_up")
        same(look_up.invoke(calls[0]).content, f"rain in {calls[0]['args']['city']}")

    call(f"{name}: invoke", invoke)
    call(f"{name}: stream", stream)
    call(f"{name}: batch", lambda: same(len(model.batch([PROMPT, PROMPT])), 2))
    call(f"{name}: bind_tools", bind)
    for method in methods:
        for kind in (Recipe, Ranges):

            def structure(kind=kind, method=method):
                found = model.with_structured_output(kind, method=method).invoke(PROMPT)
                assert isinstance(found, kind), found

            call(f"{name}: with_structured_output of {kind.__name__}, {method}", structure)


def try_openai():
    call = caller("langchain-openai")

    def connect(key, model="sim-chat", **more):
        return ChatOpenAI(api_key=key, model=model, base_url=URL + "/v1", max_retries=0, **more)

    call_chat(call, "chat", connect(KEY, stream_usage=True), ["json_schema", "function_calling"])
    call_chat(call, "responses", connect(KEY, use_responses_api=True), ["json_schema"])
    json_mode = connect(KEY).bind(response_format={"type": "json_object"})
    call("chat: response_format json_object", lambda: same(json_mode.invoke(PROMPT).text[0], "{"))
    for status, kind, key, model in (
        (401, openai.AuthenticationError, "sk-none", "sim-chat"),
        (404, openai.NotFoundError, KEY, "none"),
        (429, openai.RateLimitError, SPENT, "sim-chat"),
    ):
        call(f"chat: {status}", lambda kind=kind, key=key, model=model: raises(kind, lambda: connect(key, model).invoke("a")))
    embeddings = OpenAIEmbeddings(api_key=KEY, model="sim-embedding", base_url=URL + "/v1", check_embedding_ctx_length=False)
    call("embeddings: embed_query", lambda: same(len(embeddings.embed_query(PROMPT)), 256))
    call("embeddings: embed_documents", lambda: same(len(embeddings.embed_documents([PROMPT, "winter"])), 2))


def try_anthropic():
    call = caller("langchain-anthropic")

    def connect(key, model="sim-messages"):
        return ChatAnthropic(api_key=key, model=model, base_url=URL, max_retries=0, max_tokens=4096)

    call_chat(call, "messages", connect(KEY), ["function_calling", "json_schema"])
    call("messages: count_tokens", lambda: same(connect(KEY).get_num_tokens_from_messages([HumanMessage(PROMPT)]), 3))
    for status, kind, key, model in (
        (401, anthropic.AuthenticationError, "sk-none", "sim-messages"),
        (404, anthropic.NotFoundError, KEY, "none"),
        (429, anthropic.RateLimitError, SPENT, "sim-messages"),
    ):
        call(f"messages: {status}", lambda kind=kind, key=key, model=model: raises(kind, lambda: connect(key, model).invoke("a")))


try_openai()
try_anthropic()
