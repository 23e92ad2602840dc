import { hash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openStorage } from '../src/storage/index.ts'
import { systemClock } from '../src/util/index.ts'
import { newVisitor, passwordOfTests, type Visitor } from '../test/harness/visitor.ts'
import { chatRequest } from './bodies.ts'
import { fillKeys, fillLogs, onlyErrors, prepareDatabase } from './fill.ts'
import { load, type LoadResult, median } from './measure.ts'
import { startGateway, startUpstream } from './targets.ts'

const logRows = 1_000_000
const keys = 1_000
/** Low enough to measure an answer instead of a queue. */
const connections = 4
const config = new URL('gateway.yaml', import.meta.url).pathname
/** First pages of the log: of all requests, and with filters that match many rows, few, and none. */
const firstPages = [
  '',
  '&model=bench-chat-3',
  '&status=429',
  '&user=local&outcome=answered',
  `&key=key_${'7'.padStart(20, '0')}`,
  '&model=no-such-model',
]

export type ConsoleMeasured = {
  /** Medians of the first page, by filter. */
  readonly pagesMs: { readonly [filter: string]: number }
  /** Latency of clients while the console is not used. */
  readonly p99AloneMs: number
  /** The same while a user pages through the log without a pause. */
  readonly p99PagingMs: number
  readonly pagesASecond: number
}

/** How fast a long log is displayed, and the effect on clients. */
export async function measureConsole(runs: number, seconds: number): Promise<ConsoleMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-console-'))
  const stop = new AbortController()
  try {
    const file = join(folder, 'tollgate.db')
    const storage = `sqlite:${file}`
    await prepareDatabase(storage)
    const [secret = ''] = fillKeys(file, keys)
    await fillLogs(storage, logRows)
    const token = await offerToken(storage)
    const site = { folder, stop, upstream: await startUpstream({ folder, stop }) }
    const { url } = await startGateway(site, { config, storage })
    const admin = newVisitor(url)
    const entered = await admin.post('/api/setup', { token, name: 'root', password: passwordOfTests })
    if (entered.status !== 200) throw new Error(`the console lets nobody in: ${entered.text}`)
    const bodyFile = join(folder, 'request')
    await writeFile(bodyFile, chatRequest('bench-chat', false))
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` }
    const call = (forSeconds: number): Promise<LoadResult> =>
      load({ url: `${url}/v1/chat/completions`, headers, bodyFile, connections, seconds: forSeconds })
    await call(1)
    const pagesMs = await timeFirstPages(admin, runs)
    const alone: number[] = []
    const paging: number[] = []
    const pages: number[] = []
    for (let run = 0; run < runs; run++) {
      alone.push((await call(seconds)).p99Ms)
      const pager = startPaging(admin)
      paging.push((await call(seconds)).p99Ms)
      pages.push((await pager.end()) / seconds)
      process.stderr.write(`  run ${run + 1} of ${runs}\n`)
    }
    return { pagesMs, p99AloneMs: median(alone), p99PagingMs: median(paging), pagesASecond: median(pages) }
  } finally {
    stop.abort()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A token that creates the first administrator, as the gateway prints one. */
async function offerToken(url: string): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const storage = await openStorage({ url, clock: systemClock, log: onlyErrors, role: 'tool' })
  await storage.users.offerSetup(hash('sha256', token, 'hex'), Date.now() + 3_600_000)
  await storage.close()
  return token
}

type Page = { readonly records: readonly unknown[]; readonly next: string | null }

async function readPage(admin: Visitor, query: string): Promise<Page> {
  const answer = await admin.get(`/api/logs?limit=50${query}`)
  if (answer.status !== 200) throw new Error(`a page of the log: ${answer.status} ${answer.text}`)
  return answer.body as Page
}

const asksEach = 5

async function timeFirstPages(admin: Visitor, runs: number): Promise<{ [filter: string]: number }> {
  const medians: { [filter: string]: number } = {}
  for (const filter of firstPages) {
    const took: number[] = []
    for (let ask = 0; ask < runs * asksEach; ask++) {
      const began = performance.now()
      await readPage(admin, filter)
      took.push(performance.now() - began)
    }
    medians[filter.slice(1) || 'all'] = median(took)
  }
  return medians
}

/** Reads page after page until stopped; returns their number. */
function startPaging(admin: Visitor): { end(): Promise<number> } {
  const stop = new AbortController()
  const run = async (): Promise<number> => {
    let pages = 0
    let before: string | null = null
    while (!stop.signal.aborted) {
      const page: Page = await readPage(admin, before === null ? '' : `&before=${encodeURIComponent(before)}`)
      before = page.next
      pages++
    }
    return pages
  }
  const running = run()
  // An error while the load still runs is reported at its end.
  running.catch(() => undefined)
  return {
    end() {
      stop.abort()
      return running
    },
  }
}
