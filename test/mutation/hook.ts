import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

// Preloaded into every process of a test that is run on a mutated file: puts the text with all its mutants in place of the
// file's own. Which of them is at work the text itself reads from the environment.

const { MUTATED_URL: wanted, MUTATED_TEXT: text } = process.env
if (wanted !== undefined && text !== undefined)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return url === wanted ? { ...loaded, source: readFileSync(text, 'utf8') } : loaded
    },
  })
