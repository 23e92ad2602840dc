import { randomUUID } from 'node:crypto'
import { readFields, readFlag, readInteger } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptEvents, scriptJson, writeRecord } from './perform.ts'
import { writeProse } from './prose.ts'
import { countWords, shapeOf } from './read.ts'
import { openaiStyle } from './styles.ts'

/** `POST /v1/completions`: continues the prompt. */
export const completions = perform(openaiStyle, rehearse)

function rehearse(call: Call): Rehearsed {
  const fields = readFields(call)
  const prompt = fields.get('prompt')
  const prompts = (Array.isArray(prompt) ? prompt : [prompt]).map(String)
  if (prompt === undefined) throw fail('missing_required_parameter', { name: 'prompt' }, { param: 'prompt' })
  const marks = readMarks(prompts.at(-1) ?? '')
  const wordsMax = readInteger(fields, 'max_tokens', { min: 1, max: 999_999_999, otherwise: 16 })
  const written = prompts.map((_, i) => writeProse(marks, i, wordsMax))
  const input = prompts.reduce((sum, prompt) => sum + countWords(prompt), 0)
  const output = written.reduce((sum, { words }) => sum + words.length, 0)
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  const created = Math.floor(call.site.now() / 1000)
  const one = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created, model: fields.get('model') }
  const endOf = (truncated: boolean): string => (truncated ? 'length' : 'stop')
  if (!readFlag(fields, 'stream')) {
    const choices = written.map(({ text, truncated }, index) => ({ index, text, finish_reason: endOf(truncated) }))
    return { marks, script: scriptJson({ ...one, choices, usage }) }
  }
  const chunks = written.flatMap(({ words, truncated }, index) =>
    words.map((text, i) => {
      const isLast = i === words.length - 1
      return { ...one, choices: [{ index, text, finish_reason: isLast ? endOf(truncated) : null }] }
    }),
  )
  const wantsUsage = shapeOf(fields.get('stream_options'))['include_usage'] === true
  const all = wantsUsage ? [...chunks, { ...one, choices: [], usage }] : chunks
  return { marks, script: scriptEvents([...all.map(writeRecord), 'data: [DONE]\n\n']) }
}
