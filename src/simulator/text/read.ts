import type { Fields } from '../request-fields.ts'
import { fail } from '../errors.ts'
import { type Members as Shape, membersOf as shapeOf } from '../../util/index.ts'

export { type Shape, shapeOf }

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The text of a message in any style: of strings and of nested parts, joined with blanks. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join(' ')
  const { text, content, parts, output, functionResponse } = shapeOf(value)
  // The result of a function is an object with the client's own members.
  const given = Object.values(shapeOf(shapeOf(functionResponse)['response']))
  return [text, content, parts, output, given].map(one => (one === undefined ? '' : textOf(one))).find(Boolean) ?? ''
}

const fromModel = /^(?:assistant|model)$/
const typeFromModel = /_call$|^reasoning$/
const fromOperator = /^(?:system|developer)$/

/**
 * The part of the conversation that the model has to answer: the messages after its own last one, without instructions.
 * Agents send reminders and instructions before and after a prompt, in separate messages.
 */
export function lastTurn(messages: readonly unknown[]): readonly unknown[] {
  const own = messages.findLastIndex(message => {
    const { role, type } = shapeOf(message)
    return fromModel.test(String(role)) || typeFromModel.test(String(type))
  })
  const turn = messages.slice(own + 1).filter(message => !fromOperator.test(String(shapeOf(message)['role'])))
  return turn.length > 0 ? turn : messages.slice(-1)
}

/** The number of tokens: this simulator counts words. */
export function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0
}

/** @throws Failure `missing_required_parameter`, `invalid_type` */
export function readList(fields: Fields, name: string): readonly [unknown, ...unknown[]] {
  const value = fields.get(name)
  if (value === undefined) throw fail('missing_required_parameter', { name }, { param: name })
  if (!Array.isArray(value)) {
    throw fail('invalid_type', { name, expected: 'an array', found: typeof value }, { param: name })
  }
  const [first, ...rest] = value as readonly unknown[]
  if (first === undefined) {
    throw fail('invalid_value', { name, found: '[]', expected: 'an array of one or more' }, { param: name })
  }
  return [first, ...rest]
}
