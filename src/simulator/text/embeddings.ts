import { readChoice, readFields, readInteger, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptJson } from './perform.ts'
import { countWords } from './read.ts'
import { openaiStyle } from './styles.ts'
import { vectorOf } from './vectors.ts'

/** `POST /v1/embeddings` (`docs/wire.md#usage`): embeds texts or lists of tokens, one or several. */
export const embeddings = perform(openaiStyle, rehearse)

const inputsMax = 2048

function rehearse(call: Call): Rehearsed {
  const fields = readFields(call)
  const model = readRequired(fields, 'model')
  const inputs = readInputs(fields.get('input'))
  const format = readChoice(fields, 'encoding_format', ['float', 'base64'], 'float')
  const dimensions = readInteger(fields, 'dimensions', { min: 1, max: 4096, otherwise: 256 })
  const marks = readMarks(inputs[0]?.text ?? '')
  const data = inputs.map(({ text }, index) => {
    const vector = vectorOf(text, dimensions)
    return { object: 'embedding', index, embedding: format === 'float' ? vector : toBase64(vector) }
  })
  const tokens = inputs.reduce((sum, input) => sum + input.tokens, 0)
  return {
    marks,
    script: scriptJson({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  }
}

type Input = { readonly text: string; readonly tokens: number }

function readInputs(value: unknown): readonly Input[] {
  const name = 'input'
  if (value === undefined) throw fail('missing_required_parameter', { name }, { param: name })
  const many = Array.isArray(value) && typeof value[0] !== 'number' ? (value as unknown[]) : [value]
  if (many.length === 0 || many.length > inputsMax) {
    const params = { name, found: `${many.length} inputs`, expected: `1 to ${inputsMax} inputs` }
    throw fail('invalid_value', params, { param: name })
  }
  return many.map(readInput)
}

function readInput(value: unknown): Input {
  if (typeof value === 'string' && value !== '') return { text: value, tokens: countWords(value) }
  if (Array.isArray(value) && value.length > 0 && value.every(one => Number.isInteger(one)))
    return { text: value.join(' '), tokens: value.length }
  const params = { name: 'input', expected: 'a text or an array of tokens', found: JSON.stringify(value) }
  throw fail('invalid_type', params, { param: 'input' })
}

/** 32-bit floats, little-endian. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4)
  return bytes.toString('base64')
}
