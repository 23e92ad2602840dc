import { setTimeout as sleep } from 'node:timers/promises'
import { askOnce } from '../harness/ask.ts'
import type { Edits } from '../harness/start.ts'
import { readImages } from '../harness/read-images.ts'
import { type JobOrder, jobModels } from './job-order.ts'
import type { Life, Load } from './load.ts'

const job = (more: string): string => `
      job:
        id: id
        state: status
        running: [Pending]
        done: [Ready]
        failed: [Failed]
        every: 30ms
        within: 4s${more}`

const polled = job(`
        keep: { poll_url: polling_url }
        poll: { url: "{poll_url}" }`)

const stepped = job(`
        poll: { path: "/works/{id}" }
        result: { path: "/results/{id}" }`)

const family = (name: string, how: string): string => `
  ${name}:
    n_max: 4
    streams: [image.generate]
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/v1/{model}" }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]
      tier_from: [output]
      otherwise: 2K
      on_caller_gone: bill
    translate:
      request: { prompt: "{prompt}", n: "{n}" }
      answer: { at: result, picture: sample }${how}
`

/** Settings for these callers that the shipped configuration lacks. */
export const jobEdits: Edits = [
  { 'groups/default': { rpm: 100000000 } },
  ['image-tier-billing, token-usage]', 'image-tier-billing, token-usage, translate]'],
  ['\nupstreams:\n', '\nupstreams:\n  maker: { url: "${MAKER_URL}" }\n'],
  [
    '\nfamilies:\n',
    `\nfamilies:${[
      family('polled', `\n      fan_out: 2${polled}`),
      family('stepped', stepped),
      family('linked', `\n      fan_out: 4\n      links: { do: inline }${polled}`),
      family('fanned', '\n      fan_out: 3\n      stream: { each: answer }'),
    ].join('')}`,
  ],
  [
    '\nmodels:\n',
    `\nmodels:\n${jobModels.map(name => `  ${name}: { family: ${name.slice(0, -2)}, upstream: maker, prices: { 1K: "0.01", 2K: "0.03" } }\n`).join('')}`,
  ],
]

/** Answers for work that the vendor refuses, fails, or does not finish. */
const expected = /^(?:200|202|400|404|422|502 upstream_\w+|504 job_timeout)/

/** Callers who wait, who do not, and who disconnect, until the gateway of this life has ended. */
export function runJobLoad(options: {
  readonly life: Life
  readonly key: string
  readonly orders: JobOrder[]
  readonly random: () => number
  readonly clients: number
}): Load {
  const { life, key, orders, random, clients } = options
  async function ask(): Promise<void> {
    const model = jobModels[Math.floor(random() * jobModels.length)] as JobOrder['model']
    const order: JobOrder = {
      number: orders.length,
      model,
      images: 1 + Math.floor(random() * 4),
      life,
      works: [],
      produced: new Set(),
      delivered: new Set(),
      answered: undefined,
    }
    orders.push(order)
    const { number, images: n } = order
    const kind = random()
    const leaves = kind < 0.12
    const stream = kind > 0.85
    const body = { model, prompt: String(number), quality: String(number), n, ...(stream && { stream }) }
    const { status, whole, text } = await askOnce(life.url, body, {
      key,
      ...(leaves && { leave: sleep(random() * 400) }),
      ...(kind > 0.5 && !stream && { headers: { prefer: 'respond-async' } }),
    })
    for (const mark of readImages(text)) order.delivered.add(mark)
    if (!whole || status === undefined) {
      if (life.killedAt === undefined && !life.isExcused && !leaves)
        throw new Error(`request ${number} was cut although nobody was killed`)
      return
    }
    order.answered = `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`
    const isExcused = (life.isExcused && status >= 400) || (life.mayRefuse && status === 503)
    if (!expected.test(order.answered) && !isExcused)
      throw new Error(`request ${number}: ${status} ${text.slice(0, 300)}`)
    if (status < 300) life.wholeAt = performance.now()
    if (status === 202) await lookFor(order, (JSON.parse(text) as { id: string }).id)
  }
  /** Some poll their jobs repeatedly; all of them get the result at the end. */
  async function lookFor(order: JobOrder, id: string): Promise<void> {
    for (let times = Math.floor(random() * 4); times > 0 && life.killedAt === undefined; times--) {
      await sleep(random() * 200)
      const text = await readJob(life.url, key, id).catch(() => '')
      for (const mark of readImages(text)) order.delivered.add(mark)
    }
  }
  const work = async (): Promise<void> => {
    while (life.killedAt === undefined) await ask()
  }
  const over = Promise.all(Array.from({ length: clients }, work))
  over.catch(() => undefined)
  return { over }
}

/** The answer to a poll of a job. */
export async function readJob(url: string, key: string, id: string): Promise<string> {
  const answer = await fetch(`${url}/v1/jobs/${id}`, { headers: { authorization: `Bearer ${key}` } })
  return answer.text()
}
