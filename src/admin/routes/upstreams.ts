import { decisionOn, type KeyDecision, modelsByUpstream, upstreamKeyView, type VendorKey } from '../../domain/index.ts'
import { formatMoney } from '../../util/index.ts'
import { keyTrialAnswer, upstreamKeyAnswer, upstreamsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { reason } from '../schemas.ts'
import { sessionUserOf } from '../session-user.ts'

/** The upstreams in the form for the console, each with its keys if it has several. */
function upstreamRecords({ parts }: AdminRequest) {
  const simulated = new Set(parts.facts.simulated())
  const models = modelsByUpstream(parts.plan())
  return [...parts.plan().upstreams.values()].map(upstream => {
    const { name, url, keys } = upstream
    const reports = parts.upstreams.report(upstream)
    return {
      name,
      simulated: simulated.has(url.replace(/^simulator:/, '')),
      healthy: parts.facts.upstreamHealthy(name),
      resting_ms: Math.ceil(parts.upstreams.restMs(name)),
      models: models.get(name) ?? [],
      keys_asked: keys ? reports.filter(({ isAvailable }) => isAvailable).length : null,
      keys: reports.map(upstreamKeyView.show),
    }
  })
}

export const upstreamRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/upstreams',
    access: 'operators',
    summary: 'List the upstreams and the status of each key: why it is not used, since when and until when.',
    answer: upstreamsAnswer,
    async handle(request) {
      const { parts } = request
      // Includes decisions that other processes made a moment ago.
      await parts.upstreams.learn()
      return { currency: parts.plan().currency, upstreams: upstreamRecords(request) }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/upstreams/:upstream/keys/:key/suspend',
    access: 'admin',
    summary: 'Suspend an upstream key in every gateway on the storage, for a time or until it is resumed.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['reason'],
      properties: {
        reason,
        for_seconds: {
          type: ['integer', 'null'],
          minimum: 1,
          maximum: 366 * 86_400,
          description: 'Duration of the suspension in seconds. Null or absent: until the key is resumed.',
        },
      },
    },
    answer: upstreamKeyAnswer,
    async handle(request) {
      const { parts, body } = request
      const key = keyOf(request)
      const until = typeof body.for_seconds === 'number' ? parts.clock.now() + body.for_seconds * 1_000 : null
      await decide(request, key, { state: 'suspended', until, note: body.reason })
      return await recordOf(request, key)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/upstreams/:upstream/keys/:key/resume',
    access: 'admin',
    summary: 'Resume an upstream key, whatever the reason for its suspension.',
    answer: upstreamKeyAnswer,
    async handle(request) {
      const key = keyOf(request)
      await decide(request, key, { state: 'active', until: null, note: null })
      return await recordOf(request, key)
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/upstreams/:upstream/keys/:key/test',
    access: 'admin',
    summary: 'Test for free whether the upstream accepts a key. A rejected key that is accepted again is resumed.',
    answer: keyTrialAnswer,
    async handle(request) {
      const { parts } = request
      const key = keyOf(request)
      const { result, answer, path, ms } = await parts.upstreams.test(key)
      const before = await recordOf(request, key)
      if (result === 'good' && before.state === 'suspended' && before.reason === 'invalid')
        await decide(request, key, { state: 'active', until: null, note: 'a free test request succeeded' })
      return {
        result,
        answer,
        path,
        ms,
        cost: formatMoney(0),
        currency: parts.plan().currency,
        key: await recordOf(request, key),
      }
    },
  }),
]

/** @throws Failure not_found */
function keyOf({ parts, params }: Pick<AdminRequest, 'parts' | 'params'>): VendorKey {
  const { keys = [] } = parts.plan().upstreams.get(params['upstream'] ?? '') ?? {}
  const found = keys.find(({ name }) => name === params['key'])
  if (!found) throw fail('not_found')
  return found
}

function decide(
  request: AdminRequest,
  key: VendorKey,
  word: Pick<KeyDecision, 'state' | 'until' | 'note'>,
): Promise<boolean> {
  const { parts } = request
  return parts.storage.vendorKeys.decide(decisionOn(parts.plan(), key, word), sessionUserOf(request).user.name)
}

async function recordOf({ parts }: Pick<AdminRequest, 'parts'>, { name, upstream }: VendorKey) {
  await parts.upstreams.learn()
  const owner = parts.plan().upstreams.get(upstream.name)
  const report = owner && parts.upstreams.report(owner).find(one => one.name === name)
  if (!report) throw fail('not_found')
  return upstreamKeyView.show(report)
}
