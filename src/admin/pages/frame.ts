import { icon } from './icon.ts'
import { type Fragment, type Html, html } from './html.ts'
import { type Language, languages } from './language.ts'
import { words } from './words.ts'

/** Stands around every page: what a browser needs, the way to the other pages, the other language. */
export type Frame = {
  readonly language: Language
  readonly title: string
  readonly description: string
  /** `/pricing`, with the rest of its query but the language. */
  readonly path: '/pricing' | '/docs'
  readonly query?: { readonly [name: string]: string }
  readonly main: Html
}

const pages = ['/pricing', '/docs', '/console'] as const

/** A whole document. */
export function renderFrame({ language, title, description, path, query = {}, main }: Frame): string {
  const { frame } = words[language]
  const address = (other: Language) => `${path}?${new URLSearchParams({ ...query, lang: other }).toString()}`
  const link = (page: (typeof pages)[number]): Fragment => html`
    <a href="${page === '/console' ? page : `${page}?lang=${language}`}"${page === path && html` aria-current="page"`}>${frame.pages[page]}</a>`
  return html`<!doctype html>
<html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="description" content="${description}">
    <title>${title} · Tollgate</title>
    <link rel="icon" href="${icon}" type="image/svg+xml">
    <link rel="stylesheet" href="/pages.css">
    ${languages.map(other => html`<link rel="alternate" hreflang="${other}" href="${address(other)}">`)}
  </head>
  <body>
    <a class="skip" href="#main">${frame.skip}</a>
    <header class="top">
      <a class="name" href="/console">Tollgate</a>
      <nav aria-label="${frame.site}">${pages.map(link)}</nav>
      <nav class="languages" aria-label="${frame.language}">
        ${languages.map(
          other =>
            html`<a href="${address(other)}" lang="${other}" hreflang="${other}"${
              other === language && html` aria-current="true"`
            }>${words[other].frame.name}</a>`,
        )}
      </nav>
    </header>
    <main id="main" tabindex="-1">${main}</main>
  </body>
</html>
`.text
}
