import { remember } from '../remember.ts'

export const languages = ['zh', 'en'] as const
export type Language = (typeof languages)[number]

/** What was chosen before, or else what the browser speaks. */
export function wantedLanguage(): Language {
  return remember.read('language', languages) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en')
}
