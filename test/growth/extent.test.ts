import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { chatRequest } from '../../bench/bodies.ts'
import { describe } from '../../bench/charged.ts'
import { fillKeys, fillLogs, prepareDatabase } from '../../bench/fill.ts'
import { startUpstream } from '../../bench/targets.ts'
import { walkGateway } from '../../bench/walk-gateway.ts'

// Compares the cost of a charged chat with many entries of a kind and with few, in counts that do not depend on other
// work on the machine: `npm run bench -- --only growth` measures the time.

const root = fileURLToPath(new URL('../..', import.meta.url))
const times = 300
/** Many more than caches hold. */
const manyKeys = 20_000
const modelsAsked = 200

type Extent = { readonly keys: number; readonly inUse: number; readonly models: number; readonly logRows: number }
const few: Extent = { keys: 100, inUse: 100, models: 10, logRows: 0 }
type Bounds = { readonly [figure: string]: number }
/** The last two include work of the garbage collector and the compilers. */
const tenth: Bounds = { promises: 1.05, ticks: 1.1, writes: 1.05, calls: 1.05, objects: 1.1, bytes: 1.1 }

const cases: readonly (readonly [what: string, extent: Extent, bounds: Bounds])[] = [
  ['1,000 models', { ...few, models: 1_000 }, tenth],
  ['20,000 keys, of which 100 are in use', { ...few, keys: manyKeys }, tenth],
  // Each request looks up its key: one row of the database.
  ['20,000 keys, each in use', { ...few, keys: manyKeys, inUse: manyKeys }, { ...tenth, objects: 1.15, bytes: 1.2 }],
  ['20,000 rows of the log', { ...few, logRows: 20_000 }, tenth],
]

t.test('[9.7] a chat makes no more calls, objects, promises and writes with large stores', async t => {
  const folder = t.testdir()
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const upstream = await startUpstream({ folder, stop })
  const template = await readFile(join(root, 'bench/gateway.yaml'), 'utf8')

  async function walk(name: string, { keys, inUse, models: count, logRows }: Extent): Promise<Bounds> {
    const file = join(folder, `${name}.db`)
    const storage = `sqlite:${file}`
    await prepareDatabase(storage)
    const secrets = fillKeys(file, keys).slice(0, inUse)
    await fillLogs(storage, logRows)
    const models = Array.from({ length: count }, (_, i) => `bench-chat-${i}`)
    const config = join(folder, `${name}.yaml`)
    await writeFile(config, describe(template, { models }))
    // Each model gets a request before the measurement: its first request creates its metrics.
    const every = Math.max(1, count / modelsAsked)
    const bodies = models.filter((_, n) => n % every === 0).map(model => chatRequest(model, false))
    const request = { path: '/v1/chat/completions', body: '', times, secrets, bodies }
    return (await walkGateway(root, folder, upstream, request, { config, storage })).figures
  }

  const base = await walk('few', few)
  for (const [i, [what, extent, bounds]] of cases.entries()) {
    await t.test(what, async t => {
      const figures = await walk(String(i), extent)
      for (const [figure, bound] of Object.entries(bounds)) {
        const ratio = (figures[figure] ?? Number.NaN) / (base[figure] ?? Number.NaN)
        t.ok(ratio <= bound, `${figure}: ${ratio.toFixed(3)}, at most ${bound}`)
      }
    })
  }
})
