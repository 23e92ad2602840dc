import { batch, effect, signal } from '@preact/signals'
import { remember } from '../remember.ts'
import type en from './en.json'
import enAddress from './en.json?url'
import type zh from './zh.json'
import zhAddress from './zh.json?url'

const languages = ['zh', 'en'] as const
export type Language = (typeof languages)[number]
export type Word = keyof typeof en
/** The texts of any language: one that another lacks is a type error here. */
type Words = Readonly<Pick<typeof zh, Word>>

const addresses: { readonly [language in Language]: string } = { zh: zhAddress, en: enAddress }

export const language = signal<Language>(
  remember.read('language', languages) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'),
)

/** Of the language that is spoken; the other is not fetched. */
const words = signal<Partial<Words>>({})

effect(() => {
  document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en'
  remember.write('language', language.value)
})

/** Fetches a language, and speaks it. */
export async function loadWords(wanted: Language): Promise<void> {
  const response = await fetch(addresses[wanted])
  if (!response.ok) throw new Error(`no words: ${response.status}`)
  const fetched = (await response.json()) as Words
  batch(() => {
    words.value = fetched
    language.value = wanted
  })
}

/** Changes the language; without the gateway it stays what it was. */
export function speak(wanted: Language): void {
  loadWords(wanted).catch(() => undefined)
}

/** A text in the language chosen; `{name}` in it is replaced. */
export function t(word: Word, values: { readonly [name: string]: string | number } = {}): string {
  return (words.value[word] ?? word).replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

/** The word for a name that the gateway uses, where there is one; else the name itself. */
export function tName(prefix: string, name: string): string {
  const word = `${prefix}.${name}`
  return Object.hasOwn(words.value, word) ? t(word as Word) : name
}
