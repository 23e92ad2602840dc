import type { Json } from '../../../src/plugin-api/index.ts'
import { camelCased, repeated } from '../generate/fields.ts'
import { parseProblem } from '../generate/parse-answer.ts'
import {
  AnswerFault,
  asNumber,
  asObject,
  asText,
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

const known = new Set(['model', 'content', 'taskType', 'title', 'outputDimensionality'])

/** `embedContent`, and `batchEmbedContents` for several texts. */
export const google: EmbeddingFormat = {
  operation: 'generate.embed',
  says: { embedding_task: 'taskType', media: 'content.parts' },
  carries: new Set(),
  mayLackUsage: true,
  parseRequest(body) {
    const own = camelCased(body)
    return own['requests'] === undefined ? parseOne(own, '') : parseList(own['requests'])
  },
  writeRequest(request, model) {
    const ones = request.texts.map(text => writeOne(text, request.dimensions))
    const [only] = ones
    if (only !== undefined && isSingle(request)) return only
    return { requests: ones.map(one => ({ model: `models/${model}`, ...one })) }
  },
  path: request => (isSingle(request) ? ':embedContent' : ':batchEmbedContents'),
  parseAnswer(body) {
    const one = valueAt(body, 'embedding')
    const all = isAbsent(one) ? valueAt(body, 'embeddings') : [one]
    if (!Array.isArray(all)) throw new AnswerFault('it has no embeddings')
    return {
      vectors: (all as readonly Json[]).map(each => numbersOf(valueAt(each, 'values'))),
      inputTokens: asNumber(valueAt(body, 'usageMetadata', 'promptTokenCount')),
    }
  },
  writeAnswer({ vectors }, { request }) {
    const all = vectors.map(values => ({ values }))
    return request.isList ? { embeddings: all } : { embedding: all[0] ?? { values: [] } }
  },
  parseProblem,
}

function isSingle({ texts }: EmbeddingRequest): boolean {
  return texts.length === 1
}

function writeOne(text: string, dimensions: number | undefined): JsonObject {
  return compact({ content: { parts: [{ text }] }, outputDimensionality: dimensions })
}

function parseList(value: Json): EmbeddingRequest {
  const all = (repeated(value) ?? []).map((one, i) => parseOne(camelCased(one), `requests[${i}].`))
  const [first] = all
  if (!first) throw new RequestFault('requests', 'a list of requests')
  // A request in the other format has one number of dimensions.
  const odd = all.findIndex(({ dimensions }) => dimensions !== first.dimensions)
  if (odd !== -1) throw new RequestFault(`requests[${odd}].outputDimensionality`, 'the same value in all requests')
  return {
    ...first,
    texts: all.flatMap(({ texts }) => texts),
    isList: true,
    losses: all.flatMap(({ losses }) => losses),
  }
}

function parseOne(own: JsonObject, place: string): EmbeddingRequest {
  const content = asObject(own['content'])
  const parts = repeated(content?.['parts']) ?? []
  if (parts.length === 0) throw new RequestFault(`${place}content`, 'a content with parts')
  const losses: Loss[] = unknownFields(own, known).map(name => ({ feature: 'unknown_field', field: place + name }))
  for (const name of ['taskType', 'title'])
    if (!isAbsent(own[name])) losses.push({ feature: 'embedding_task', field: place + name })
  const texts = parts.map(part => asText(valueAt(part, 'text')))
  if (texts.includes(undefined)) losses.push({ feature: 'media', field: `${place}content.parts` })
  // All parts of one content get one vector.
  return {
    texts: [texts.join('')],
    dimensions: readDimensions(own['outputDimensionality'], `${place}outputDimensionality`),
    isList: false,
    encoding: 'float',
    losses,
  }
}
