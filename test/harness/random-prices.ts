import type { Test } from 'tap'
import type { Charge } from '../../src/domain/index.ts'
import { picture } from './pictures.ts'
import { start } from './start.ts'
import { createTelling } from './reporting.ts'
import type { diceOf } from './seed.ts'

type Dice = ReturnType<typeof diceOf>

const pick = <T>(dice: Dice, values: readonly T[]): T => values[dice(values.length)] as T
const money = (dice: Dice): string => `${dice(3)}.${String(dice(1_000_000)).padStart(6, '0')}`

/** A configuration with random prices, of a random kind for each model. */
export function randomYaml(dice: Dice): string {
  const by = pick(dice, ['tiers', 'tiers', 'quality', 'one'])
  const bounds = pick(dice, [
    '[{ tier: s, long_edge_max: 1024 }, { tier: m, long_edge_max: 2048 }, { tier: l }]',
    '[{ tier: s, long_edge_max: 700 }, { tier: l }]',
    '[{ tier: s, pixels_max: 1000000 }, { tier: l }]',
  ])
  const from = pick(dice, ['[output]', '[request]', '[output, request]', '[told, output, request]', '[output, told]'])
  const tiers = `tiers: ${bounds}, tier_from: ${from}, otherwise: s`
  const quality = `price_by: [quality], otherwise: other`
  const times = dice(3) === 0 ? ', times: [{ if: { quality: high }, by: "1.5" }]' : ''
  const lines = dice(3) === 0 ? ', lines: [{ per: input_image }, { per: request }]' : ''
  const rule = by === 'tiers' ? tiers : by === 'quality' ? quality : ''
  const images = `{ over_return: ${pick(dice, ['bill', 'cap'])}, ${[rule, `${times}${lines}`.slice(2)].filter(Boolean).join(', ')} }`
  const labels =
    by === 'tiers'
      ? ['s', 'l', ...(bounds.includes('tier: m') ? ['m'] : [])]
      : by === 'one'
        ? ['image']
        : ['low', 'high', 'other']
  const prices = [...labels, ...(lines ? ['input_image', 'request'] : [])]
  const list = (names: readonly string[]): string => names.map(name => `${name}: "${money(dice)}"`).join(', ')
  const units = ['input', 'output', ...(dice(2) === 0 ? ['cached_input'] : []), ...(dice(4) === 0 ? ['request'] : [])]
  const chat = dice(6) === 0 ? 'price: free' : `prices: { ${list(units)} }`
  return `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}" }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: 100000, multiplier: "${pick(dice, ['1', '0.9', '1.25', '0.333333'])}" } }
upstreams: { alpha: { url: "\${ALPHA_URL}" } }
pipeline: [auth, ratelimit, size-normalize, image-tier-billing, token-usage, telling]
families:
  pictures:
    n_max: 4
    forward: { image.generate: { all: true } }
    size-normalize:
      rule: ratio
      ratios: ["1:1", "16:9"]
      pixels_min: 1000
      otherwise: "1:1"
      send: { size: as-sent }
      pixels: { "1:1": 1254x1254 }
    telling: {}
    image-tier-billing: ${images}
  words: { forward: { chat: { all: true } }, token-usage: {} }
models:
  p-1: { family: pictures, upstream: alpha, prices: { ${list(prices)} } }
  c-1: { family: words, upstream: alpha, ${chat} }
${dice(4) === 0 ? '' : `  c-2: { family: words, upstream: alpha, prices: { ${list(['input', 'output'])} } }`}
routes:
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
`
}

type Asked = { readonly path: string; readonly body: { readonly [field: string]: unknown } }

/** Requests that specify their answer, so that two gateways get the same answers. */
export function randomRequests(dice: Dice, count: number): readonly Asked[] {
  return Array.from({ length: count }, () => {
    if (dice(2) === 0) {
      const [input, output] = [1 + dice(900), dice(700)]
      const content = JSON.stringify({ input, output, cached: dice(3) === 0 ? 0 : dice(input) })
      return {
        path: '/v1/chat/completions',
        body: { model: pick(dice, ['c-1', 'c-2']), messages: [{ role: 'user', content }] },
      }
    }
    const edge = (): number => 32 + dice(2_600)
    const came = Array.from({ length: 1 + dice(3) }, () => [edge(), edge()])
    const size = pick(dice, [undefined, '512x512', '1600x900', '3000x3000', 'auto', 'huge'])
    const quality = pick(dice, [undefined, 'low', 'high', 'ultra'])
    const told = dice(2) === 0 ? came.map(() => [edge(), edge()]) : []
    return {
      path: '/v1/images/generations',
      body: {
        model: 'p-1',
        prompt: JSON.stringify({ came, told }),
        n: 1 + dice(3),
        ...(size !== undefined && { size }),
        ...(quality !== undefined && { quality }),
        ...(dice(2) === 0 && { image: ['a', 'b'].slice(dice(2)) }),
      },
    }
  })
}

/** Runs a gateway with a configuration through all of these requests, and returns the charge of each. */
export async function askAll(
  t: Pick<Test, 'teardown'>,
  yaml: string,
  requests: readonly Asked[],
  env: { readonly [name: string]: string } = {},
) {
  const telling = createTelling()
  const started = await start(t, { yaml, upstreams: ['alpha'], plugins: [telling.plugin], env: { ...env } })
  started.upstream.answer((res, received) => {
    const body = received.json() as { prompt?: string; messages?: { content: string }[] }
    res.writeHead(200, { 'content-type': 'application/json' })
    if (body.prompt !== undefined) {
      const { came, told } = JSON.parse(body.prompt) as { came: [number, number][]; told: [number, number][] }
      telling.next({ sizes: told })
      res.end(JSON.stringify({ data: came.map(([width, height]) => picture(width, height)) }))
      return
    }
    telling.next({})
    const used = JSON.parse(body.messages?.[0]?.content ?? '{}') as { input: number; output: number; cached: number }
    const usage = {
      prompt_tokens: used.input,
      completion_tokens: used.output,
      prompt_tokens_details: { cached_tokens: used.cached },
    }
    res.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'x' } }], usage }))
  })
  const charges: (Charge | undefined)[] = []
  for (const { path, body } of requests) {
    const answer = await started.post(path, body)
    await answer.arrayBuffer()
    await started.settled()
    charges.push(await started.gateway.storage.ledger.find(answer.headers.get('x-request-id') ?? ''))
  }
  return { started, charges }
}
