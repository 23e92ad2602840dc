import type { Adapter } from '../neutral/index.ts'
import { parseAnswer, parseProblem } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { ChatStreamParser } from './parse-stream.ts'
import { writeAnswer } from './write-answer.ts'
import { carries, writeRequest } from './write-request.ts'
import { ChatStreamWriter } from './write-stream.ts'

/** The format of chat completions. */
export const chat: Adapter = {
  operation: 'chat',
  says: {
    n: 'n',
    stop: 'stop',
    service_tier: 'service_tier',
    state: 'store',
    media: 'messages[].content[].input_audio',
    media_link: 'messages[].content[].image_url',
    vendor_file: 'messages[].content[].file.file_id',
    output_modality: 'modalities',
    hosted_tool: 'web_search_options',
    output_schema: 'response_format',
    json_output: 'response_format',
    tool_choice: 'tool_choice',
    parallel_calls: 'parallel_tool_calls',
    logprobs: 'logprobs',
    sampling: 'temperature',
    seed: 'seed',
    penalties: 'presence_penalty',
    logit_bias: 'logit_bias',
    verbosity: 'verbosity',
    reasoning: 'reasoning_effort',
    cache_key: 'prompt_cache_key',
    detail: 'messages[].content[].image_url.detail',
    speaker_name: 'messages[].name',
    grammar: 'tools[].custom.format',
    metadata: 'metadata',
    user: 'user',
  },
  carries,
  parseRequest,
  writeRequest,
  parseAnswer,
  writeAnswer,
  createStreamParser: facts => new ChatStreamParser(facts),
  createStreamWriter: facts => new ChatStreamWriter(facts),
  parseProblem,
}
