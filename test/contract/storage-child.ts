import { openStorage } from '../../src/storage/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { used } from './charge-batches.ts'
import { facts, holdOf, line, newKey, silentLog } from './storage.ts'

// A separate process for the storage's contract: `node storage-child.ts URL ROLE JOB [ARGUMENT]`. It reports what it
// has done
// and then waits to be killed.
const [url = '', role = '', job = '', argument = ''] = process.argv.slice(2)
const storage = await openStorage({
  url,
  clock: systemClock,
  log: silentLog,
  role: role as 'gateway' | 'worker' | 'tool',
})
const { keys, ledger } = storage
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

if (job === 'revoke') say(await keys.revoke(argument))
if (job === 'leave-open') {
  const key = await keys.create(newKey({ budget: 1_000_000 }))
  const [lined, empty, ended] = [holdOf(key, 100_000), holdOf(key, 100_000), holdOf(key, 100_000)]
  const free = holdOf(key, 100_000, { rule: { kind: 'repeated', nothingBought: true, warnings: [] } })
  await Promise.all([lined, empty, ended, free].map(request => ledger.hold(request)))
  await Promise.all([ledger.line(lined.facts.id, line(0)), ledger.line(lined.facts.id, line(1))])
  await ledger.line(ended.facts.id, line(0))
  await ledger.settle({ id: ended.facts.id, delivery: 'confirmed', reason: null })
  // On the signal it continues with its open charges, and then starts new ones until one succeeds.
  process.once('SIGUSR2', async () => {
    const transitions = [
      await ledger.line(lined.facts.id, line(2)),
      await ledger.settle({ id: lined.facts.id, delivery: 'confirmed', reason: null }),
      await ledger.line(empty.facts.id, line(0)),
      await ledger.void(empty.facts.id, 'x'),
    ]
    for (;;) {
      const request = holdOf(key, 100_000)
      const { id } = request.facts
      await ledger.hold(request)
      const isOurs = await ledger.line(id, line(0))
      if (isOurs && (await ledger.settle({ id, delivery: 'confirmed', reason: null }))) return say(transitions)
    }
  })
  // The test signals as soon as it reads this line.
  say({ keyId: key.id, lined: lined.facts.id, empty: empty.facts.id, ended: ended.facts.id, free: free.facts.id })
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
if (job === 'post') {
  const key = await keys.create(newKey())
  // Some charges wait and some are being written when the process is killed; it reports only those that were flushed.
  const more = (): void => {
    const one = facts(key)
    ledger.post(one, used, 'confirmed')
    storage.flush().then(
      () => process.stdout.write(`${one.id}\n`),
      () => undefined,
    )
    setTimeout(more, 1)
  }
  more()
}
if (job === 'budget') {
  const key = (await keys.list({ limit: 1_000 })).find(one => one.id === argument)
  process.once('SIGUSR2', async () => {
    if (!key) return
    const results = await Promise.all(Array.from({ length: 67 }, () => ledger.hold(holdOf(key, 40_000))))
    say(results.filter(result => result.kind === 'held').length)
  })
  say('ready')
}
setInterval(() => undefined, 60_000)
