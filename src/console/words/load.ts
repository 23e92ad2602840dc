import { effect } from '@preact/signals'
import { remember } from '../remember.ts'
import enAddress from './en.json?url'
import { type Language, language, languages, languageTags, speakWith, type Words } from './index.ts'
import zhAddress from './zh.json?url'

const addresses: { readonly [language in Language]: string } = { zh: zhAddress, en: enAddress }

/** Speaks what was chosen before, or else what the browser speaks, and keeps what is chosen. */
export async function beginToSpeak(): Promise<void> {
  await loadWords(
    remember.read('language', languages) ?? (navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'),
  )
  effect(() => {
    document.documentElement.lang = languageTags[language.value]
    remember.write('language', language.value)
  })
}

/** Fetches a language, and speaks it. */
async function loadWords(wanted: Language): Promise<void> {
  const response = await fetch(addresses[wanted])
  if (!response.ok) throw new Error(`no words: ${response.status}`)
  speakWith(wanted, (await response.json()) as Words)
}

/** Changes the language; without the gateway it stays what it was. */
export function speak(wanted: Language): void {
  loadWords(wanted).catch(() => undefined)
}
