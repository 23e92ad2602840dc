import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Key, Level } from '../../src/domain/index.ts'
import { Ids, systemClock } from '../../src/util/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { facts, line, silentLog } from '../contract/storage.ts'
import { type Given, levelsOf, zone } from './budget-crash-players.ts'
import { seeded } from '../harness/seed.ts'

// A process that sells next to others until it is killed: `node budget-crash-child.ts JSON`. It prints each sale before
// and after it is made, one per line; it reads the shift of its clock, and when to end.
const given = JSON.parse(process.argv[2] ?? '') as Given
const random = seeded(given.seed)
let shift = given.shift
const over = new AbortController()
const clock = { ...systemClock, now: () => Date.now() + shift }
const storage = await open()
const { keys, ledger } = storage
const ids = new Ids()
/** Requests in progress. */
const underWay = new Set<Promise<void>>()
const say = (...words: readonly (string | number)[]): void => void process.stdout.write(`${words.join(' ')}\n`)

createInterface(process.stdin).on('line', text => {
  if (text === 'end') return over.abort()
  shift = Number(text)
  // Work from before a clock change must finish before the next change: correct clocks differ by at most an hour.
  void Promise.allSettled(underWay).then(() => say('moved', text, 0))
})

const players: Key[] = []
for (const id of given.keys) {
  const key = await keys.find(id)
  if (key) players.push(key)
}

/** Other processes may block it for too long; a supervisor would restart the gateway then. */
async function open(): ReturnType<typeof openStorage> {
  try {
    return await openStorage({ url: given.url, clock, log: silentLog, role: given.role, timeZone: zone })
  } catch {
    await sleep(100)
    return open()
  }
}

async function sell(): Promise<void> {
  const key = players[Math.floor(random() * players.length)] as Key
  const id = ids.next('req_', clock.now())
  const group = key.group ?? key.userGroup
  const own = facts(key, { id, user: key.user, group })
  const levels: readonly Level[] = levelsOf(key.user, group)
  const hold = 1 + Math.floor(random() * 400)
  const price = Math.floor(random() * (hold + 1))
  if (levels.length === 0 && key.budget === null) {
    say('made', id, price)
    ledger.post(own, [line(0, { price, quantity: 1, width: null, height: null })], 'confirmed')
    await storage.flush()
    return say('sold', id, price)
  }
  if ((await ledger.hold({ facts: own, hold, idempotency: null, levels })).kind !== 'held') {
    say('refused', id, 0)
    // A refused caller retries later.
    return sleep(20)
  }
  if (random() < 0.1) return void (await ledger.void(id, 'nothing came'))
  say('made', id, price)
  const isThere = await ledger.line(id, line(0, { price }))
  if (isThere && (await ledger.settle({ id, delivery: 'confirmed', reason: null }))) say('sold', id, price)
}

say('ready', process.pid, 0)
await Promise.all(
  Array.from({ length: given.parallel }, async () => {
    // The database may be slow or locked: its caller gets an error, and retries.
    while (!over.signal.aborted) {
      const selling = sell().catch(() => sleep(20))
      underWay.add(selling)
      await selling
      underWay.delete(selling)
    }
  }),
)
await storage.close()
process.stdin.destroy()
