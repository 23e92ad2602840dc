"""Reads requests as JSON, and writes what LiteLLM's completion_cost says that each costs; a text where it raises."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

litellm.suppress_debug_info = True


def cost(one):
    usage = litellm.Usage(**one["usage"])
    response = litellm.ModelResponse(model=one["model"], usage=usage)
    try:
        return litellm.completion_cost(
            completion_response=response,
            model=one["model"],
            custom_llm_provider=one["provider"],
            service_tier=one["tier"],
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


json.dump([cost(one) for one in json.load(sys.stdin)], sys.stdout)
