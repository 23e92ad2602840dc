import { effect, signal } from '@preact/signals'
import { remember } from '../remember.ts'
import { words } from './words.ts'

export const languages = ['zh', 'en'] as const
export type Language = (typeof languages)[number]
export type Word = keyof typeof words

export const language = signal<Language>(
  remember.read('language', languages) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'),
)

effect(() => {
  document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en'
  remember.write('language', language.value)
})

/** A text in the language chosen; `{name}` in it is replaced. */
export function t(word: Word, values: { readonly [name: string]: string | number } = {}): string {
  const text: string = words[word][languages.indexOf(language.value) as 0 | 1]
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

/** The word for a name that the gateway uses, where there is one; else the name itself. */
export function tName(prefix: string, name: string): string {
  const word = `${prefix}.${name}`
  return Object.hasOwn(words, word) ? t(word as Word) : name
}
