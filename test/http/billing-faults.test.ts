import { rename } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Clock, definePlugin, type RequestContext, type Reply, type Stage, systemTimers } from '../../src/index.ts'
import { form } from '../harness/forms.ts'
import { jpeg, picture, png } from '../harness/pictures.ts'
import { askOnce, billed, type Shop } from '../harness/shop.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const json = { 'content-type': 'application/json' }

/** An answer in pieces, each sent on a signal; it also signals the arrival of the request. */
function inPieces(
  pieces: readonly (string | Buffer)[],
  before: (piece: number) => Promise<unknown> | undefined,
): Reaction {
  return async res => {
    res.on('error', () => undefined)
    for (const [i, piece] of pieces.entries()) {
      await before(i)
      if (i === 0) res.writeHead(200, json)
      res.write(piece)
    }
    await before(pieces.length)
    res.end()
  }
}

function cutUp(text: string, count: number): string[] {
  const step = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, i) => text.slice(i * step, (i + 1) * step))
}

billed(
  'a client that leaves after the upstream has the request is charged once for what was made [B10] [row 2] [row 4]',
  {},
  async (t, shop) => {
    const text = JSON.stringify({ created: 1, data: [picture(1254, 1254, jpeg), picture(3000, 40, jpeg)] })
    const points = 20
    for (let point = 0; point < points; point++) {
      const leave = Promise.withResolvers<void>()
      const left = Promise.withResolvers<void>()
      shop.upstreams['alpha']?.answer(
        inPieces(cutUp(text, points - 1), piece => {
          if (piece !== point) return undefined
          leave.resolve()
          return left.promise
        }),
      )
      const pending = shop.ask({ ...alpha, n: 2 }, { leave: leave.promise })
      await pending
      left.resolve()
      const [charge] = await shop.charges(1)
      t.match(charge, { state: 'settled', count: 2, amount: '0.12' }, `left before piece ${point}`)
      t.not(charge?.delivery, 'confirmed', caseName({ point }))
      t.equal(shop.upstreams['alpha']?.received.length, point + 1, 'the upstream was called once')
    }
    t.match(await shop.logs(1), [{ outcome: 'caller_gone' }])
  },
)

const gate = Promise.withResolvers<void>()
/** Delays the end of every answer until the test opens the gate. */
const gated = definePlugin({
  name: 'gated',
  create: () => ({
    onReply: (_context, reply) => ({
      ...reply,
      stages: [...reply.stages, { write: chunk => chunk, end: () => gate.promise.then(() => []) }],
    }),
  }),
})

billed(
  'a client that closes with every promised byte has not left early',
  { plugins: [gated], edit: [['pipeline: [auth', 'pipeline: [gated, auth']] },
  async (t, shop) => {
    const body = Buffer.from(JSON.stringify({ created: 1, data: [picture(1254, 1254)] }))
    shop.upstreams['alpha']?.answer(res => {
      res.writeHead(200, { ...json, 'content-length': String(body.length) }).end(body)
    })
    const closed = Promise.withResolvers<void>()
    const server = createServer((req, res) => {
      res.once('close', () => closed.resolve())
      shop.gateway.listener(req, res)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    // With `agent: false` the connection closes with the answer's last byte, as with curl.
    const answered = await askOnce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, alpha, shop)
    t.equal(answered.whole, true)
    await closed.promise
    gate.resolve()
    t.match(await shop.logs(1), [{ outcome: 'answered', status: 200 }])
    t.match(await shop.charges(1), [{ state: 'settled', delivery: 'confirmed' }])
  },
)

billed(
  'with on_caller_gone: free the call is ended and only delivered images are paid [B10] [row 3]',
  { edit: [['on_caller_gone: bill ', 'on_caller_gone: free ']] },
  async (t, shop) => {
    const text = JSON.stringify({ created: 1, data: [picture(1254, 1254, jpeg), picture(3000, 40, jpeg)] })
    const seen: object[] = []
    for (const point of [0, 3, 15]) {
      const leave = Promise.withResolvers<void>()
      const aborted = Promise.withResolvers<void>()
      const pieces = inPieces(cutUp(text, 18), piece => {
        if (piece !== point) return undefined
        leave.resolve()
        return aborted.promise
      })
      shop.upstreams['alpha']?.answer((res, got, req) => {
        res.on('close', aborted.resolve)
        return pieces(res, got, req)
      })
      await shop.ask({ ...alpha, n: 2 }, { leave: leave.promise })
      await aborted.promise
      const [charge] = await shop.charges(1)
      seen.push({ state: charge?.state, count: charge?.count, amount: charge?.amount, reason: charge?.reason })
    }
    t.strictSame(seen, [
      { state: 'voided', count: 0, amount: '0.00', reason: 'caller_gone' },
      { state: 'voided', count: 0, amount: '0.00', reason: 'caller_gone' },
      { state: 'settled', count: 1, amount: '0.04', reason: 'cut_by_caller' },
    ])
  },
)

billed(
  'of 200 clients that leave at once 64 answers are read on and charged; the rest are ended, cost nothing and are for review [B11] [row 3]',
  {},
  async (t, shop) => {
    const gate = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    let waiting = 0
    let closed = 0
    const brokenOff = Promise.withResolvers<void>()
    shop.upstreams['alpha']?.answer(async (res, _got, req) => {
      req.socket.on('close', () => {
        if (++closed === 136) brokenOff.resolve()
      })
      if (++waiting === 200) arrived.resolve()
      await gate.promise
      res.writeHead(200, json).end(JSON.stringify({ data: [picture(1254, 1254)] }))
    })
    const pending = Array.from({ length: 200 }, () => shop.ask(alpha, { leave: arrived.promise }))
    await Promise.all(pending)
    // The other requests have released the upstream before it answers.
    await brokenOff.promise
    while (shop.gateway.open > 64) await new Promise(resolve => setImmediate(resolve))
    t.equal(shop.gateway.open, 64)
    gate.resolve()
    const states = (await shop.charges(200)).map(charge => `${charge.state} ${charge.amount}`)
    t.equal(states.filter(state => state === 'settled 0.04').length, 64)
    t.equal(states.filter(state => state === 'needs_review 0.00').length, 136)
    shop.overrule(Array.from({ length: 64 }, () => '1254x1254'))
  },
)

billed(
  'a client that leaves during its upload costs nothing, and no upstream is called [row 1]',
  {},
  async (t, shop) => {
    const { body, contentType } = form({ ...alpha, image: png(600, 600) })
    const sent = request(new URL('/v1/images/edits', shop.url), {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${shop.key}`,
        'content-type': contentType,
        'content-length': String(body.length),
      },
    })
    sent.on('error', () => undefined)
    sent.write(body.subarray(0, body.length - 20))
    while (shop.gateway.open === 0) await new Promise(resolve => setImmediate(resolve))
    const closed = new Promise(resolve => sent.on('close', resolve))
    sent.destroy()
    await closed
    t.strictSame(await shop.charges(), [])
    t.equal(shop.upstreams['alpha']?.received.length, 0)
  },
)

billed(
  'an unreachable upstream costs nothing, and the SDK may retry [row 5]',
  { env: { ALPHA_URL: 'http://127.0.0.1:1' } },
  async (t, shop) => {
    const answer = await shop.ask(alpha)
    t.match(answer, { status: 502 })
    t.equal(answer.headers['x-should-retry'], undefined)
    t.match(await shop.charges(), [{ state: 'voided', reason: 'not_sent', amount: '0.00' }])
  },
)

billed('a refusal of the upstream costs nothing, and the client gets its status [row 6]', {}, async (t, shop) => {
  for (const status of [400, 404, 413, 422, 429, 500, 503, 529]) {
    shop.upstreams['alpha']?.answer(
      res => void res.writeHead(status, { ...json, 'retry-after': '9' }).end('{"error":{"message":"no"}}'),
    )
    const answer = await shop.ask(alpha)
    t.match(answer, { status, headers: { 'retry-after': '9' } }, caseName({ status }))
    t.match(await shop.charges(1), [{ state: 'voided', reason: 'upstream_refused', amount: '0.00' }], String(status))
  }
})

billed(
  'an upstream that breaks off after some images is paid for those, and the client is cut, never ended cleanly [row 8]',
  {},
  async (t, shop) => {
    const [one, two, three] = [picture(1254, 1254), picture(3000, 40), picture(1672, 941, jpeg)].map(image =>
      JSON.stringify(image),
    )
    const rows: readonly [string, number, 'reset' | 'end'][] = [
      [`{"data":[${one}`, 1, 'reset'],
      [`{"data":[${one},${two}`, 2, 'end'],
      [`{"data":[${one},${two},${three?.slice(0, -6_000)}`, 2, 'reset'],
    ]
    for (const [text, count, how] of rows) {
      shop.upstreams['alpha']?.answer(res => {
        res.writeHead(200, { ...json, 'content-length': '999999' })
        res.write(text, () => (how === 'reset' ? res.socket?.resetAndDestroy() : res.socket?.end()))
      })
      const answer = await shop.ask({ ...alpha, n: 3 })
      t.match(answer, { status: 200, whole: false }, caseName({ text, count, how }))
      t.match(
        await shop.charges(1),
        [{ state: 'settled', count, delivery: 'partial', reason: 'cut_by_upstream' }],
        caseName({ text, count, how }),
      )
    }
  },
)

billed(
  'an upstream that stalls in its answer is cut off, and incomplete images cost nothing [row 7] [row 8]',
  { edit: [[/idle: 120s, total: 15m/, 'idle: 300ms, total: 15m']] },
  async (t, shop) => {
    shop.upstreams['alpha']?.answer(
      res => void res.writeHead(200, json).write(`{"data":[${JSON.stringify(picture(1254, 1254))},{"b64_json":"iVBOR`),
    )
    t.match(await shop.ask({ ...alpha, n: 2 }), { whole: false })
    t.match(await shop.charges(1), [{ state: 'settled', count: 1, amount: '0.04', reason: 'cut_by_deadline' }])
  },
)

type Fault = { readonly hook: string; readonly how: 'throws' | 'rejects' }
const faultOf = (context: RequestContext): Fault | undefined => {
  const wanted = context.head.headers['x-fault']
  if (typeof wanted !== 'string') return undefined
  const [hook = '', how] = wanted.split(' ')
  return { hook, how: how as Fault['how'] }
}

function fault(context: RequestContext, hook: string): undefined | Promise<undefined> {
  const wanted = faultOf(context)
  if (wanted?.hook !== hook) return undefined
  if (wanted.how === 'throws') throw new Error(`${hook} fails at once`)
  return Promise.resolve().then(() => {
    throw new Error(`${hook} fails a little later`)
  })
}

function faultyStage(context: RequestContext): Stage {
  return {
    write: chunk => fault(context, 'write')?.then(() => chunk) ?? chunk,
    end: () => fault(context, 'end')?.then(() => []) ?? [],
  }
}

const faulty = (name: string) =>
  definePlugin({
    name,
    create: () => ({
      onRequest: context => fault(context, `${name}.onRequest`),
      onBody: (context, body) => fault(context, `${name}.onBody`)?.then(() => body) ?? body,
      onTarget: context => fault(context, `${name}.onTarget`),
      onAdmit: context => fault(context, `${name}.onAdmit`),
      onForward: (context, out) => fault(context, `${name}.onForward`)?.then(() => out) ?? out,
      onReply: (context, reply): Reply | Promise<Reply> =>
        fault(context, `${name}.onReply`)?.then(() => reply) ?? {
          ...reply,
          stages: name === 'above' ? [...reply.stages, faultyStage(context)] : reply.stages,
        },
      onSettle: context => fault(context, `${name}.onSettle`),
    }),
  })

billed(
  'whatever fails in a plugin, at once or later, every hold ends: released before the upstream has the request, for review after, paid if an image arrived [B6]',
  {
    plugins: [faulty('above'), faulty('below')],
    edit: [
      {
        pipeline: [
          'auth',
          'above',
          'ratelimit',
          'multipart-rewrite',
          'size-normalize',
          'image-tier-billing',
          'below',
          'token-usage',
        ],
      },
    ],
  },
  async (t, shop) => {
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    const before = { count: 0 }
    const voided = { state: 'voided', reason: 'not_sent' }
    const review = { state: 'needs_review', count: 0 }
    const rows: readonly [string, object | undefined][] = [
      ['above.onRequest', undefined],
      ['above.onBody', undefined],
      ['above.onTarget', undefined],
      ['above.onAdmit', undefined],
      ['above.onForward', voided],
      ['above.onReply', review],
      ['above.onSettle', { state: 'settled', count: 1 }],
      ['below.onRequest', undefined],
      ['below.onBody', undefined],
      ['below.onTarget', undefined],
      ['below.onAdmit', voided],
      ['below.onForward', voided],
      ['below.onReply', review],
      ['below.onSettle', { state: 'settled', count: 1 }],
      // This stage runs after the billing stage, so it sees what was already charged.
      ['write', { state: 'settled', count: 1 }],
      ['end', { state: 'settled', count: 1 }],
    ]
    for (const [hook, charge] of rows) {
      for (const how of ['throws', 'rejects']) {
        const known = (await shop.charges(200)).length
        const answer = await shop.ask(alpha, { headers: { 'x-fault': `${hook} ${how}` } })
        const charges = await shop.charges(200)
        if (charge === undefined) t.equal(charges.length, known + before.count, `${hook} ${how}: no charge`)
        else t.match(charges[0], charge, `${hook} ${how}`)
        if (hook.endsWith('onSettle')) t.equal(answer.status, 200, caseName({ hook, charge, how }))
        else t.notOk(answer.status === 200 && answer.whole, `${hook} ${how}: the caller is not told that all is well`)
        if (charge === review)
          t.equal(answer.headers['x-should-retry'], 'false', `${hook} ${how}: not to be tried again`)
      }
    }
    t.match(await shop.gateway.storage.keys.list({ limit: 1_000 }), [{ held: 0 }])
  },
)

/** Removes and restores the database file: the storage notices, stops writing, and then continues. */
function ledgerOf(shop: Shop): { away(): Promise<void>; back(): Promise<void> } {
  const file = join(shop.folder, 'tollgate.db')
  return { away: () => rename(file, `${file}.away`), back: () => rename(`${file}.away`, file) }
}

/** A clock whose monotonic time can be advanced. */
function movableClock(): Clock & { move(ms: number): void } {
  let ahead = 0
  return {
    now: () => Date.now(),
    tick: () => performance.now() + ahead,
    ...systemTimers,
    move(ms) {
      ahead += ms
    },
  }
}

billed(
  'while the ledger cannot be written, billable requests are refused before the upstream is called, and served again afterwards [row 19] [D1]',
  {},
  async (t, shop) => {
    const ledger = ledgerOf(shop)
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    t.equal((await shop.ask(alpha)).status, 200)
    await ledger.away()
    for (let i = 0; i < 3; i++) {
      const answer = await shop.ask(alpha)
      t.match(answer, { status: 503, headers: { 'retry-after': '5' } }, caseName({ i }))
      t.match(answer.json(), { error: { code: 'storage_unavailable' } }, caseName({ i }))
    }
    t.equal(shop.upstreams['alpha']?.received.length, 1)
    t.equal((await fetch(`${shop.opsUrl}/readyz`)).status, 503, 'and no more are sent here')
    await ledger.back()
    while (!shop.gateway.storage.ledger.healthy()) await new Promise(resolve => setImmediate(resolve))
    t.equal((await shop.ask(alpha)).status, 200)
    t.match(await shop.charges(1), [{ state: 'settled', amount: '0.04' }])
  },
)

billed(
  'an image whose charge cannot be written waits until it can, and is then delivered and charged once [row 20] [row 21]',
  {},
  async (t, shop) => {
    const ledger = ledgerOf(shop)
    const text = JSON.stringify({ data: [picture(1254, 1254, jpeg)] })
    const begun = Promise.withResolvers<void>()
    let bytes = 0
    shop.upstreams['alpha']?.answer(async res => {
      res.writeHead(200, json).write(text.slice(0, -10))
      await begun.promise
      await ledger.away()
      res.end(text.slice(-10))
    })
    const pending = shop.ask(alpha, {
      onBytes: count => {
        bytes = count
        begun.resolve()
      },
    })
    await begun.promise
    while (shop.gateway.storage.ledger.healthy()) await new Promise(resolve => setImmediate(resolve))
    t.ok(bytes > 0 && bytes <= text.length - 4096, 'the last 4 KiB are not out')
    await ledger.back()
    t.match(await pending, { status: 200, whole: true, text })
    t.match(await shop.charges(), [{ state: 'settled', count: 1, amount: '0.04' }])
  },
)

const clock = movableClock()
billed(
  'an image whose charge cannot be written for ten seconds is never delivered, and costs nothing [row 20] [D1]',
  { clock },
  async (t, shop) => {
    const ledger = ledgerOf(shop)
    const small = { data: [picture(1254, 1254)] }
    const large = { data: [picture(1254, 1254, jpeg)] }
    for (const body of [small, large]) {
      const arrived = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      shop.upstreams['alpha']?.answer(async res => {
        arrived.resolve()
        await gate.promise
        res.writeHead(200, json).end(JSON.stringify(body))
      })
      const pending = shop.ask(alpha)
      await arrived.promise
      await ledger.away()
      gate.resolve()
      while (shop.gateway.storage.ledger.healthy()) await new Promise(resolve => setImmediate(resolve))
      clock.move(10_001)
      const answer = await pending
      t.notOk(answer.whole && answer.status === 200, caseName({ body }))
      if (answer.status === 503) {
        t.match(
          answer.json(),
          { error: { code: 'charge_not_recorded', message: new RegExp(answer.id) } },
          caseName({ body }),
        )
        t.match(answer.headers, { 'x-should-retry': 'false' }, caseName({ body }))
      }
      await ledger.back()
      while (!shop.gateway.storage.ledger.healthy()) await new Promise(resolve => setImmediate(resolve))
      t.match(
        await shop.charges(1),
        [{ state: 'needs_review', count: 0, amount: '0.00', reason: 'line_not_recorded' }],
        caseName({ body }),
      )
    }
  },
)

billed(
  'all but the last 4 KiB of an unpaid image are sent, and no more, however long the commit takes [B4]',
  {},
  async (t, shop) => {
    const text = JSON.stringify({ data: [picture(1254, 1254, jpeg)] })
    const first = text.length - 10
    const expected = first - 4096
    const reached = Promise.withResolvers<void>()
    const db = new DatabaseSync(join(shop.folder, 'tollgate.db'), { timeout: 5_000 })
    shop.upstreams['alpha']?.answer(async res => {
      res.writeHead(200, json).write(text.slice(0, first))
      await reached.promise
      // Another writer holds the lock, so the commit waits.
      db.exec('BEGIN IMMEDIATE')
      res.end(text.slice(first))
    })
    let bytes = 0
    const pending = shop.ask(alpha, {
      onBytes: count => {
        bytes = count
        if (count >= expected) reached.resolve()
      },
    })
    await reached.promise
    for (let turn = 0; turn < 500; turn++) await new Promise(resolve => setImmediate(resolve))
    t.equal(bytes, expected)
    db.exec('ROLLBACK')
    db.close()
    t.match(await pending, { status: 200, whole: true, text })
    t.match(await shop.charges(), [{ state: 'settled', count: 1 }])
  },
)

billed('a paused gateway whose charges another took over delivers nothing [row 24]', {}, async (t, shop) => {
  const arrived = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  shop.upstreams['alpha']?.answer(async res => {
    arrived.resolve()
    await gate.promise
    res.writeHead(200, json).end(JSON.stringify({ data: [picture(1254, 1254)] }))
  })
  const pending = shop.ask(alpha)
  await arrived.promise
  const db = new DatabaseSync(join(shop.folder, 'tollgate.db'), { timeout: 5_000 })
  // The rows that another process would write when it takes over.
  db.exec(
    `BEGIN IMMEDIATE; UPDATE key SET held = 0; UPDATE charge SET state = 'needs_review', reason = 'gateway_stopped', ended_at = 1; COMMIT`,
  )
  db.close()
  gate.resolve()
  t.match(await pending, { status: 503, headers: { 'x-should-retry': 'false' } })
  await shop.settled()
  t.match(await shop.gateway.storage.books.all(null, 5), [{ state: 'needs_review', lines: [] }])
})
