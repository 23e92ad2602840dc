import { rename } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { definePlugin } from '../../src/plugin-api/index.ts'
import { type Clock, systemTimers } from '../../src/util/index.ts'
import { png } from '../harness/pictures.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, quietLog, start, type Started, type StartOptions } from '../harness/start.ts'
import type { Received, Upstream } from '../harness/upstream.ts'

const jobs: Edits = [
  ['image-tier-billing, token-usage]', 'image-tier-billing, token-usage, translate]'],
  ['\nupstreams:\n', '\nupstreams:\n  maker: { url: "${MAKER_URL}" }\n'],
  [
    '\nfamilies:\n',
    `
families:
  maker-picture:
    n_max: 4
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/v1/{model}" }
    image-tier-billing: { tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }], tier_from: [output], otherwise: 2K }
    translate:
      request: { prompt: "{prompt}" }
      fan_out: 4
      answer: { at: result, picture: sample }
      job:
        id: id
        poll: { path: "/works/{id}" }
        state: status
        running: [Pending]
        done: [Ready]
        failed: [Failed]
        every: 20ms
        within: 20m
`,
  ],
  [
    '\nmodels:\n',
    '\nmodels:\n  maker-1: { family: maker-picture, upstream: maker, prices: { 1K: "0.01", 2K: "0.03" } }\n',
  ],
]
const gone: Edits = [[/\n  maker-1: .*\n/, '\n']]
const there: Edits = jobs.slice(-1)

const sample = png(512, 512).toString('base64')
const ready = { status: 'Ready', result: { sample } }
const pending = { status: 'Pending' }
const request = { model: 'maker-1', prompt: 'a cat' }
const detached = { prefer: 'respond-async' }

/** The system's time, which a test can advance; `look` runs the periodic tasks of every few seconds. */
type Time = Clock & { move(ms: number): void; look(): void }

function openTime(): Time {
  let ahead = 0
  const looks: (() => void)[] = []
  return {
    ...systemTimers,
    now: () => Date.now() + ahead,
    tick: () => performance.now() + ahead,
    every(ms, run) {
      if (ms === 5_000) looks.push(run)
      return systemTimers.every(ms, run)
    },
    move(ms) {
      ahead += ms
    },
    look: () => looks.forEach(run => run()),
  }
}

type Vendor = {
  readonly upstream: Upstream
  /** The answer to a poll of each job, by its number from 1; a number is a status. */
  says: (work: number, polls: number) => object | number
  /** Runs before the answer is sent. */
  before: (method: string) => Promise<void>
  /** The submissions that are refused. */
  readonly refuses: Set<number>
  polls: number
}

function openVendor({ upstreams }: Started): Vendor {
  const upstream = upstreams['maker'] as Upstream
  let works = 0
  const vendor: Vendor = {
    upstream,
    says: () => pending,
    before: () => Promise.resolve(),
    refuses: new Set(),
    polls: 0,
  }
  upstream.answer(async (res: ServerResponse, { method, url }: Received) => {
    const work = method === 'POST' ? ++works : Number(/\d+$/.exec(url)?.[0])
    if (method === 'GET') vendor.polls++
    const reply = method === 'POST' ? { id: `work-${work}` } : vendor.says(work, vendor.polls)
    await vendor.before(method)
    const status = method === 'POST' && vendor.refuses.has(work) ? 400 : typeof reply === 'number' ? reply : 200
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(JSON.stringify(status === 200 ? reply : { error: { message: 'it says no' } }))
  })
  return vendor
}

type Stand = Started & { readonly vendor: Vendor; readonly time: Time; readonly warned: readonly string[] }

function faulty(
  title: string,
  run: (t: Test, stand: Stand) => Promise<Started | void>,
  more: Partial<StartOptions> & { readonly edits?: Edits } = {},
): void {
  void t.test(`[10.5] ${title}`, async t => {
    const time = openTime()
    const { edits = [], ...options } = more
    const warned: string[] = []
    const log = { ...quietLog(), warn: (_facts: object, text: string) => void warned.push(text) }
    const first = await start(t, { edit: [...jobs, ...edits], upstreams: ['maker'], clock: time, log, ...options })
    const last = (await run(t, { ...first, vendor: openVendor(first), time, warned })) ?? first
    await last.settled()
    t.strictSame(await checkBooks(last.gateway), [], 'the books hold')
    t.strictSame(await last.gateway.storage.jobs.own(), [], 'no job remains')
  })
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1_500; i++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('it never came to that')
}

type Told = { readonly status: string; readonly response: unknown }

async function tell(started: Started, key: string, id: string): Promise<Told> {
  const answer = await started.get(`/v1/jobs/${id}`, { authorization: `Bearer ${key}` })
  return (await answer.json()) as Told
}

async function ended(started: Started, key: string, id: string): Promise<Told> {
  await until(async () => (await tell(started, key, id)).status !== 'running')
  return tell(started, key, id)
}

async function chooseSecretOutput({ post }: Started, n = 1): Promise<string> {
  const res = await post('/v1/images/generations', { ...request, n }, detached)
  return ((await res.json()) as { id: string }).id
}

faulty('a job whose time passed while no gateway was there is asked for before it is given up', async (t, stand) => {
  const id = await chooseSecretOutput(stand)
  await stand.gateway.close()
  stand.time.move(3_600_000)
  stand.vendor.says = () => ready
  const again = await stand.reopen()
  t.match(await ended(again, stand.key, id), { status: 'succeeded', response: { data: [{ b64_json: sample }] } })
  t.match(await again.charges(), [{ id, state: 'settled', amount: '0.01' }])
  return again
})

faulty(
  'a job that never ends is given up when its time is over: its charge is for a person to see',
  async (t, stand) => {
    const id = await chooseSecretOutput(stand)
    const waited = stand.post('/v1/images/generations', request)
    await until(() => stand.vendor.polls >= 4)
    stand.time.move(3_600_000)
    t.match(await ended(stand, stand.key, id), { status: 'failed', response: { error: { code: 'job_timeout' } } })
    t.match(await (await waited).json(), { error: { code: 'job_timeout' } })
    t.match(await stand.charges(), [
      { state: 'needs_review', amount: '0.00' },
      { state: 'needs_review', amount: '0.00' },
    ])
  },
)

faulty('an upstream that fails for a while, or breaks off, is asked on', async (t, stand) => {
  stand.vendor.says = (_work, polls) => (polls < 4 ? 500 : polls === 4 ? 429 : ready)
  const res = await stand.post('/v1/images/generations', request)
  t.match(await res.json(), { data: [{ b64_json: sample }] })
  t.match(await stand.charges(), [{ state: 'settled', amount: '0.01' }])
})

faulty('a job that the upstream has forgotten has failed, and costs nothing', async (t, stand) => {
  stand.vendor.says = () => 404
  const id = await chooseSecretOutput(stand)
  t.match(await ended(stand, stand.key, id), { status: 'failed', response: { error: { message: 'it says no' } } })
  t.match(await stand.charges(), [{ id, state: 'voided' }])
})

faulty('work of which some was refused is asked for by whoever has promised it', async (t, stand) => {
  stand.vendor.refuses.add(2)
  stand.vendor.says = () => ready
  const id = await chooseSecretOutput(stand, 3)
  t.match(await ended(stand, stand.key, id), { status: 'succeeded' })
  t.match(await stand.charges(), [{ id, state: 'settled', amount: '0.02' }])
})

faulty(
  'a model that is gone from the file leaves its job running: it goes on when the model is there again',
  async (t, stand) => {
    const id = await chooseSecretOutput(stand)
    await stand.reload(gone)
    const without = await stand.reopen()
    stand.vendor.says = () => ready
    t.match(await tell(without, stand.key, id), { status: 'running' })
    t.match(await without.charges(), [{ id, state: 'reserved' }])
    await stand.reload(there)
    const again = await without.reopen()
    t.match(await ended(again, stand.key, id), { status: 'succeeded' })
    t.match(await again.charges(), [{ id, state: 'settled', amount: '0.01' }])
    return again
  },
)

faulty('a job whose model stays away is given up in its time, and its charge ends with it', async (t, stand) => {
  const id = await chooseSecretOutput(stand)
  await stand.gateway.close()
  await stand.reload(gone)
  stand.time.move(3_600_000)
  const again = await stand.reopen()
  await until(() => stand.warned.includes('a job could not be polled'))
  t.match(await tell(again, stand.key, id), { status: 'running' }, 'for a minute it may come back')
  stand.time.move(60_000)
  stand.time.look()
  t.match(await ended(again, stand.key, id), { status: 'failed', response: { error: { code: 'job_unplanned' } } })
  t.match(await again.charges(), [{ id, state: 'needs_review', reason: 'job_unplanned', amount: '0.00' }])
  return again
})

faulty('a job of which some was paid, and the rest never ends, is answered with what there is', async (t, stand) => {
  stand.vendor.says = work => (work === 1 ? ready : pending)
  const id = await chooseSecretOutput(stand, 2)
  await until(async () => ((await stand.gateway.storage.ledger.find(id))?.lines.length ?? 0) > 0)
  await stand.gateway.close()
  stand.time.move(3_600_000)
  const again = await stand.reopen()
  t.match(await ended(again, stand.key, id), { status: 'succeeded', response: { data: [{ b64_json: sample }] } })
  t.match(await again.charges(), [{ id, state: 'settled', amount: '0.01' }])
  return again
})

for (const [says, forgotten] of [
  ['forgets all of it', [1, 2]],
  ['forgets what has gone out, and has the rest', [1]],
] as const)
  faulty(`a job of which some was paid, and whose upstream then ${says}, ends at what was paid`, async (t, stand) => {
    stand.vendor.says = work => (work === 1 ? ready : pending)
    const id = await chooseSecretOutput(stand, 2)
    await until(async () => ((await stand.gateway.storage.ledger.find(id))?.lines.length ?? 0) > 0)
    await stand.gateway.close()
    stand.vendor.says = work => ((forgotten as readonly number[]).includes(work) ? 404 : ready)
    const again = await stand.reopen()
    t.match(await ended(again, stand.key, id), { status: 'failed' }, says)
    t.match(await again.charges(), [{ id, state: 'settled', amount: '0.01' }], says)
    return again
  })

faulty('what came after its charge had ended is not handed out beside what was paid', async (t, stand) => {
  stand.vendor.says = work => (work === 1 ? ready : pending)
  const id = await chooseSecretOutput(stand, 2)
  await until(() => stand.vendor.polls >= 4)
  stand.time.move(3_600_000)
  await ended(stand, stand.key, id)
  await stand.gateway.close()
  const db = new DatabaseSync(join(stand.folder, 'tollgate.db'), { timeout: 5_000 })
  db.exec(`UPDATE job SET state = 'running', ended_at = NULL`)
  db.close()
  stand.vendor.says = () => ready
  const again = await stand.reopen()
  t.match(await ended(again, stand.key, id), { status: 'failed', response: { error: { code: 'charge_not_recorded' } } })
  t.match(await again.charges(), [{ id, state: 'settled', amount: '0.01' }])
  return again
})

faulty('images whose charge waits for a person are not handed out', async (t, stand) => {
  const id = await chooseSecretOutput(stand)
  await stand.gateway.close()
  const db = new DatabaseSync(join(stand.folder, 'tollgate.db'), { timeout: 5_000 })
  db.exec(`UPDATE key SET held = 0; UPDATE charge SET state = 'needs_review', reason = 'by hand', ended_at = 1`)
  db.close()
  stand.vendor.says = () => ready
  const again = await stand.reopen()
  t.match(await ended(again, stand.key, id), { status: 'failed', response: { error: { code: 'job_in_review' } } })
  return again
})

/** Removes and restores the database file. */
function fileOf({ folder, gateway }: Started): { away(): Promise<void>; back(): Promise<void> } {
  const file = join(folder, 'tollgate.db')
  return {
    away: () => rename(file, `${file}.away`),
    async back() {
      await rename(`${file}.away`, file)
      await until(() => gateway.storage.ledger.healthy())
    },
  }
}

faulty('work that cannot be written down is waited for all the same', async (t, stand) => {
  const file = fileOf(stand)
  stand.vendor.before = method => (method === 'POST' ? file.away() : Promise.resolve())
  const res = stand.post('/v1/images/generations', request, detached)
  await until(() => stand.vendor.polls > 1)
  await file.back()
  stand.vendor.says = () => ready
  t.match(await (await res).json(), { data: [{ b64_json: sample }] })
  t.match(await stand.charges(), [{ state: 'settled', amount: '0.01' }])
})

faulty('a job that ends while nothing can be written is asked for again when it can', async (t, stand) => {
  const file = fileOf(stand)
  const id = await chooseSecretOutput(stand)
  await until(() => stand.vendor.polls > 0)
  let isAway = false
  stand.vendor.before = async method => {
    if (isAway || method === 'POST') return
    isAway = true
    await file.away()
  }
  stand.vendor.says = () => ready
  await until(() => isAway && !stand.gateway.storage.ledger.healthy())
  stand.time.move(10_001)
  await until(() => stand.warned.includes('a job could not be polled'))
  await file.back()
  stand.time.look()
  t.match(await ended(stand, stand.key, id), { status: 'succeeded', response: { data: [{ b64_json: sample }] } })
  t.match(await stand.charges(), [{ id, state: 'settled', amount: '0.01' }])
})

const doubtful = definePlugin({
  name: 'doubtful',
  create(_options, { stores }) {
    const open = stores.jobs.open.bind(stores.jobs)
    stores.jobs.open = async (job, mode) => {
      await open(job, mode)
      throw new Error('the commit was heard of by nobody')
    }
    return {}
  },
})

faulty(
  'a row that was written although nobody heard of it ends with its exchange',
  async (t, stand) => {
    stand.vendor.says = () => ready
    const res = await stand.post('/v1/images/generations', request)
    t.match(await res.json(), { data: [{ b64_json: sample }] })
    const [charge] = await stand.charges()
    t.match(await tell(stand, stand.key, charge?.id ?? ''), { status: 'succeeded' })
  },
  { plugins: [doubtful], edits: [['pipeline: [auth,', 'pipeline: [doubtful, auth,']] },
)

faulty('a reload changes neither a job nor what it costs', async (t, stand) => {
  const id = await chooseSecretOutput(stand)
  await stand.reload([['prices: { 1K: "0.01", 2K: "0.03" }', 'prices: { 1K: "0.07", 2K: "0.09" }']])
  stand.vendor.says = () => ready
  t.match(await ended(stand, stand.key, id), { status: 'succeeded' })
  t.match(await stand.charges(), [{ id, state: 'settled', amount: '0.01' }])
})
