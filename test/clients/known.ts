import type { Known } from './results.ts'

const openaiSuite = "openai-python's suite"
const anthropicSuite = "anthropic-python's suite"

/** Every reviewed failure, and why it is not the gateway's fault. The first match counts. */
export const known: readonly Known[] = [
  {
    client: '@ai-sdk/openai',
    call: /^images: generateImage of an image, beta-imagine-image$/,
    error: /b64_json/,
    fault: 'not offered',
    why: 'it takes base64 alone, and an edit of this family always answers with a link',
  },
  {
    client: '@ai-sdk/openai-compatible',
    call: /^images: generateImage(?: of an image)?, beta-imagine-image$/,
    error: /URL with IP address 127\.0\.0\.1 is not allowed/,
    fault: 'client',
    why: 'it downloads the link, and refuses links to this machine, where the simulated upstream is',
  },
  {
    client: '@langchain/anthropic',
    call: /^messages: withStructuredOutput of a choice, jsonSchema$/,
    error: /expected one of/,
    fault: 'client',
    why: 'it moves enum out of the schema that it sends into a description, and then holds the answer against it',
  },
  {
    client: 'langchain-anthropic',
    call: /^messages: with_structured_output of Ranges, json_schema$/,
    error: /greater than or equal to 5/,
    fault: 'client',
    why: 'it moves ranges out of the schema that it sends into a description, and then holds the answer against them',
  },
  {
    client: 'litellm',
    call: /^openai: image_generation, .*, (?:url|b64_json)$/,
    error: /UnsupportedParamsError: .*response_format/,
    fault: 'client',
    why: 'it sends no response_format for models whose names it does not know, and refuses the call itself',
  },
  {
    client: 'litellm',
    call: /^gemini(?: without a version)?: completion with response_format$/,
    error: /Invalid JSON|Field required/,
    fault: 'client',
    why: 'it sends no schema for models whose names it does not know, but asks for one in the prompt',
  },
  {
    client: openaiSuite,
    call: /^test_(?:images|responses)\.py/,
    error: /Missing required parameter: 'model'/,
    fault: 'not offered',
    why: 'the request names no model, and a gateway to many has none of its own',
  },
  {
    client: openaiSuite,
    call: /^test_images\.py/,
    error: /response_format url cannot be combined with stream/,
    fault: 'not offered',
    why: 'a link in a stream: events carry the bytes',
  },
  {
    client: openaiSuite,
    call: /^test_images\.py.*create_variation/,
    error: /Unknown URL: POST \/v1\/images\/variations/,
    fault: 'not offered',
    why: 'variations of images',
  },
  {
    client: openaiSuite,
    call: /^test_responses\.py/,
    error: /The response 'resp_[^']+' does not exist for this key/,
    fault: 'client',
    why: 'it names a response that nothing has made: a key reaches only what it made',
  },
  {
    client: openaiSuite,
    call: /^chat\/test_completions\.py/,
    error: /\/v1\/chat\/completions does not support GET|Unknown URL: (?:GET|POST|DELETE) \/v1\/chat\/completions\//,
    fault: 'not offered',
    why: 'chat completions that are kept by an upstream: list, retrieve, update, delete',
  },
  {
    client: openaiSuite,
    call: /^test_models\.py.*delete/,
    error: /does not support DELETE/,
    fault: 'not offered',
    why: 'a model cannot be deleted by a caller',
  },
  {
    client: openaiSuite,
    call: /^(?:chat\/test_completions|test_responses)\.py.*create_with_all_params/,
    error: /The model 'model' does not exist/,
    fault: 'client',
    why: 'the sample names a second model, which nothing offers',
  },
  {
    client: openaiSuite,
    call: /^test_embeddings\.py/,
    error: /invalid for expected schema/,
    fault: 'client',
    why: 'it asks for base64 by itself, and its strict mode takes floats alone before it has decoded them',
  },
  {
    client: anthropicSuite,
    call: /^test_messages\.py.*create_with_all_params/,
    error: /The container 'id' does not exist for this key/,
    fault: 'client',
    why: 'it names a container that nothing has made',
  },
  {
    client: anthropicSuite,
    call: /^test_messages\.py.*test_deprecated_model_warning/,
    error: /The model 'claude-[^']+' does not exist/,
    fault: 'not offered',
    why: 'it asks for every retired model of its vendor by name',
  },
]
