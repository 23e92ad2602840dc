import { Readable } from 'node:stream'
import t from 'tap'
import { Anchors } from '../../src/gateway/anchors.ts'
import type { Anchor } from '../../src/domain/index.ts'
import type { Log } from '../../src/plugin-api/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { parseAnchors, readAnchors } from '../../src/tools/parse-anchors.ts'
import { caseName } from '../harness/case-name.ts'

const facts = { time: '2026-11-21T00:00:00.000Z', database: '0123456789abcd' }

/** Books whose chain positions the test sets, and the log lines they produce. */
function setUp() {
  const chains = new Map<string, number>()
  const lines: { facts: object; text: string }[] = []
  const told: Anchor[] = []
  const log: Log = { debug() {}, warn() {}, error() {}, info: (facts, text) => void lines.push({ facts, text }) }
  const anchor = (): Anchor => ({
    ...facts,
    chains: [...chains].map(([chain, position]) => ({ chain, position, head: `${chain} at ${position}` })),
  })
  let flushed = 0
  const storage = { flush: async () => void flushed++, books: { anchor } }
  const anchors = new Anchors({ storage, clock: systemClock, log, report: one => void told.push(one) })
  return { chains, lines, told, anchors, flushed: () => flushed, anchor }
}

t.test('[6.6] the ends of the chains are logged once, and again after they have moved', async t => {
  const { chains, lines, told, anchors } = setUp()
  t.teardown(() => anchors.close())
  await anchors.run()
  t.same(lines, [], 'empty books have no end')
  chains.set('gateway', 3).set('tool', 1)
  await anchors.run()
  await anchors.run()
  t.equal(lines.length, 1)
  t.match(lines[0]?.facts, { anchor: { ...facts, chains: [{ chain: 'gateway', position: 3 }, { chain: 'tool' }] } })
  chains.set('gateway', 4)
  await anchors.run()
  t.equal(lines.length, 2)
  t.match(told.at(-1), { chains: [{ chain: 'gateway', position: 4, head: 'gateway at 4' }] })
  t.equal(told.at(-1)?.chains.length, 1)
})

t.test('[6.6] many chains are logged in lines of fifty, and closing logs the last changes', async t => {
  const { chains, told, anchors, flushed } = setUp()
  for (let i = 0; i < 120; i++) chains.set(`c${i}`, 1)
  await anchors.close()
  t.equal(flushed(), 1)
  t.same(
    told.map(one => one.chains.length),
    [50, 50, 20],
  )
})

t.test("[6.6] anchors are read one per line, and from a gateway's log; anything else is reported with its line", t => {
  const { chains, anchor, anchors } = setUp()
  t.teardown(() => anchors.close())
  chains.set('gateway', 3)
  const one = JSON.stringify(anchor())
  const logged = JSON.stringify({ level: 30, msg: 'ledger anchor', anchor: anchor() })
  const other = JSON.stringify({ level: 30, msg: 'a request' })
  t.same(parseAnchors(`${one}\n\n${one}\n`), [anchor(), anchor()])
  t.same(parseAnchors(`${other}\n${logged}\n`), [anchor()])
  t.same(parseAnchors(`tollgate   http://127.0.0.1:8080/v1\n\n    -d '{"model":"a"}' \\\n${logged}\n`), [anchor()])
  t.same(parseAnchors('not json'), [])
  t.same(parseAnchors(''), [])
  for (const [bad, says] of [
    [`${one}\n${one.slice(0, 40)}`, /^line 2 is not JSON$/],
    [`${one.slice(40)}\n${one}`, /^line 1 is not JSON$/],
    ['{"time":"x"}', /^line 1 is not an anchor$/],
    ['3', /^line 1 is not an anchor$/],
    [one.replace('"position":3', '"position":"3"'), /^line 1 is not an anchor$/],
  ] as const)
    t.throws(() => parseAnchors(bad), { message: says }, caseName({ bad, says }))
  t.end()
})

t.test('[6.6] anchors are read from pieces of any size, as from the whole text', async t => {
  const { chains, anchor, anchors } = setUp()
  t.teardown(() => anchors.close())
  chains.set('gateway', 3)
  const one = JSON.stringify(anchor())
  const other = JSON.stringify({ level: 30, msg: 'a request' })
  const text = `${other}\n\n${one}\r\nthe gateway listens\n${one}`
  for (const size of [1, 7, 60, 1_000]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    t.same(await readAnchors(Readable.from(pieces)), parseAnchors(text), caseName({ size }))
  }
  t.same(await readAnchors(Readable.from([])), [])
  await t.rejects(readAnchors(Readable.from([`${other}\n${one}`, `\n{"time"`])), { message: 'line 3 is not JSON' })
})
