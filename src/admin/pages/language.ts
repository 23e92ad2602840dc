export type Language = 'en' | 'zh'

export const languages = ['en', 'zh'] as const satisfies readonly Language[]

/** The language of a page: that in the address, or the first available one that the browser accepts, or English. */
export function chooseLanguage(requested: unknown, accepted: string | string[] | undefined): Language {
  return languages.find(language => language === requested) ?? preferred(String(accepted ?? '')) ?? 'en'
}

/** RFC 9110 12.5.4: the range with the highest weight; the first among equal weights. */
function preferred(header: string): Language | undefined {
  let chosen: Language | undefined
  let most = 0
  for (const range of header.slice(0, 1000).split(',')) {
    const [tag = '', ...parameters] = range.split(';').map(text => text.trim().toLowerCase())
    const weight = Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? 1)
    const language = languages.find(name => tag === name || tag.startsWith(`${name}-`))
    if (language && weight > most) {
      chosen = language
      most = weight
    }
  }
  return chosen
}
