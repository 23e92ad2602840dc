import t from 'tap'
import { startSimulator } from '../../src/simulator/index.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start } from '../harness/start.ts'

const simulator = await startSimulator()
t.teardown(() => simulator.close())

/** A vendor that is simulated next to the gateway, and described in its file. */
function vendor(name: string, credential: string, family: string): Edits {
  return [
    ['size-normalize, image-tier-billing, token-usage]', 'size-normalize, image-tier-billing, token-usage, translate]'],
    ['\nupstreams:\n', `\nupstreams:\n  maker: { url: "${simulator.url(name)}", credential: ${credential} }\n`],
    [
      '\nfamilies:\n',
      `
families:
  maker-picture:
    n_max: 4
    streams: [image.generate]
    forward: { image.generate: { all: true } }
    size-normalize: { rule: snap, resolutions: [{ label: 1K, long_edge_max: 1400 }, { label: 2K }], ratios: ["1:1", "16:9"], otherwise: 1K }
    image-tier-billing: { tiers: [{ tier: 1K, long_edge_max: 1400 }, { tier: 2K }], tier_from: [output], otherwise: 2K }
${family}
`,
    ],
    {
      'models/maker-1': {
        family: 'maker-picture',
        upstream: 'maker',
        send_as: 'gemini-3.1-flash-image',
        prices: { '1K': '0.067', '2K': '0.101' },
      },
    },
  ]
}

const gemini = vendor(
  'gemini',
  '{ header: x-goog-api-key, value: any }',
  `    calls:
      image.generate: { path: "/v1beta/models/{model}:generateContent", stream: { path: "/v1beta/models/{model}:streamGenerateContent", query: { alt: sse } } }
    translate:
      request:
        contents: [{ role: user, parts: [{ text: "{prompt}" }] }]
        generationConfig: { responseModalities: [IMAGE], imageConfig: { aspectRatio: "{ratio}", imageSize: "{resolution}" } }
      answer: { at: candidates.content.parts, picture: inlineData.data, skip_if: { thought: true } }
      fan_out: 2
      refused: [{ if: { promptFeedback.blockReason: any }, message: promptFeedback.blockReason }]
      stream: { each: answer }`,
)

t.test('[10] a simulated vendor is called as described, and the bill matches its record', async t => {
  const started = await start(t, { edit: gemini, upstreams: [] })
  const made = async (prompt: string) =>
    (await (await fetch(`${simulator.url('gemini')}/made?prompt=${encodeURIComponent(prompt)}`)).json()) as {
      pictures: number
      cost: string
    }
  for (const [prompt, pictures, cost] of [
    ['plain', 4, '0.404'],
    ['thinking [[thoughts 2]]', 4, '0.404'],
    ['a part is lost [[refuse-every 2]]', 2, '0.202'],
  ] as const) {
    const res = await started.post('/v1/images/generations', { model: 'maker-1', prompt, n: 4, size: '1920x1080' })
    t.equal(res.status, 200, prompt)
    const { data } = (await res.json()) as { data: readonly unknown[] }
    t.equal(data.length, pictures, prompt)
    t.match(await made(prompt), { pictures, cost }, prompt)
  }
  const refused = await started.post('/v1/images/generations', { model: 'maker-1', prompt: '[[refused]]' })
  t.not(refused.status, 200)
  await started.settled()
  t.strictSame(await checkBooks(started.gateway), [], 'the books hold')
  const charges = await started.charges()
  t.equal(sum(charges.map(({ count }) => count ?? 0)), 10)
  // In micro-units, so that the sum is exact.
  t.equal(sum(charges.map(({ amount }) => Math.round(Number(amount) * 1_000_000))), 1_010_000)
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
