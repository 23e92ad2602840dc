import type { Adapter } from '../neutral/index.ts'
import { parseAnswer, parseProblem } from './parse-answer.ts'
import { parseRequest } from './parse-request.ts'
import { GenerateStreamParser } from './parse-stream.ts'
import { writeAnswer } from './write-answer.ts'
import { carries, writeRequest } from './write-request.ts'
import { GenerateStreamWriter } from './write-stream.ts'

/** The format of `generateContent` and `streamGenerateContent`. */
export const generate: Adapter = {
  operation: 'generate',
  says: {
    n: 'generationConfig.candidateCount',
    stop: 'generationConfig.stopSequences',
    service_tier: 'serviceTier',
    media: 'contents[].parts[].inlineData',
    media_link: 'contents[].parts[].fileData',
    output_modality: 'generationConfig.responseModalities',
    hosted_tool: 'tools[].googleSearch',
    web_search: 'tools[].googleSearch',
    output_schema: 'generationConfig.responseJsonSchema',
    json_output: 'generationConfig.responseMimeType',
    tool_choice: 'toolConfig.functionCallingConfig',
    logprobs: 'generationConfig.responseLogprobs',
    cached_content: 'cachedContent',
    result_media: 'contents[].parts[].functionResponse.parts',
    sampling: 'generationConfig.temperature',
    top_k: 'generationConfig.topK',
    seed: 'generationConfig.seed',
    penalties: 'generationConfig.presencePenalty',
    reasoning: 'generationConfig.thinkingConfig',
    thought: 'contents[].parts[].thought',
    detail: 'generationConfig.mediaResolution',
    safety: 'safetySettings',
    metadata: 'labels',
  },
  carries,
  parseRequest,
  writeRequest,
  // Without this parameter, a stream is one list.
  query: stream => (stream ? 'alt=sse' : ''),
  parseAnswer,
  writeAnswer,
  createStreamParser: facts => new GenerateStreamParser(facts),
  createStreamWriter: facts => new GenerateStreamWriter(facts),
  parseProblem,
}
