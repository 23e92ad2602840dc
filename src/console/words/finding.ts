import type { Finding } from '../api/shapes.ts'

/**
 * The texts of a language for findings of a configuration. The key of `sentences` is the gateway's sentence with named
 * placeholders, whose values go into the translation. `phrases` are possible values of an unquoted placeholder.
 */
export type FindingBook = {
  readonly codes: { readonly [code: string]: string }
  readonly sentences: { readonly [sentence: string]: string }
  readonly phrases: { readonly [phrase: string]: string }
}

/** The text of a finding. `original`: the gateway's own words, if the book has only a text for its code. */
export type TranslatedFinding = {
  readonly message: string
  readonly remedy: string | null
  readonly original: string | null
}

type Place = { readonly name: string; readonly isQuoted: boolean }
type Pattern = {
  readonly literals: readonly string[]
  readonly places: readonly Place[]
  readonly length: number
  readonly translated: string
}

/** A finding in the texts of a book; without a translation it stays as the gateway wrote it. */
export function translateFinding(book: FindingBook, { code, message, remedy }: Finding): TranslatedFinding {
  const translated = translateSentence(book, message)
  const done = remedy === null ? null : (translateSentence(book, remedy) ?? null)
  const rest = [translated === undefined ? message : null, done === null ? remedy : null].filter(one => one !== null)
  const named = Object.hasOwn(book.codes, code) ? book.codes[code] : undefined
  if (translated === undefined && named === undefined) return { message, remedy, original: null }
  return {
    message: translated ?? named ?? message,
    remedy: done,
    original: rest.length === 0 ? null : rest.join(' · '),
  }
}

/** A sentence in the texts of a book; undefined if it has none. */
export function translateSentence(book: FindingBook, text: string): string | undefined {
  return translateByPattern(patternsOf(book).sentences, text, value => translatePhrase(book, value))
}

function translatePhrase(book: FindingBook, text: string): string {
  return (
    translateByPattern(patternsOf(book).phrases, text, value =>
      value === text ? value : translatePhrase(book, value),
    ) ?? text
  )
}

function translateByPattern(
  patterns: readonly Pattern[],
  text: string,
  translate: (value: string) => string,
): string | undefined {
  for (const pattern of patterns) {
    const values = match(pattern, text)
    if (!values) continue
    const shown = new Map(
      pattern.places.map(({ name, isQuoted }, i) => [name, isQuoted ? values[i] : translate(values[i] ?? '')]),
    )
    if (pattern.places.some(({ name, isQuoted }) => !isQuoted && name !== why && isEnglish(shown.get(name) ?? '')))
      continue
    return pattern.translated.replaceAll(/\{(\w+)\}/g, (whole, name: string) => shown.get(name) ?? whole)
  }
  return undefined
}

/** A placeholder for messages of a system or another program, which stay untranslated. */
const why = 'why'

/** Whether a value is an untranslated phrase, which would mix two languages in a sentence. */
function isEnglish(value: string): boolean {
  return /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/.test(value.replaceAll(/'[^']*'|"[^"]*"/g, ''))
}

/** The values of a pattern's placeholders, each as short as possible; undefined for another text. */
function match({ literals, places }: Pattern, text: string): readonly string[] | undefined {
  const [first = '', ...more] = literals
  const last = more.pop()
  if (last === undefined) return text === first ? [] : undefined
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return undefined
  const values: string[] = []
  const end = text.length - last.length
  let at = first.length
  for (const literal of more) {
    const found = text.indexOf(literal, at + 1)
    if (found === -1 || found + literal.length > end) return undefined
    values.push(text.slice(at, found))
    at = found + literal.length
  }
  values.push(text.slice(at, end))
  return values.length === places.length && values.every(value => value !== '') ? values : undefined
}

type Patterns = { readonly sentences: readonly Pattern[]; readonly phrases: readonly Pattern[] }
const known = new WeakMap<FindingBook, Patterns>()

function patternsOf(book: FindingBook): Patterns {
  const before = known.get(book)
  if (before) return before
  const made = { sentences: toPatterns(book.sentences), phrases: toPatterns(book.phrases) }
  known.set(book, made)
  return made
}

/** The most specific patterns first: `found {found}` also matches sentences with a better translation. */
function toPatterns(texts: { readonly [text: string]: string }): readonly Pattern[] {
  return Object.entries(texts)
    .map(([text, translated]): Pattern => {
      const pieces = text.split(/(\{\w+\})/)
      const literals = pieces.filter((_, i) => i % 2 === 0)
      const places = pieces
        .filter((_, i) => i % 2 === 1)
        .map((place, i) => ({ name: place.slice(1, -1), isQuoted: /['`]$/.test(literals[i] ?? '') }))
      return { literals, places, length: literals.join('').length, translated }
    })
    .toSorted((a, b) => b.length - a.length)
}
