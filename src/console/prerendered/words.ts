import { type Language, speakWith, translate, type Values, type Word, type Words } from '../words/index.ts'
import type ownEn from '../words/prerendered/en.json'
import ownEnglish from '../words/prerendered/en.json'
import ownChinese from '../words/prerendered/zh.json'
import english from '../words/en.json'
import chinese from '../words/zh.json'

type OwnWord = keyof typeof ownEn
type AllWords = Words & Readonly<Pick<typeof ownChinese, OwnWord>>

const words: { readonly [language in Language]: AllWords } = {
  en: { ...english, ...ownEnglish },
  zh: { ...chinese, ...ownChinese },
}

/** Sets the language until the next call, because a page is rendered synchronously. */
export function setPageLanguage(language: Language): void {
  speakWith(language, words[language])
}

/** A text of the console, or one of the pages that are rendered ahead. */
export function t(word: Word | OwnWord, values?: Values): string {
  return translate(word, values)
}
