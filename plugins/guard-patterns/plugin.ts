import { definePlugin, type Diagnostic } from '../../src/plugin-api/index.ts'
import { guardHooks } from '../../src/guardrails/index.ts'
import { buildRules, checkPart, checkTexts, readsSide, type Rules } from './rules.ts'
import { facetSchema, type PatternsFacet } from './schema.ts'

const name = 'guard-patterns'

/** Blocks or masks texts that match patterns or contain words (`docs/guardrails.md`). */
export const guardPatterns = definePlugin({
  name,
  options: { type: 'object', additionalProperties: false, properties: {} },
  facet: facetSchema,

  inspect({ rules }) {
    return rules.flatMap(({ pattern, words }, i): readonly Diagnostic[] => {
      if ((pattern === undefined) === (words === undefined))
        return [
          error(
            'guard_rule_form',
            ['rules', i],
            'a rule needs either a pattern or words',
            'write `pattern` or `words`',
          ),
        ]
      try {
        buildRules({ rules: [rules[i] as PatternsFacet['rules'][number]], longest: 1, normalize: true })
        return []
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        return [
          error(
            'guard_pattern_invalid',
            ['rules', i, 'pattern'],
            `the pattern is invalid: ${reason}`,
            'use the syntax of RE2, which has no lookaround and no back references',
          ),
        ]
      }
    })
  },

  create(_options, { log }) {
    const built = new WeakMap<PatternsFacet, Rules>()
    const rulesOf = (facet: PatternsFacet): Rules => {
      const known = built.get(facet) ?? buildRules(facet)
      built.set(facet, known)
      return known
    }
    return guardHooks<PatternsFacet>(
      {
        name,
        reads: (facet, side) => readsSide(rulesOf(facet), side),
        whole: (texts, facet, { side }) => checkTexts(rulesOf(facet), texts, side),
        part: (text, isEnd, facet) => checkPart(rulesOf(facet), text, isEnd),
      },
      log,
    )
  },
})

function error(code: string, path: Diagnostic['path'], message: string, remedy: string): Diagnostic {
  return { severity: 'error', code, message, remedy, path }
}
