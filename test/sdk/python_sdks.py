"""The Python SDKs against a running gateway; one JSON line for each check.

Started by `npm run test:python`, which sets GATEWAY_URL, GATEWAY_KEY, GATEWAY_SPENT_KEY (a key whose one request a
minute is spent) and GATEWAY_PICTURE (a PNG file).
"""

import io
import json
import os
import sys
import traceback

import anthropic
import openai
from google import genai
from google.genai import errors as genai_errors

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
SPENT = os.environ["GATEWAY_SPENT_KEY"]
PICTURE = os.environ["GATEWAY_PICTURE"]
SAID = "simulated answer to: a red boat"


def tell(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


checks = []


def check(run):
    """Notes a check; its docstring is its title."""
    checks.append(run)
    return run


def raises(kind, run):
    """What `run` raises; fails when it raises nothing, or something else."""
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"nothing was raised, but {kind.__name__} was expected")


def connect_openai(key=KEY, base=URL + "/v1"):
    return openai.OpenAI(api_key=key, base_url=base, max_retries=0)


def connect_anthropic(key=KEY, base=URL):
    return anthropic.Anthropic(api_key=key, base_url=base, max_retries=0)


connected = []


def connect_genai(key=KEY, base=URL, version="v1beta"):
    client = genai.Client(api_key=key, http_options={"base_url": base, "api_version": version})
    # This SDK closes a client without references, even while its `models` are in use.
    connected.append(client)
    return client


def say(text):
    return [{"role": "user", "content": text}]


@check
def openai_chat():
    """openai: chat completions, whole and streamed, with /v1 in the base address and without"""
    for base in (URL + "/v1", URL, URL + "/v1/v1"):
        client = connect_openai(base=base)
        answer = client.chat.completions.create(model="sim-chat", messages=say("a red boat"))
        assert answer.choices[0].message.content == SAID
        assert answer.usage.total_tokens == 9
        assert answer._request_id.startswith("req_")
        chunks = list(client.chat.completions.create(model="sim-chat", messages=say("a red boat"), stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SAID
        counted = list(
            client.chat.completions.create(
                model="sim-chat", messages=say("a red boat"), stream=True, stream_options={"include_usage": True}
            )
        )
        assert counted[-1].choices == [] and counted[-1].usage.total_tokens == 9


@check
def openai_responses():
    """openai: responses, whole and streamed"""
    client = connect_openai()
    assert client.responses.create(model="sim-chat", input="a red boat").output_text == SAID
    events = list(client.responses.create(model="sim-chat", input="a red boat", stream=True))
    assert events[-1].type == "response.completed" and events[-1].response.usage.total_tokens == 9
    with client.responses.stream(model="sim-chat", input="a red boat") as stream:
        stream.until_done()
        assert stream.get_final_response().output_text == SAID


@check
def openai_embeddings():
    """openai: embeddings"""
    client = connect_openai()
    answer = client.embeddings.create(model="sim-embedding", input=["a red boat", "winter"], dimensions=40)
    floats = client.embeddings.create(
        model="sim-embedding", input=["a red boat", "winter"], dimensions=40, encoding_format="float"
    )
    assert [len(one.embedding) for one in answer.data] == [40, 40]
    assert answer.data[0].embedding == floats.data[0].embedding


@check
def openai_audio():
    """openai: speech and transcriptions"""
    client = connect_openai()
    speech = client.audio.speech.create(model="sim-speech", voice="alloy", input="a red boat", response_format="wav")
    sound = speech.read()
    assert sound[:4] == b"RIFF"
    text = "simulated transcript of 0.36 seconds of sound"
    named = ("a.wav", sound)
    assert client.audio.transcriptions.create(model="sim-transcription", file=named).text == text
    plain = client.audio.transcriptions.create(model="sim-transcription", file=named, response_format="text")
    assert plain.strip() == text
    events = list(client.audio.transcriptions.create(model="sim-transcription", file=named, stream=True))
    assert events[-1].type == "transcript.text.done" and events[-1].text == text


@check
def openai_images():
    """openai: images, generated, edited and streamed"""
    client = connect_openai()
    assert client.images.generate(model="alpha-image-2", prompt="a boat").data[0].b64_json
    assert client.images.generate(model="beta-imagine-image", prompt="a boat").data[0].url.startswith("http")
    with open(PICTURE, "rb") as first, open(PICTURE, "rb") as second:
        assert client.images.edit(model="alpha-image-2", prompt="a boat", image=[first, second]).data[0].b64_json
    with open(PICTURE, "rb") as picture:
        assert client.images.edit(model="beta-imagine-image", prompt="a boat", image=picture).data[0].url
    events = list(client.images.generate(model="alpha-image-2", prompt="a boat", stream=True, partial_images=1))
    assert [event.type for event in events] == ["image_generation.partial_image", "image_generation.completed"]


@check
def openai_models():
    """openai: models"""
    client = connect_openai()
    assert "sim-chat" in [one.id for one in client.models.list()]
    assert client.models.retrieve("vendor/sim-chat").id == "vendor/sim-chat"


@check
def openai_errors():
    """openai: every refusal is raised as its own class"""

    def ask(text, key=KEY, model="sim-chat"):
        return lambda: connect_openai(key).chat.completions.create(model=model, messages=say(text))

    for run, kind, status in (
        (ask("a", key="sk-none"), openai.AuthenticationError, 401),
        (ask("a", model="none"), openai.NotFoundError, 404),
        (ask("a", key=SPENT), openai.RateLimitError, 429),
        (ask("[[status 500]]"), openai.InternalServerError, 500),
        (ask("[[status 429 7]]"), openai.RateLimitError, 429),
        (ask("x" * 2 * 1024 * 1024), openai.APIStatusError, 413),
        (ask("[[cut]]"), openai.APIConnectionError, None),
    ):
        error = raises(kind, run) if status else raises(openai.APIError, run)
        if status:
            assert error.status_code == status and error.request_id.startswith("req_"), error
        if status == 429:
            assert int(error.response.headers["retry-after"]) >= 1


@check
def openai_broken_streams():
    """openai: a stream that the upstream cuts is raised"""
    client = connect_openai()
    raises(
        openai.APIError,
        lambda: list(client.chat.completions.create(model="sim-chat", messages=say("a boat [[cut]]"), stream=True)),
    )
    raises(
        openai.APIError, lambda: list(client.responses.create(model="sim-chat", input="a boat [[cut]]", stream=True))
    )


@check
def openai_realtime():
    """openai: a realtime session of three turns, and the usage of each is told"""
    client = connect_openai()
    turns = []
    with client.realtime.connect(model="sim-realtime") as session:
        assert session.recv().type == "session.created"
        session.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        for text in ("a red boat", "and again", "the last one"):
            session.conversation.item.create(
                item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            )
            session.response.create()
            for event in session:
                assert event.type != "error", event
                if event.type == "response.done":
                    break
            assert event.response.status == "completed", event.response
            assert event.response.usage.output_tokens > 0
            usage = event.response.usage
            turns.append([usage.input_tokens, usage.input_token_details.cached_tokens or 0, usage.output_tokens])
    tell(title="realtime turns", ok=True, turns=turns, version=openai.__version__)


@check
def openai_realtime_refused():
    """openai: a realtime session with an unknown key, or a model that is not there, is refused"""
    for key, model in (("sk-none", "sim-realtime"), (KEY, "none")):

        def open_it():
            with connect_openai(key).realtime.connect(model=model) as session:
                session.recv()

        error = raises(Exception, open_it)
        assert "401" in str(error) or "404" in str(error), error


def order(text):
    return {"model": "sim-messages", "max_tokens": 99, "messages": say(text)}


@check
def anthropic_messages():
    """anthropic: messages, whole and streamed, and their count, with /v1 in the base address and without"""
    for base in (URL, URL + "/v1"):
        client = connect_anthropic(base=base)
        answer = client.messages.create(**order("a red boat"))
        assert answer.content[0].text == SAID and answer.usage.output_tokens == 6
        assert answer._request_id.startswith("req_")
        events = list(client.messages.create(**order("a red boat"), stream=True))
        assert events[0].type == "message_start" and events[-1].type == "message_stop"
        with client.messages.stream(**order("a red boat")) as stream:
            assert "".join(stream.text_stream) == SAID
        assert client.messages.count_tokens(model="sim-messages", messages=say("a red boat")).input_tokens == 3


@check
def anthropic_tools():
    """anthropic: a tool"""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    answer = connect_anthropic().messages.create(
        **order("look_up Rome"), tools=[{"name": "look_up", "input_schema": schema}]
    )
    assert answer.stop_reason == "tool_use" and answer.content[0].input == {"city": "look_up Rome"}


@check
def anthropic_models():
    """anthropic: models, page by page"""
    client = connect_anthropic()
    ids = [one.id for one in client.models.list(limit=2)]
    assert "sim-messages" in ids and len(set(ids)) == len(ids)
    assert client.models.retrieve("sim-messages").id == "sim-messages"


@check
def anthropic_errors():
    """anthropic: every refusal is raised as its own class, and a stream that the upstream cuts"""
    wrong = dict(order("a"), messages="none")
    for run, kind, status in (
        (lambda: connect_anthropic("sk-none").messages.create(**order("a")), anthropic.AuthenticationError, 401),
        (lambda: connect_anthropic().messages.create(**dict(order("a"), model="none")), anthropic.NotFoundError, 404),
        (lambda: connect_anthropic(SPENT).messages.create(**order("a")), anthropic.RateLimitError, 429),
        (lambda: connect_anthropic().messages.create(**wrong), anthropic.BadRequestError, 400),
        (lambda: connect_anthropic().messages.create(**order("[[status 500]]")), anthropic.InternalServerError, 500),
    ):
        error = raises(kind, run)
        assert error.status_code == status and error.request_id.startswith("req_"), error
    client = connect_anthropic()
    raises(anthropic.APIError, lambda: list(client.messages.create(**order("a boat [[cut]]"), stream=True)))


@check
def genai_content():
    """google-genai: content, whole and streamed, tokens and embeddings, under every address"""
    for base in (URL, URL + "/v1"):
        for version in ("v1beta", "v1"):
            models = connect_genai(base=base, version=version).models
            answer = models.generate_content(model="sim-generative", contents="a red boat")
            assert answer.text == SAID and answer.usage_metadata.total_token_count == 9
            chunks = list(models.generate_content_stream(model="sim-generative", contents="a red boat"))
            assert "".join(chunk.text or "" for chunk in chunks) == SAID
            assert models.count_tokens(model="sim-generative", contents="a red boat").total_tokens == 3
            embedded = models.embed_content(model="sim-generative", contents=["a red boat", "winter"])
            assert len(embedded.embeddings) == 2
            assert "models/sim-generative" in [one.name for one in models.list()]
            assert models.get(model="sim-generative").name == "models/sim-generative"


@check
def genai_errors_raised():
    """google-genai: every refusal is raised, and a stream that the upstream cuts"""

    def ask(text, key=KEY, model="sim-generative"):
        return lambda: connect_genai(key).models.generate_content(model=model, contents=text)

    for run, kind, status in (
        (ask("a", key="sk-none"), genai_errors.ClientError, 401),
        (ask("a", model="none"), genai_errors.ClientError, 404),
        (ask("a", key=SPENT), genai_errors.ClientError, 429),
        (ask("[[status 500]]"), genai_errors.ServerError, 500),
    ):
        assert raises(kind, run).code == status
    models = connect_genai().models
    cut = "a red boat [[cut]]"
    raises(
        genai_errors.APIError, lambda: list(models.generate_content_stream(model="sim-generative", contents=cut))
    )


for run in checks:
    try:
        run()
        tell(title=run.__doc__, ok=True)
    except BaseException:  # noqa: BLE001 - whatever went wrong is told, and the next check runs
        out = io.StringIO()
        traceback.print_exc(file=out)
        tell(title=run.__doc__, ok=False, trace=out.getvalue())
