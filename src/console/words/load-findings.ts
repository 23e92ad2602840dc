import { signal } from '@preact/signals'
import type { Finding } from '../api/shapes.ts'
import { type FindingBook, translateFinding, translateSentence, type TranslatedFinding } from './finding.ts'
import chineseAddress from './findings/zh.json?url'
import { language } from './index.ts'

const book = signal<FindingBook | null>(null)
let isRequested = false

/** A finding in the chosen language. The gateway's text is English; translations are fetched when they are needed. */
export function tFinding(finding: Finding): TranslatedFinding {
  const words = bookOf()
  return words ? translateFinding(words, finding) : { message: finding.message, remedy: finding.remedy, original: null }
}

/** A sentence of the gateway about a configuration; unchanged if it has no translation. */
export function tSentence(text: string): string {
  const words = bookOf()
  return (words && translateSentence(words, text)) ?? text
}

/** A finding that was stored as `FILE:LINE:COLUMN sentence`. */
export function tPlaced(text: string): string {
  const words = bookOf()
  const [, place = '', sentence = ''] = /^(\S+:\d+:\d+) (.*)$/s.exec(text) ?? []
  const translated = words && translateSentence(words, sentence)
  return translated ? `${place} ${translated}` : text
}

/** Fetches the translations before there is a finding, so that no finding is shown in two languages in turn. */
export function wantFindingWords(): void {
  bookOf()
}

function bookOf(): FindingBook | null {
  if (language.value === 'en') return null
  if (!isRequested) {
    isRequested = true
    fetchBook().catch(() => (isRequested = false))
  }
  return book.value
}

async function fetchBook(): Promise<void> {
  const response = await fetch(chineseAddress)
  if (!response.ok) throw new Error(`no words: ${response.status}`)
  book.value = (await response.json()) as FindingBook
}
