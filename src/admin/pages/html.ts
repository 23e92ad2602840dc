/** Markup that may stand in a page as it is. Made by `html` alone, so that nothing gets into a page unescaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What a template may hold: texts are escaped, lists are joined, and nothing is written of null, undefined and false. */
export type Fragment = Html | string | number | null | undefined | false | readonly Fragment[]

/** A template of HTML: html`<p>${text}</p>`. Values may stand between tags and in quoted attributes. */
export function html(texts: TemplateStringsArray, ...values: readonly Fragment[]): Html {
  return new Html(texts.map((text, i) => text + write(values[i])).join(''))
}

const escapes: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Marks that turn the direction of a text, or hide in it: names that hold them would seem to be others. */
const invisible = /[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu

function write(value: Fragment): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'string' || typeof value === 'number') return escapeText(String(value))
  return value.map(write).join('')
}

function escapeText(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, character => escapes[character] ?? character)
    .replaceAll(invisible, character => (character === '\n' || character === '\t' ? character : '\ufffd'))
}
