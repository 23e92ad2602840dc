import type { ComponentChildren } from 'preact'
import { Brand } from '../frame/brand.tsx'
import { type Language, language, languageNames, languages, languageTags } from '../words/index.ts'
import { t } from './words.ts'

/** The address of the console's style sheet in the build. */
declare const STYLE_SHEET: string

type DocumentProps = {
  readonly title: string
  readonly description: string
  readonly path: '/pricing' | '/docs'
  /** The rest of the address, without the language. */
  readonly query?: { readonly [name: string]: string }
  /** Address of an optional script; the page works without it. */
  readonly script?: string
  readonly children?: ComponentChildren
}

/** A whole document: its head, the navigation to the other pages, and the language switch. */
export function Document({ title, description, path, query = {}, script, children }: DocumentProps) {
  const addressIn = (other: Language) => `${path}?${new URLSearchParams({ ...query, lang: other }).toString()}`
  const ways = [
    ['/pricing', `/pricing?lang=${language.value}`, t('nav.pricing')],
    ['/docs', `/docs?lang=${language.value}`, t('nav.docs')],
    ['/console', '/console', t('nav.console')],
  ] as const
  const others = languages.filter(one => one !== language.value)
  return (
    <html lang={languageTags[language.value]}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content={description} />
        <title>{`${title} · Tollgate`}</title>
        <link rel="icon" href="/console/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href={STYLE_SHEET} />
        {script && <script type="module" src={script} />}
        {languages.map(other => (
          <link key={other} rel="alternate" hreflang={other} href={addressIn(other)} />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          {t('skip')}
        </a>
        <header class="masthead">
          <Brand />
          <nav aria-label={t('nav.site')}>
            {ways.map(([page, href, name]) => (
              <a key={page} href={href} {...(page === path && { 'aria-current': 'page' })}>
                {name}
              </a>
            ))}
          </nav>
          <div class="switches">
            {others.map(other => (
              <a key={other} class="button quiet" href={addressIn(other)} lang={languageTags[other]} hreflang={other}>
                {languageNames[other]}
              </a>
            ))}
          </div>
        </header>
        <main id="main" class="ahead" tabIndex={-1}>
          {children}
        </main>
      </body>
    </html>
  )
}
