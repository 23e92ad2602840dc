import enAddress from './en.json?url'
import type { Language } from './languages.ts'
import zhAddress from './zh.json?url'

/** The addresses of each language's texts. */
export const wordAddresses: { readonly [language in Language]: string } = { zh: zhAddress, en: enAddress }
