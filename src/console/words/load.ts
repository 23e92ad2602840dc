import { effect } from '@preact/signals'
import { takePrefetched } from '../api/prefetch.ts'
import { remember } from '../remember.ts'
import { language, languageTags, speakWith, type Words } from './index.ts'
import { wordAddresses } from './addresses.ts'
import { type Language, wantedLanguage } from './languages.ts'

/** Sets the stored language or the browser's, and stores later choices. */
export async function beginToSpeak(): Promise<void> {
  await loadWords(wantedLanguage())
  effect(() => {
    document.documentElement.lang = languageTags[language.value]
    remember.write('language', language.value)
  })
}

/** Fetches a language, and sets it. */
async function loadWords(wanted: Language): Promise<void> {
  const response = await (takePrefetched(wordAddresses[wanted]) ?? fetch(wordAddresses[wanted]))
  if (!response.ok) throw new Error(`no words: ${response.status}`)
  speakWith(wanted, (await response.json()) as Words)
}

/** Changes the language; if the gateway is unreachable, it stays unchanged. */
export function speak(wanted: Language): void {
  loadWords(wanted).catch(() => undefined)
}
