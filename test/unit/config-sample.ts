import { defineSlot } from '../../src/domain/index.ts'
import { definePlugin } from '../../src/plugin-api/index.ts'

/** Small plugins for tests: one provides what another needs; one has a section in families and validates it. */
const caller = defineSlot<string>('caller')

const auth = definePlugin({
  name: 'auth',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { tries: { type: 'integer', minimum: 1, default: 20, description: 'Tries before 429.' } },
  } as const,
  gives: [caller],
  create: () => ({}),
})

const ratelimit = definePlugin({ name: 'ratelimit', needs: [caller], create: () => ({}) })

const tiers = definePlugin({
  name: 'tiers',
  charges: true,
  facet: {
    type: 'object',
    additionalProperties: false,
    required: ['rows', 'otherwise'],
    properties: {
      rows: {
        type: 'array',
        minItems: 1,
        description: 'Price tiers by the long edge, rising.',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['tier'],
          properties: {
            tier: { type: 'string', description: 'Its label.' },
            long_edge_max: { type: 'integer', minimum: 1, description: 'The largest long edge of the tier.' },
          },
        },
      },
      otherwise: { type: 'string', description: 'The tier when nothing is known.' },
      on_caller_gone: { type: 'string', enum: ['bill', 'free'], default: 'bill', description: 'Who pays then.' },
      send_as: {
        description: 'One name, or one and many.',
        anyOf: [
          { type: 'string' },
          {
            type: 'object',
            additionalProperties: false,
            required: ['one', 'many'],
            properties: { one: { type: 'string' }, many: { type: 'string' } },
          },
        ],
      },
      tokens: { type: 'object', additionalProperties: { type: 'string' }, description: 'Anything.' },
    },
  } as const,
  inspect(facet, _family, models) {
    const falling = facet.rows.findIndex((row, i) => {
      const above = facet.rows[i - 1]?.long_edge_max
      return above !== undefined && row.long_edge_max !== undefined && row.long_edge_max <= above
    })
    const unpriced = models.flatMap(model => {
      const missing = facet.rows.find(row => !model.free && !model.prices.has(row.tier))
      return missing ? [{ model: model.name, tier: missing.tier }] : []
    })
    return [
      ...(falling === -1
        ? []
        : [
            {
              severity: 'error' as const,
              code: 'tiers_not_rising',
              message: 'not rising',
              path: ['rows', falling, 'long_edge_max'],
            },
          ]),
      ...unpriced.map(({ model, tier }) => ({
        severity: 'error' as const,
        code: 'tier_without_price',
        message: `the tier ${tier} has no price`,
        remedy: `add ${tier}: "0.00"`,
        path: ['prices', tier],
        model,
      })),
      ...(facet.otherwise === 'never'
        ? [{ severity: 'note' as const, code: 'tier_unreachable', message: 'cannot occur', path: ['otherwise'] }]
        : []),
    ]
  },
  create: () => ({}),
})

const absent = definePlugin({
  name: 'absent',
  facet: { type: 'object', additionalProperties: false, properties: {} } as const,
  create: () => ({}),
})

export const samplePlugins = [auth, ratelimit, tiers, absent] as const
export const sampleNames: readonly string[] = samplePlugins.map(plugin => plugin.name)

export async function resolveSample(name: string) {
  if (name === './broken.ts') throw new Error('no such file')
  return samplePlugins.find(plugin => plugin.name === name)
}

/** A small file without faults. */
export const sampleText = `version: 1
groups: { default: { rpm: 60 }, partner: { rpm: 600, tpm: 1000, limit_scope: user, multiplier: "0.9" } }
upstreams:
  one: { url: "\${ONE_URL:-simulator:one}", credential: { header: Authorization, value: "Bearer \${ONE_KEY}" } }
pipeline: [auth, ratelimit, tiers]
families:
  pictures:
    streams: [image.generate]
    forward: { image.generate: [model, prompt], image.edit: { all: true, except: [response_format] } }
    tiers: { rows: [{ tier: 1K, long_edge_max: 1024 }, { tier: 4K }], otherwise: 4K }
models:
  alpha-image: { family: pictures, upstream: one, prices: { 1K: "0.02", 4K: "0.08" }, limits: { rpm: 300 } }
routes:
  - { match: POST /v1/images, operation: image.generate, dialect: openai }
  - { match: POST /v1/edits, operation: image.edit, dialect: openai, body: form, reuse: false, body_max: 8MiB }
  - { match: "GET /v1/models/{id}", operation: models.get, dialect: openai, serve: model }
`
