import type { Adapter } from '../neutral/index.ts'
import { parseAnswer, parseProblem } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { ResponsesStreamParser } from './parse-stream.ts'
import { writeAnswer } from './write-answer.ts'
import { carries, writeRequest } from './write-request.ts'
import { ResponsesStreamWriter } from './write-stream.ts'

/** The format of `/v1/responses`. The gateway stores state or refuses it, so that upstreams get none. */
export const responses: Adapter = {
  operation: 'responses',
  hasState: true,
  says: {
    service_tier: 'service_tier',
    state: 'previous_response_id',
    media: 'input[].content[].input_audio',
    media_link: 'input[].content[].image_url',
    vendor_file: 'input[].content[].file_id',
    hosted_tool: 'tools[].type',
    web_search: 'tools[].type',
    tool_search: 'tools[].type',
    output_schema: 'text.format',
    json_output: 'text.format',
    tool_choice: 'tool_choice',
    parallel_calls: 'parallel_tool_calls',
    logprobs: 'top_logprobs',
    result_media: 'input[].output',
    sampling: 'temperature',
    verbosity: 'text.verbosity',
    reasoning: 'reasoning',
    thought: 'input[].encrypted_content',
    cache_key: 'prompt_cache_key',
    detail: 'input[].content[].detail',
    media_name: 'input[].content[].filename',
    grammar: 'tools[].format',
    user: 'safety_identifier',
    metadata: 'metadata',
  },
  carries,
  parseRequest,
  writeRequest,
  parseAnswer,
  writeAnswer,
  createStreamParser: facts => new ResponsesStreamParser(facts),
  createStreamWriter: facts => new ResponsesStreamWriter(facts),
  parseProblem,
}
