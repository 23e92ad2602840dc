import type { Adapter } from '../neutral/index.ts'
import { parseAnswer, parseProblem } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { MessagesStreamParser } from './parse-stream.ts'
import { writeAnswer } from './write-answer.ts'
import { carries, writeRequest } from './write-request.ts'
import { MessagesStreamWriter } from './write-stream.ts'

/** The format of messages. */
export const messages: Adapter = {
  operation: 'messages',
  says: {
    stop: 'stop_sequences',
    service_tier: 'service_tier',
    state: 'container',
    media: 'messages[].content[].source',
    media_link: 'messages[].content[].source.url',
    vendor_file: 'messages[].content[].source.file_id',
    hosted_tool: 'tools',
    web_search: 'tools',
    tool_search: 'tools',
    output_schema: 'output_config.format',
    tool_choice: 'tool_choice',
    parallel_calls: 'tool_choice.disable_parallel_tool_use',
    prefill: 'messages',
    result_media: 'messages[].content[].content',
    sampling: 'temperature',
    top_k: 'top_k',
    reasoning: 'thinking',
    thought: 'messages[].content[].thinking',
    cache_hint: 'cache_control',
    citations: 'messages[].content[].citations',
    media_name: 'messages[].content[].context',
    user: 'metadata.user_id',
  },
  carries,
  answersNoImages: true,
  writesCacheMarks: true,
  parseRequest,
  writeRequest,
  parseAnswer,
  writeAnswer,
  createStreamParser: facts => new MessagesStreamParser(facts),
  createStreamWriter: facts => new MessagesStreamWriter(facts),
  parseProblem,
}
