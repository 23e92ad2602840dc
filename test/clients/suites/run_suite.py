"""The test suite of an SDK against the gateway, as far as it needs a server; one JSON line for each test.

The suites are made for a mock server that answers from a specification and reads nothing of what it is sent. Two things
differ here, and nothing else: the key is a real one, and samples that a server reads as pictures are pictures.
"""

import importlib.metadata
import json
import os
import pathlib
import sys
import tarfile

import pytest

URL = os.environ["GATEWAY_URL"]
SUITES = {
    "openai": {
        "base": URL + "/v1",
        "files": [
            "test_images.py",
            "test_embeddings.py",
            "test_models.py",
            "test_responses.py",
            "chat/test_completions.py",
            "audio/test_speech.py",
            "audio/test_transcriptions.py",
        ],
        "pictures": ["test_images.py"],
    },
    "anthropic": {"base": URL, "files": ["test_messages.py", "test_models.py"], "pictures": []},
}
PICTURE = '__import__("pathlib").Path(__import__("os").environ["GATEWAY_PICTURE"]).read_bytes()'


def unpack(name):
    """The tests of the package's source; where they are."""
    version = importlib.metadata.version(name)
    with tarfile.open(f"sources/{name}-{version}.tar.gz") as source:
        source.extractall("sources", filter="data")
    return version, pathlib.Path("sources") / f"{name}-{version}"


class Teller:
    def __init__(self, client, version):
        self.about = {"client": client, "version": version}

    def pytest_collection_finish(self, session):
        for name, module in sys.modules.items():
            if name.endswith("conftest") and hasattr(module, "api_key"):
                module.api_key = os.environ["GATEWAY_KEY"]

    def pytest_runtest_logreport(self, report):
        call = report.nodeid.split("api_resources/")[-1]
        if report.when == "call" and report.passed:
            self.tell(call=call, ok=True)
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.tell(call=call, ok=False, error=(crash.message if crash else str(report.longrepr))[:2000])
        elif report.skipped:
            self.tell(call=call, ok=False, skipped=True)

    def tell(self, **line):
        # The terminal's own output goes elsewhere: a program parses this output.
        os.write(TOLD, (json.dumps({**self.about, **line}) + "\n").encode())


client = sys.argv[1]
suite = SUITES[client]
version, folder = unpack(client)
os.environ["TEST_API_BASE_URL"] = suite["base"]
os.chdir(folder)
resources = pathlib.Path("tests/api_resources")
for file in suite["pictures"]:
    text = (resources / file).read_text()
    (resources / file).write_text(text.replace('b"Example data"', PICTURE))

TOLD = os.dup(1)
os.dup2(2, 1)
files = [str(resources / file) for file in suite["files"]]
options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "--tb=short", "--capture=no"]
code = pytest.main([*options, *files], plugins=[Teller(f"{client}-python's suite", version)])
# Failed tests are reported; any other exit status than success is this program's failure.
sys.exit(0 if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else int(code))
