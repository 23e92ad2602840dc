import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

// The cost to the storage of a charge that no caller waits for, without the gateway around it: node
// bench/postings.ts [--against FOLDER] [--count 40000] [--keys 1] [--log] [--runs 3] [--url postgres://…] FOLDER is
// another clone; the two take turns. CPU in microseconds per charge: of the posting thread, and of all others (the
// writer's, and those of V8). Bytes: size of the closed database per charge.
const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    count: { type: 'string', default: '40000' },
    keys: { type: 'string', default: '1' },
    runs: { type: 'string', default: '3' },
    log: { type: 'boolean', default: false },
    url: { type: 'string' },
    run: { type: 'string' },
  },
})
const [count, keyCount] = [Number(values.count), Number(values.keys)]
/** Charges per turn, and turns per second: 5,000 charges. */
const [together, everyMs] = [25, 5]

type Measured = { readonly main: number; readonly others: number; readonly bytes: number }

async function measure(clone: string): Promise<Measured> {
  const load = async (path: string) => import(pathToFileURL(join(clone, path)).href)
  const { openStorage } = (await load('src/storage/index.ts')) as typeof import('../src/storage/index.ts')
  const { Ids, systemClock, unknownOfLogRow } = (await load('src/index.ts')) as typeof import('../src/index.ts')
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-postings-'))
  const path = join(folder, 'postings.db')
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const storage = await openStorage({ url: values.url ?? `sqlite:${path}`, clock: systemClock, log, role: 'gateway' })
  try {
    const stamp = Date.now().toString(36)
    const keys: { id: string }[] = []
    for (let i = 0; i < keyCount; i++) {
      const hash = `${stamp}.${i}`
      keys.push(await storage.keys.create({ name: 'bench', user: 'local', group: null, hash, hint: 'sk-…' }))
    }
    const ids = new Ids()
    const rule = {
      kind: 'usage',
      prices: ['input', 'cached_input', 'output'].map((unit, i) => ({
        unit,
        price: 1_000_000 * (i + 1),
        per: 1_000_000,
        at: `gateway.yaml:${120 + i}`,
      })),
      multiplier: '1',
      warnings: [],
    } as const
    const post = (i: number): void => {
      const id = ids.next('req_', Date.now())
      const keyId = keys[i % keyCount]?.id ?? ''
      const names = { keyId, user: 'local', group: 'default', model: 'bench-chat', operation: 'chat' }
      const facts = { ...names, id, family: 'chat', upstream: 'bench', configRevision: '0123456789ab', currency: 'USD' }
      const counts = { width: null, height: null, flags: [] as string[], source: 'output' as const }
      const input = { index: 0, tier: 'input', price: 21 + (i % 7), quantity: 21 + (i % 7), ...counts }
      const output = { index: 1, tier: 'output', price: 3 * (40 + (i % 9)), quantity: 40 + (i % 9), ...counts }
      storage.ledger.post({ ...facts, size: null, quality: null, n: 1, rule }, [input, output], 'confirmed')
      if (!values.log) return
      storage.journal.append({
        id,
        time: Date.now(),
        keyId,
        user: 'local',
        group: 'default',
        model: 'bench-chat',
        operation: 'chat',
        status: 200,
        outcome: 'answered',
        errorCode: null,
        durationMs: 12,
        upstream: 'bench',
        configRevision: '0123456789ab',
        forwarded: ['model', 'messages'],
        dropped: [],
        clientRequestId: null,
        inputTokens: 21,
        outputTokens: 40,
        ...unknownOfLogRow,
      })
    }
    const drive = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; ) {
        for (let n = 0; n < together && i < to; n++) post(i++)
        await new Promise(done => setTimeout(done, everyMs))
      }
      await storage.flush()
    }
    await drive(0, Math.floor(count / 4))
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()]
    await drive(0, count)
    const [allAfter, ownAfter] = [process.cpuUsage(all), process.threadCpuUsage(own)]
    const main = (ownAfter.user + ownAfter.system) / count
    const total = (allAfter.user + allAfter.system) / count
    await storage.close()
    const bytes = values.url === undefined ? statSync(path).size / (count + Math.floor(count / 4)) : Number.NaN
    return { main, others: total - main, bytes }
  } finally {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function runApart(clone: string): Measured {
  const args = ['--count', String(count), '--keys', String(keyCount), ...(values.log ? ['--log'] : [])]
  const at = values.url === undefined ? [] : ['--url', values.url]
  const child = spawnSync(process.execPath, [import.meta.filename, '--run', clone, ...args, ...at], {
    encoding: 'utf8',
  })
  if (child.status !== 0) throw new Error(child.stderr)
  return JSON.parse(child.stdout) as Measured
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

if (values.run !== undefined) process.stdout.write(JSON.stringify(await measure(values.run)))
else {
  const clones = [
    resolve(import.meta.dirname, '..'),
    ...(values.against === undefined ? [] : [resolve(values.against)]),
  ]
  const found = new Map<string, Measured[]>(clones.map(clone => [clone, []]))
  for (let i = 0; i < Number(values.runs); i++) for (const clone of clones) found.get(clone)?.push(runApart(clone))
  for (const [clone, runs] of found) {
    const of = (member: keyof Measured): string => median(runs.map(run => run[member])).toFixed(1)
    console.log(`${clone}: posting thread ${of('main')} µs, others ${of('others')} µs, ${of('bytes')} bytes a charge`)
  }
}
