/** A page that a comment names, with the heading after its `#`, if any. */
export type Reference = { readonly line: number; readonly page: string; readonly anchor: string | undefined }

/** Comments of TypeScript and JavaScript, and those that begin with `#`. */
const comments = /\/\*[^]*?\*\/|(?<![^\s])\/\/.*|(?<![^\s])#(?![\w#]).*/g
const pageName = /(?<![\w./*-])((?:\.{0,2}\/)?(?:[\w.-]+\/)*[\w-]+\.md)\b(?:#([\p{L}\p{N}_-]+))?/gu
/** A reference to a document by its number alone, which a reader of this repository cannot open. */
const numbered = /\b(?:requirement|section of the requirement|wire notes|fault table|catalogue)\s+[A-Z]?\d[\d.]*/gi
const decisions = /\bdecisions?\s+\d+(?:(?:,| and| to) \d+)*/gi

/** The pages that comments of a text name. */
export function findReferences(text: string): readonly Reference[] {
  return [...text.matchAll(comments)].flatMap(comment =>
    [...comment[0].matchAll(pageName)].map(found => ({
      line: lineAt(text, comment.index + found.index),
      page: found[1] ?? '',
      anchor: found[2],
    })),
  )
}

/** Numbers of decisions anywhere in a text, including titles of tests. */
export function findDecisions(text: string): readonly { readonly line: number; readonly number: number }[] {
  return [...text.matchAll(decisions)].flatMap(({ 0: words, index }) =>
    [...words.matchAll(/\d+/g)].map(([number]) => ({ line: lineAt(text, index), number: Number(number) })),
  )
}

/** References to parts of documents that are not in this repository. */
export function findIdentityColumns(text: string): readonly { readonly line: number; readonly words: string }[] {
  return [...text.matchAll(numbered)].map(({ 0: words, index }) => ({ line: lineAt(text, index), words }))
}

/** The headings of a page in the form that links use. */
export function anchorsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
