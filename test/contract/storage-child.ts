import { openStorage } from '../../src/storage/index.ts'
import { systemClock } from '../../src/kit/index.ts'
import { holdOf, line, newKey, silentLog } from './storage.ts'

// A process of its own for the storage's contract: `node storage-child.ts URL JOB`. It says what it has done and then
// waits to be killed.
const [url = '', job = '', argument = ''] = process.argv.slice(2)
const role = job === 'revoke' ? 'tool' : 'gateway'
const storage = await openStorage({ url, clock: systemClock, log: silentLog, role })
const { keys, ledger } = storage

if (job === 'revoke') {
  await keys.revoke(argument)
  process.stdout.write('revoked\n')
}
if (job === 'leave-open') {
  const key = await keys.create(newKey({ budget: 1_000_000 }))
  const [lined, empty, ended] = [holdOf(key, 100_000), holdOf(key, 100_000), holdOf(key, 100_000)]
  await Promise.all([lined, empty, ended].map(request => ledger.hold(request)))
  await Promise.all([ledger.line(lined.facts.id, line(0)), ledger.line(lined.facts.id, line(1))])
  await ledger.line(ended.facts.id, line(0))
  await ledger.settle({ id: ended.facts.id, delivery: 'confirmed', reason: null })
  const left = { keyId: key.id, lined: lined.facts.id, empty: empty.facts.id, ended: ended.facts.id }
  process.stdout.write(`${JSON.stringify(left)}\n`)
}
if (job === 'load') {
  const key = await keys.create(newKey())
  const bill = async (): Promise<void> => {
    const request = holdOf(key, 100_000)
    await ledger.hold(request)
    await ledger.line(request.facts.id, line(0))
    await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    process.stdout.write(`${request.facts.id}\n`)
    return bill()
  }
  await Promise.all(Array.from({ length: 32 }, bill))
}
setInterval(() => undefined, 60_000)
