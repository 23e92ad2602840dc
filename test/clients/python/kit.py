"""What the programs share: the gateway's address, and a line of JSON for each call."""

import importlib.metadata
import json
import os
import sys

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
SPENT = os.environ["GATEWAY_SPENT_KEY"]
PICTURE = os.environ["GATEWAY_PICTURE"]
MASK = os.environ["GATEWAY_MASK"]
SOUND = os.environ["GATEWAY_SOUND"]
PROMPT = "a red boat"
SAID = "simulated answer to: a red boat"


def caller(client):
    """A function that makes a call with one client, and tells it. `client` is the package's name."""
    version = importlib.metadata.version(client)

    def call(name, run):
        line = {"client": client, "version": version, "call": name, "ok": True}
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is told, and the next call is made
            line.update(ok=False, error=f"{type(error).__name__}: {error}"[:2000])
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    return call


def same(found, wanted):
    assert found == wanted, f"expected {wanted!r} but got {found!r}"


def raises(kind, run):
    """What `run` raises. Fails when it raises nothing, or something else."""
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"nothing was raised, but {kind.__name__} was expected")
