import { remember } from '../remember.ts'

export const languages = ['zh', 'en'] as const
export type Language = (typeof languages)[number]

/** The stored choice of language; otherwise the browser's language. */
export function wantedLanguage(): Language {
  return remember.read('language', languages) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en')
}
