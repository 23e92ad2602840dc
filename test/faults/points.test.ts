import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openDatabase } from '../harness/database.ts'
import { prepareSite, type Site } from '../harness/child.ts'
import { jpeg, picture } from '../harness/pictures.ts'
import { readImages } from '../harness/read-images.ts'
import { askOnce } from '../harness/ask.ts'
import { allCharges } from '../harness/shop.ts'
import { startUpstream, type Upstream } from '../harness/upstream.ts'
import { type Point, points } from './failpoints.ts'

const plugin = fileURLToPath(new URL('failpoints.ts', import.meta.url))
const alpha = { model: 'alpha-image-2', prompt: 'a boat', n: 2 }
const [one, two] = [picture(1254, 1254, jpeg), picture(1672, 941, jpeg)]
const marks = ['1254x1254', '1672x941']

// Most of a test's time is the start of one or two processes.
t.jobs = 4

type Kept = {
  readonly site: Site
  readonly upstream: Upstream
  readonly onBytes: (bytes: number) => void
  readonly revive: () => Promise<void>
}

/** A site for a gateway that dies at a failpoint; `revive` removes the failpoint, starts it again and stops it. */
async function openSite(t: Test, point?: Point): Promise<Kept> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-point-'))
  const upstream = await startUpstream()
  t.teardown(async () => {
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })
  const pieces = [`{"data":[${JSON.stringify(one)}`, `,${JSON.stringify(two)}`, ']}'] as const
  // Each piece is sent when the caller has received the previous one.
  const steps = pieces.map(() => Promise.withResolvers<void>())
  upstream.answer(async res => {
    res.on('error', () => undefined)
    res.writeHead(200, { 'content-type': 'application/json' })
    for (const [i, piece] of pieces.entries()) {
      res.write(piece)
      if (i < 2) await steps[i]?.promise
    }
    res.end()
  })
  const onBytes = (bytes: number): void => {
    if (bytes >= pieces[0].length) steps[0]?.resolve()
    if (bytes >= pieces[0].length + pieces[1].length) steps[1]?.resolve()
  }
  const upstreams = { alpha: upstream.url, beta: upstream.url }
  const named = `"${plugin}": { point: ${point} }`
  const site = await prepareSite(folder, {
    upstreams,
    ...(point && { edit: [['[auth, ratelimit,', `[auth, { ${named} }, ratelimit,`]] }),
  })
  return {
    site,
    upstream,
    onBytes,
    async revive() {
      const child = site.start()
      await child.ready
      await child.stop()
    },
  }
}

/**
 * The only charge, or undefined; also checks that the books are valid and nothing is held. Opening as a `gateway`
 * recovers them first.
 */
async function readCharge(t: Test, site: Site, role: 'gateway' | 'tool' = 'tool') {
  const storage = await openDatabase({ url: `sqlite:${site.database}`, role })
  t.strictSame((await storage.books.verify()).problems, [])
  t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 0 }])
  const charges = await allCharges(storage.books)
  await storage.close()
  t.ok(charges.length <= 1)
  return charges[0]
}

const review = { state: 'needs_review', reason: 'gateway_stopped', amount: 0, lines: [] }
const settled = (images: number, reason: string | null) => ({
  state: 'settled',
  reason,
  amount: images * 40_000,
  lines: Array.from({ length: images }, (_, index) => ({ index, tier: '2K' })),
})

/**
 * For each failpoint: the charge after a restart, the images that the caller received, and whether the upstream was
 * called.
 */
const expected: { readonly [point in Point]: { charge: object | undefined; delivered: number; calls: number } } = {
  'before-hold': { charge: undefined, delivered: 0, calls: 0 },
  'after-hold': { charge: review, delivered: 0, calls: 0 },
  'before-dispatch': { charge: review, delivered: 0, calls: 0 },
  'after-head': { charge: review, delivered: 0, calls: 1 },
  'before-line-0': { charge: review, delivered: 0, calls: 1 },
  'after-line-0': { charge: settled(1, 'gateway_stopped'), delivered: 0, calls: 1 },
  'before-line-1': { charge: settled(1, 'gateway_stopped'), delivered: 1, calls: 1 },
  'after-line-1': { charge: settled(2, 'gateway_stopped'), delivered: 1, calls: 1 },
  'before-release-1': { charge: settled(2, 'gateway_stopped'), delivered: 1, calls: 1 },
  'after-release-1': { charge: settled(2, 'gateway_stopped'), delivered: 2, calls: 1 },
  'before-settle': { charge: settled(2, 'gateway_stopped'), delivered: 2, calls: 1 },
  'after-settle': { charge: settled(2, null), delivered: 2, calls: 1 },
}

for (const point of points) {
  t.test(`killed at ${point}, a gateway recovers the charge after its restart [B4]`, { buffered: true }, async t => {
    const { site, upstream, onBytes } = await openSite(t, point)
    const child = site.start()
    const answer = await askOnce(await child.ready, alpha, { key: site.key, onBytes })
    t.equal(await child.gone, 'SIGKILL')
    t.notOk(answer.whole)
    t.strictSame(readImages(answer.text), marks.slice(0, expected[point].delivered), 'what the caller has')
    t.equal(upstream.received.length, expected[point].calls)
    const db = new DatabaseSync(site.database)
    const open = db.prepare(`SELECT count(*) AS n FROM charge WHERE state = 'reserved'`).get()?.['n']
    db.close()
    t.equal(open, expected[point].charge && point !== 'after-settle' ? 1 : 0, 'what remains')
    t.match(await readCharge(t, site, 'gateway'), expected[point].charge)
  })
}

t.test('killed during the upstream call and right after the answer: for review, and settled [B4] [row 16]', async t => {
  const { site, upstream, revive } = await openSite(t)
  const arrived = Promise.withResolvers<void>()
  upstream.answerOnce(() => arrived.resolve())
  const child = site.start()
  const pending = askOnce(await child.ready, alpha, { key: site.key })
  await arrived.promise
  await child.kill()
  t.notOk((await pending).whole)
  await revive()
  t.match(await readCharge(t, site), review)

  const second = await openSite(t)
  const again = second.site.start()
  const answer = await askOnce(await again.ready, alpha, { key: second.site.key, onBytes: second.onBytes })
  await again.kill()
  t.strictSame(readImages(answer.text), marks)
  await second.revive()
  t.match(await readCharge(t, second.site), settled(2, null))
})

t.test('an Idempotency-Key survives a crash: no second picture, and the stored answer [B12]', async t => {
  const { site, upstream, onBytes } = await openSite(t)
  const first = site.start()
  const url = await first.ready
  const done = await askOnce(url, alpha, { key: site.key, onBytes, headers: { 'idempotency-key': 'done' } })
  const arrived = Promise.withResolvers<void>()
  upstream.answerOnce(() => arrived.resolve())
  const lost = askOnce(url, alpha, { key: site.key, headers: { 'idempotency-key': 'lost' } })
  await arrived.promise
  await first.kill()
  await lost

  const second = site.start()
  const next = await second.ready
  t.match(await askOnce(next, alpha, { key: site.key, headers: { 'idempotency-key': 'done' } }), {
    status: 200,
    text: done.text,
    headers: { 'idempotent-replayed': 'true' },
  })
  const refused = await askOnce(next, alpha, { key: site.key, headers: { 'idempotency-key': 'lost' } })
  t.match(refused, { status: 409, headers: { 'x-should-retry': 'false' } })
  t.match(refused.json(), { error: { code: 'already_completed' } })
  t.equal(upstream.received.length, 2)
  await second.stop()
})
