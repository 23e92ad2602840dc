import type { Json } from '../../../src/plugin-api/index.ts'
import { parseProblem } from '../chat/parse-answer.ts'
import {
  AnswerFault,
  asList,
  asNumber,
  compact,
  isAbsent,
  type JsonObject,
  type Loss,
  RequestFault,
  unknownFields,
  valueAt,
} from '../neutral/index.ts'
import type { EmbeddingFormat, EmbeddingRequest } from './format.ts'
import { numbersOf, readDimensions } from './vectors.ts'

const known = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user'])

/** `POST /v1/embeddings`. */
export const openai: EmbeddingFormat = {
  operation: 'embeddings',
  says: { token_ids: 'input', user: 'user' },
  carries: new Set(),
  parseRequest,
  writeRequest: ({ texts, dimensions }, model) =>
    compact({ model, input: texts, dimensions, encoding_format: 'float' }),
  parseAnswer(body) {
    const rows = valueAt(body, 'data')
    if (!Array.isArray(rows)) throw new AnswerFault('it has no list of embeddings')
    // Some vendors return them in the order of completion.
    const sorted = (rows as readonly Json[])
      .map((row, i) => ({ at: asNumber(valueAt(row, 'index')) ?? i, vector: numbersOf(valueAt(row, 'embedding')) }))
      .toSorted((one, other) => one.at - other.at)
    return {
      vectors: sorted.map(({ vector }) => vector),
      inputTokens: asNumber(valueAt(body, 'usage', 'prompt_tokens')),
    }
  },
  writeAnswer({ vectors, inputTokens }, { request, model, inputEstimate }) {
    const tokens = inputTokens ?? inputEstimate
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding:
          request.encoding === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector,
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  },
  parseProblem,
}

function parseRequest(body: JsonObject): EmbeddingRequest {
  const { input, encoding_format: encoding } = body
  const isList = Array.isArray(input)
  const items = isList ? asList(input) : [input ?? null]
  const texts = items.filter(item => typeof item === 'string')
  const losses: Loss[] = unknownFields(body, known).map(field => ({ feature: 'unknown_field', field }))
  if (!isAbsent(body['user'])) losses.push({ feature: 'user' })
  // Numbers are tokens in the vendor's own vocabulary, alone or in lists.
  if (texts.length < items.length) {
    if (!items.every(item => typeof item === 'number' || Array.isArray(item)))
      throw new RequestFault('input', 'a text or a list of texts')
    losses.push({ feature: 'token_ids' })
  }
  if (items.length === 0) throw new RequestFault('input', 'at least one text')
  const dimensions = readDimensions(body['dimensions'], 'dimensions')
  if (!isAbsent(encoding) && encoding !== 'float' && encoding !== 'base64')
    throw new RequestFault('encoding_format', 'float or base64')
  return {
    texts,
    dimensions,
    isList,
    encoding: encoding === 'base64' ? 'base64' : 'float',
    losses,
  }
}
