import { readFile } from 'node:fs/promises'
import { createServer, connect, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { describe } from '../../bench/charged.ts'
import { figure, figures } from '../../bench/figures.ts'
import { cpuSeconds, mainThreadSeconds } from '../../bench/measure.ts'
import { byMinute, describeMinutes, judgeMemory, memoryWorks } from '../../bench/memory.ts'
import { judgePostgres } from '../../bench/postgres.ts'
import { rows } from '../../bench/rows.ts'
import { countConnections, judgeWorkers, mostOverMean } from '../../bench/workers.ts'

// Tests of the bench's report. Running the bench tests its measurements.

t.test('no two rows of the bench have the same name', async t => {
  const names = [...rows, ...figures].map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
})

t.test("a configuration is the bench's, with the given number of models and processes", async t => {
  const text = await readFile(new URL('../../bench/gateway.yaml', import.meta.url), 'utf8')
  const many = describe(text, { models: ['one', 'two'], counters: 'redis://127.0.0.1:1', workers: 4 })
  t.match(many, /^ {2}one: .*\n {2}two: /m)
  t.match(many, /^counters: "redis:\/\/127\.0\.0\.1:1"$/m)
  t.match(many, /^server: \{ workers: 4, listen/m)
  t.notMatch(many, /^ {2}bench-chat: /m)
  t.throws(() => describe('version: 1', { models: ['one'] }), /has nothing like/)
})

t.test('a minute is reported by the minimum, the median and the maximum of its seconds', async t => {
  const samples = Array.from({ length: 90 }, (_, second) => ({
    second,
    megabytes: 100 + second,
    loopP99Ms: second === 3 ? Number.NaN : 2,
  }))
  const minutes = byMinute(samples)
  t.same(minutes, [
    { minute: 1, least: 100, median: 129.5, most: 159, loopP99Ms: 2 },
    { minute: 2, least: 160, median: 174.5, most: 189, loopP99Ms: 2 },
  ])
  t.equal(describeMinutes(minutes).length, 3)
})

t.test('memory is judged by its peak, and by its growth after three minutes', async t => {
  const [work] = memoryWorks
  if (!work) throw new Error('there is no row of memory')
  const minute = (number: number, median: number) => ({ minute: number, least: 1, median, most: 300, loopP99Ms: 1 })
  const measured = { peakMegabytes: 260, requestsPerSecond: 1, failed: 0, samples: [] }
  const judged = (minutes: ReturnType<typeof minute>[]) => judgeMemory(work, { ...measured, minutes })
  t.same(judged([minute(1, 100)]), [
    { text: 'peak RSS, MB', value: 260, atMost: 250 },
    { text: 'requests that failed', value: 0, atMost: 0 },
  ])
  t.match(judged([minute(1, 100), minute(2, 200), minute(3, 250)]).at(-1), { value: 1.25, atMost: 1.1 })
})

t.test('workers are judged by requests a CPU second over one, and by the busiest over the mean', async t => {
  t.equal(mostOverMean([1, 1, 2]), 1.5)
  const of = {
    requestsPerSecond: 1,
    cpuMicros: 1,
    mainMicros: 1,
    p99Ms: 1,
    connectionsMostOverMean: 1,
    cpuMostOverMean: 1,
  }
  const measured = { '1': { ...of, requestsPerCpuSecond: 100 }, '2': { ...of, requestsPerCpuSecond: 95 } }
  t.match(judgeWorkers(measured)[0], { value: 0.95, atLeast: 0.9 })
})

t.test('connections are counted for the process that took them', async t => {
  const three = Promise.withResolvers<void>()
  let taken = 0
  const server = createServer(() => void (++taken === 3 && three.resolve())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await three.promise
  t.equal(countConnections(process.pid, port), 3)
  t.equal(countConnections(process.ppid, port), 0)
})

t.test('PostgreSQL is judged against SQLite of the same run', async t => {
  const cost = { requestsPerSecond: 1, mainMicros: 1, databaseCpuMicros: 0, p50Ms: 1, drainMs: 0 }
  const costs = { sqlite: { ...cost, cpuMicros: 100, p99Ms: 10 }, postgres: { ...cost, cpuMicros: 125, p99Ms: 20 } }
  const verdicts = judgePostgres({ costs, statements: 2, statementsOf: {} })
  t.same(
    verdicts.map(({ value }) => value),
    [1.25, 2, 2],
  )
})

t.test('the CPU of an event loop is a part of that of its process', async t => {
  const [main, all] = [mainThreadSeconds([process.pid]), cpuSeconds([process.pid])]
  t.ok(main > 0 && main <= all, `${main} of ${all} s`)
  t.equal(figure(1234.5), '1235')
  t.equal(figure(0.01234), '0.0123')
  t.equal(figure(Number.NaN), '–')
})
