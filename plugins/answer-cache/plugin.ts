import {
  type CachePolicy,
  chargeSlot,
  callerSlot,
  configuredModels,
  defineSlot,
  definePlugin,
  type Key,
  parseBytes,
} from '../../src/plugin-api/index.ts'
import { AnswerCache, type Hit, type Missed, reportResult } from './answer-cache.ts'
import type { Collecting } from './collect-answer.ts'
import { readDirectives } from './directives.ts'
import { hitRule, record, replay } from './hit-charge.ts'
import { Purges } from './purges.ts'
import { MemoryAnswers, SharedAnswers } from './answer-stores.ts'
import { isCacheable } from './is-cacheable.ts'
import { requestKey } from './request-key.ts'
import { optionsSchema } from './schema.ts'

const missedSlot = defineSlot<Missed>('answer-cache.missed')
const hitSlot = defineSlot<Hit>('answer-cache.hit')

/** Answers equal requests with the answer of an earlier one (`docs/answer-cache.md`). */
export const answerCache = definePlugin({
  name: 'answer-cache',
  options: optionsSchema,
  needs: [callerSlot],
  keepsAnswers: true,
  settlesAfter: [chargeSlot],
  rule: hitRule,
  quote: ({ model: { cache } }) => (cache ? { kept: cache } : undefined),
  record,
  replay,
  create(options, host) {
    const isUsed = configuredModels(host.plan).some(model => model.cache)
    const memory = host.keep('memory', (): { held?: Held } => ({}))
    if (!isUsed) {
      // Their memory would stay in use until the process ends.
      delete memory.held
      return {}
    }
    const memoryMax = parseBytes(options.memory_max) as number
    if (memory.held?.bytesMax !== memoryMax) memory.held = holdUpTo(memoryMax)
    const { answers, collecting } = memory.held
    const requestMax = parseBytes(options.request_max) as number
    const { texts } = host.stores.counters
    const purges = new Purges(host)
    const cache = new AnswerCache({
      ...host,
      kept: texts ? new SharedAnswers(texts) : answers,
      purges,
      collecting,
      responseMax: Math.min(parseBytes(options.response_max) as number, memoryMax),
      costs: host.keep('costs', () => new Map()),
    })

    return {
      async onAdmit(context, target) {
        const policy = target.model.cache
        if (!policy || !usesCache(context.slots.need(callerSlot).key, policy)) return undefined
        const { mayRead, mayStore, ageMaxMs } = readDirectives(context.head)
        const isLong = target.body.kind === 'json' && target.body.json.bytes.length > requestMax
        if (isLong || !mayStore || !isCacheable(context, target, policy)) {
          reportResult(context, 'bypass')
          return undefined
        }
        const key = await requestKey({ context, target, policy })
        const found = mayRead ? await cache.find(key, policy, ageMaxMs) : undefined
        if (found) {
          const { answer, hit } = await cache.serve(context, target, policy, found)
          if (hit) context.slots.put(hitSlot, hit)
          return answer
        }
        reportResult(context, 'miss')
        context.slots.put(missedSlot, { key, target, forMs: policy.forMs, answer: undefined })
        cache.watch(context)
        return undefined
      },

      onReply(context, reply) {
        const missed = context.slots.get(missedSlot)
        if (!missed || reply.status !== 200) return reply
        missed.answer?.free()
        missed.answer = cache.collect(reply)
        return { ...reply, stages: [...reply.stages, missed.answer] }
      },

      onSettle(context, outcome) {
        const missed = context.slots.get(missedSlot)
        if (missed) return cache.keep(context, outcome, missed)
        const hit = context.slots.get(hitSlot)
        return hit && cache.settle(outcome, hit)
      },

      onCharge: charge => cache.charged(charge),
      close: () => purges.close(),
    }
  },
})

/** What reloads keep. A change of the maximum starts with no answers. */
type Held = { readonly bytesMax: number; readonly answers: MemoryAnswers; readonly collecting: Collecting }

function holdUpTo(bytesMax: number): Held {
  return { bytesMax, answers: new MemoryAnswers(bytesMax), collecting: { bytes: 0, bytesMax } }
}

/** A key may opt out, and may have to opt in. */
function usesCache({ cache }: Pick<Key, 'cache'>, { keys }: CachePolicy): boolean {
  return keys === 'all' ? cache !== 'off' : cache === 'on'
}
