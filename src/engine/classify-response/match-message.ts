import type { OutcomeRow } from '../../domain/index.ts'
import { valuesAt } from '../../wire/index.ts'
import { messagePlaces } from './outcome-table.ts'

/** The deciding words are at the beginning of a message. */
const messageCharsMax = 4_000
/** With thousands separators, as people write it, and a currency before it. */
const numberPattern = String.raw`[$€¥]? ?(\d+(?:[,_]\d{3})*(?:\.\d+)?)`

/** A sentence of a table, compiled. */
type Sentence = { readonly pattern: RegExp; readonly names: readonly string[] }

const known = new WeakMap<OutcomeRow, readonly Sentence[]>()

/** Whether a message matches one of a row's sentences, with numbers that meet the row's condition. */
export function mentions(row: OutcomeRow, body: unknown): boolean {
  const messages = messagesOf(body)
  return sentencesOf(row).some(sentence =>
    messages.some(message => {
      const found = sentence.pattern.exec(message)
      return found !== null && holds(row.where, numbersOf(sentence, found))
    }),
  )
}

function messagesOf(body: unknown): readonly string[] {
  const values: readonly unknown[] =
    typeof body === 'string' ? [body] : messagePlaces.flatMap(place => valuesAt(body, place))
  return values.flatMap(value => (typeof value === 'string' && value !== '' ? plain(value) : []))
}

function plain(text: string): string {
  return text.slice(0, messageCharsMax).replaceAll(/\s+/g, ' ').toLowerCase()
}

function sentencesOf(row: OutcomeRow): readonly Sentence[] {
  let sentences = known.get(row)
  if (!sentences) {
    sentences = (row.mentions ?? []).map(toSentence)
    known.set(row, sentences)
  }
  return sentences
}

function toSentence(text: string): Sentence {
  const names: string[] = []
  // Split at `{name}`: every second piece is a name.
  const pieces = text.split(/\{(\w+)\}/).map((piece, i) => {
    if (i % 2 === 0) return RegExp.escape(plain(piece))
    names.push(piece)
    return numberPattern
  })
  return { pattern: new RegExp(pieces.join('')), names }
}

function numbersOf({ names }: Sentence, found: RegExpExecArray): ReadonlyMap<string, number> {
  return new Map(names.map((name, i) => [name, Number((found[i + 1] ?? '').replaceAll(/[,_]/g, ''))]))
}

/** `wanted > limit`. */
function holds(where: string | undefined, numbers: ReadonlyMap<string, number>): boolean {
  if (where === undefined) return true
  const [more = '', less = ''] = where.split(' > ')
  const valueOf = (term: string): number => numbers.get(term) ?? Number(term)
  return valueOf(more) > valueOf(less)
}
