import { definePlugin } from '../../src/plugin-api/index.ts'
import { type Guarded, guardFailure, guardHooks, type Verdict } from '../../src/guardrails/index.ts'
import { askService } from './ask-service.ts'
import { facetSchema, type ServiceFacet } from './schema.ts'

const name = 'guard-service'

/** Checks texts with a moderation service over HTTP (`docs/guardrails.md`). */
export const guardService = definePlugin({
  name,
  options: { type: 'object', additionalProperties: false, properties: {} },
  facet: facetSchema,

  create(_options, { log, clock }) {
    async function check(texts: readonly string[], facet: ServiceFacet, about: Guarded): Promise<Verdict> {
      try {
        return await askService(texts, facet, { about, clock })
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        const facts = { request: about.context.id, side: about.side, reason }
        if (facet.unavailable === 'pass') {
          log.warn(facts, 'the moderation service is unavailable: a text passed unchecked')
          return { kind: 'pass' }
        }
        log.warn(facts, 'the moderation service is unavailable')
        throw guardFailure('guard_unavailable', {}, { cause, retryAfterMs: 1000 })
      }
    }

    return guardHooks<ServiceFacet>(
      {
        name,
        reads: ({ on }, side) => on.includes(side),
        whole: check,
        async part(text, isEnd, facet, about) {
          if (!isEnd && text.length < facet.every) return { kind: 'release', upTo: 0, edits: [] }
          const verdict = await check([text], facet, about)
          if (verdict.kind === 'block') return verdict
          const put = verdict.kind === 'edit' ? (verdict.texts[0] ?? '') : text
          return { kind: 'release', upTo: text.length, edits: put === text ? [] : [{ from: 0, to: text.length, put }] }
        },
      },
      log,
    )
  },
})
