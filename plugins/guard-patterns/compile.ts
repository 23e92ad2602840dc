import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

const require = createRequire(import.meta.url)

export type Pattern = Pick<RE2JS, 'matcher'>

/**
 * A pattern in the syntax of RE2, which takes linear time for any text: a client cannot stop the gateway with one.
 * Loaded on first use. @throws Error for an invalid pattern
 */
export function compile(pattern: string, ignoreCase: boolean): Pattern {
  const { RE2JS } = require('re2js') as typeof import('re2js')
  return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
}

/** Matches words literally, in any case, also between the `_` of Markdown. */
export function patternOfWords(words: readonly string[]): string {
  const { RE2JS } = require('re2js') as typeof import('re2js')
  return words
    .map(word => {
      const [before, after] = [/^\w/.test(word), /\w$/.test(word)]
      return `${before ? '\\b_*' : ''}${RE2JS.quote(word)}${after ? '_*\\b' : ''}`
    })
    .join('|')
}
