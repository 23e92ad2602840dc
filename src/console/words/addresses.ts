import enAddress from './en.json?url'
import type { Language } from './languages.ts'
import zhAddress from './zh.json?url'

/** Where the words of a language are. */
export const wordAddresses: { readonly [language in Language]: string } = { zh: zhAddress, en: enAddress }
