import { batch, signal } from '@preact/signals'
import type en from './en.json'
import { type Language, languages } from './languages.ts'
import type zh from './zh.json'

export { type Language, languages }
export type Word = keyof typeof en
/** The texts of a language: a missing text is a type error here. */
export type Words = Readonly<Pick<typeof zh, Word>>
/** The values of `{name}` in a text. */
export type Values = { readonly [name: string]: string | number }

/** The name of each language in itself. */
export const languageNames: { readonly [language in Language]: string } = { zh: '中文', en: 'English' }
/** For a language menu. */
export const languageChoices = languages.map(one => [one, languageNames[one]] as const)
/** For the `lang` attribute of documents. */
export const languageTags: { readonly [language in Language]: string } = { zh: 'zh-CN', en: 'en' }

export const language = signal<Language>('en')

const hole = /\{(\w+)(?::([^{|}]*)\|([^{|}]*))?\}/g

/** The texts of the current language; the other one is not loaded. */
const words = signal<{ readonly [word: string]: string }>({})

/** Sets the language with its texts. */
export function speakWith(wanted: Language, known: Words): void {
  batch(() => {
    words.value = known
    language.value = wanted
  })
}

/** A text in the chosen language; `{name}` in it is replaced. */
export function t(word: Word, values?: Values): string {
  return translate(word, values)
}

/** The text for one of the gateway's names, if there is one; otherwise the name itself. */
export function tName(prefix: string, name: string): string {
  const word = `${prefix}.${name}`
  return Object.hasOwn(words.value, word) ? translate(word) : name
}

/** The names with a text under a prefix, such as all actions. */
export function wordsOf(prefix: string): readonly string[] {
  return Object.keys(words.value).flatMap(word =>
    word.startsWith(`${prefix}.`) ? [word.slice(prefix.length + 1)] : [],
  )
}

/**
 * A text by an unchecked name; the name itself if there is none. `{count:row|rows}` becomes the first word if the value
 * is 1, otherwise the second.
 */
export function translate(word: string, values: { readonly [name: string]: string | number | null } = {}): string {
  return (words.value[word] ?? word).replaceAll(hole, (whole, name: string, one?: string, more?: string) =>
    one === undefined ? String(values[name] ?? whole) : ((String(values[name]) === '1' ? one : more) ?? whole),
  )
}
