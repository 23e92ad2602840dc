import { randomUUID } from 'node:crypto'
import { readFields, readInteger, readRequired } from '../request-fields.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptJson } from './perform.ts'
import { countWords, listOf, readList } from './read.ts'
import { cohereStyle } from './styles.ts'
import { vectorOf } from './vectors.ts'

/** `POST /v2/embed`: vectors of texts. Each word counts as one token. */
export const embed = perform(cohereStyle, rehearse)

function rehearse(call: Call): Rehearsed {
  const fields = readFields(call)
  readRequired(fields, 'model')
  readRequired(fields, 'input_type')
  const texts = readList(fields, 'texts').map(String)
  const dimensions = readInteger(fields, 'output_dimension', { min: 1, max: 4096, otherwise: 256 })
  const types = listOf(fields.get('embedding_types') ?? ['float']).map(String)
  const vectors = texts.map(text => vectorOf(text, dimensions))
  const tokens = texts.reduce((sum, text) => sum + countWords(text), 0)
  const embeddings = Object.fromEntries(types.map(type => [type, vectors]))
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: tokens } }
  return { marks: readMarks(texts[0] ?? ''), script: scriptJson({ id: randomUUID(), texts, embeddings, meta }) }
}
