import { readFields, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptJson } from './perform.ts'
import { textOf } from './read.ts'
import { openaiStyle } from './styles.ts'

/** `POST /v1/moderations`: flags an input in each category whose name it contains. */
export const moderations = perform(openaiStyle, rehearse)

const categories = ['harassment', 'hate', 'illicit', 'self-harm', 'sexual', 'violence']

function rehearse(call: Call): Rehearsed {
  const fields = readFields(call)
  const model = readRequired(fields, 'model')
  const inputs = readInputs(fields.get('input'))
  const script = scriptJson({ id: 'modr-simulated', model, results: inputs.map(judge) })
  return { marks: readMarks(inputs[0] ?? ''), script }
}

/** Each text in a list of texts is judged alone; the texts in a list of texts and images are judged together. */
function readInputs(value: unknown): readonly string[] {
  const name = 'input'
  if (value === undefined) throw fail('missing_required_parameter', { name }, { param: name })
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.length > 0) {
    const texts = value.map(one => (typeof one === 'string' ? one : textOf(one)))
    return value.every(one => typeof one === 'string') ? texts : [texts.join('\n')]
  }
  throw fail('invalid_type', { name, expected: 'a text or a list', found: JSON.stringify(value) }, { param: name })
}

function judge(text: string): object {
  const found = categories.map(name => [name, text.toLowerCase().includes(name)] as const)
  return {
    flagged: found.some(([, held]) => held),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, held]) => [name, held ? 0.99 : 0.01])),
    category_applied_input_types: Object.fromEntries(found.map(([name, held]) => [name, held ? ['text'] : []])),
  }
}
