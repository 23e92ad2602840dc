import { randomUUID } from 'node:crypto'
import { readFields, readFlag, readInteger, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptJson } from './perform.ts'
import { countWords, readList, textOf } from './read.ts'
import { cohereStyle } from './styles.ts'
import { overlap } from './vectors.ts'

/** `POST /v1/rerank` (`docs/wire.md#rerank`): a body that clients of both kinds of rerankers can read. */
export const rerankV1 = perform(cohereStyle, call => rehearse(call, '1'))
/** `POST /v2/rerank`: documents are texts, and the response does not repeat them. */
export const rerankV2 = perform(cohereStyle, call => rehearse(call, '2'))

/** The number of documents in one search unit. */
const unitDocuments = 100

function rehearse(call: Call, version: '1' | '2'): Rehearsed {
  const fields = readFields(call)
  const model = readRequired(fields, 'model')
  const query = readRequired(fields, 'query')
  const documents = readList(fields, 'documents').map(one => readDocument(one, version))
  const top = readInteger(fields, 'top_n', { min: 1, max: 10_000, otherwise: documents.length })
  const withText = version === '1' && readFlag(fields, 'return_documents')
  const marks = readMarks(query)
  const results = documents
    .map((text, index) => ({ index, text, score: overlap(marks.text, text) }))
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, top)
    .map(({ index, text, score }) => ({ index, relevance_score: score, ...(withText && { document: { text } }) }))
  const tokens = countWords(query) + documents.reduce((sum, text) => sum + countWords(text), 0)
  const meta = {
    api_version: { version },
    billed_units: { search_units: Math.ceil(documents.length / unitDocuments) },
    tokens: { input_tokens: tokens, output_tokens: 0 },
  }
  const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens }
  return { marks, script: scriptJson({ id: randomUUID(), ...(version === '1' && { model, usage }), results, meta }) }
}

function readDocument(value: unknown, version: '1' | '2'): string {
  if (typeof value === 'string') return value
  const text = version === '1' ? textOf(value) : ''
  if (text !== '') return text
  const params = {
    name: 'documents',
    expected: version === '1' ? 'texts or objects with a text' : 'texts',
    found: typeof value,
  }
  throw fail('invalid_type', params, { param: 'documents' })
}
