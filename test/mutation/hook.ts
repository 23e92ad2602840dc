import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

// Preloaded into every process of a test on a mutated file: replaces the file's text with a text that contains all of
// its mutants. That text reads from the environment which mutant is active.

const { MUTATED_URL: wanted, MUTATED_TEXT: text } = process.env
if (wanted !== undefined && text !== undefined)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return url === wanted ? { ...loaded, source: readFileSync(text, 'utf8') } : loaded
    },
  })
