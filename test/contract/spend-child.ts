import { once } from 'node:events'
import { systemClock } from '../../src/util/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { holdOf, line, silentLog } from './storage.ts'

// A process that bills next to others: `node spend-child.ts URL KEY PRICE REQUESTS`. It reports that it is ready, waits
// for a
// line of input, sends all requests at once, and reports how many were admitted and the smallest remaining amount it
// saw.
const [url = '', keyId = '', price = '', requests = ''] = process.argv.slice(2)
const storage = await openStorage({ url, clock: systemClock, log: silentLog, role: 'worker' })
const { keys, ledger } = storage
const key = await keys.find(keyId)
if (!key) throw new Error(`there is no key ${keyId}`)
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()

let least = Number.POSITIVE_INFINITY
const results = await Promise.all(
  Array.from({ length: Number(requests) }, async () => {
    const request = holdOf(key, Number(price))
    const { id } = request.facts
    const { kind } = await ledger.hold(request)
    const now = await keys.find(keyId)
    if (now?.budget !== undefined && now.budget !== null) least = Math.min(least, now.budget - now.held - now.spent)
    if (kind !== 'held') return false
    await ledger.line(id, line(0, { price: Number(price) }))
    return ledger.settle({ id, delivery: 'confirmed', reason: null })
  }),
)
await storage.close()
process.stdout.write(`${JSON.stringify({ admitted: results.filter(Boolean).length, least })}\n`)
