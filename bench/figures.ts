import type { Cost } from './charged.ts'
import { measureConsole } from './console.ts'
import { measureCounters } from './counters.ts'
import { type GrowthMeasured, judgeGrowth, measureGrowth, measureGrowthOnPostgres } from './growth.ts'
import { measureLedger } from './ledger.ts'
import { describeMinutes, judgeMemory, measureMemory, memoryWorks } from './memory.ts'
import { judgePostgres, measurePostgres } from './postgres.ts'
import type { Verdict } from './rows.ts'
import { measureStart } from './start.ts'
import { judgeWorkers, measureWorkers } from './workers.ts'

// The rows that are measured without wrk, and that need more than one table.

export type Asked = {
  readonly runs: number
  readonly seconds: number
  readonly warmSeconds: number
  /** The resource whose quantity grows. */
  readonly logRows: number
  readonly keys: number
  /** For a row that is a curve. */
  readonly minutes: number
}

export type Found = {
  readonly measured: object
  readonly verdicts: readonly Verdict[]
  /** Prose for readers, next to the verdicts. */
  readonly lines: readonly string[]
}

export type Figure = {
  readonly name: string
  readonly title: string
  /** Whether it takes many minutes, and runs only when named. */
  readonly isLong?: boolean
  measure(this: void, asked: Asked): Promise<Found>
}

export const figures: readonly Figure[] = [
  {
    name: 'charges',
    title: 'charges: held, given a line and settled, each step durable',
    async measure({ runs, seconds }) {
      const measured = await measureLedger(runs, seconds)
      const verdicts = [
        { text: 'charges a second', value: measured.chargesPerSecond, atLeast: 1000 },
        { text: 'commit that holds back a tail, p50 ms', value: measured.commitP50Ms, atMost: 1 },
        { text: 'commit that holds back a tail, p99 ms', value: measured.commitP99Ms, atMost: 10 },
      ]
      return { measured, verdicts, lines: [] }
    },
  },
  {
    name: 'start',
    title: 'start',
    async measure({ runs }) {
      const measured = await measureStart(runs)
      const verdicts = [
        { text: 'listening, ms', value: measured.listeningMs, atMost: 300 },
        { text: 'check, ms', value: measured.checkMs, atMost: 250 },
      ]
      return { measured, verdicts, lines: [] }
    },
  },
  {
    name: 'counters',
    title: 'counters in Redis: a request with four limits, taken and settled, 64 at once',
    async measure({ runs, seconds }) {
      const measured = await measureCounters(runs, seconds)
      const { requestsPerSecond, redisCpuMicros, p50Ms, unanswered } = measured
      const lines = [
        `${figure(requestsPerSecond)} requests/s, Redis CPU µs/request ${figure(redisCpuMicros)}; p50 ${figure(p50Ms)} ms`,
        ...(unanswered > 0 ? [`Redis left ${unanswered} unanswered`] : []),
      ]
      return { measured, verdicts: [], lines }
    },
  },
  {
    name: 'console',
    title: 'console: 1,000,000 rows in the log, 4 connections of callers',
    async measure({ runs, seconds }) {
      const measured = await measureConsole(runs, seconds)
      const { pagesMs, p99AloneMs, p99PagingMs, pagesASecond } = measured
      const lines = [
        ...Object.entries(pagesMs).map(([filter, ms]) => `${filter}: ${figure(ms)} ms`),
        `callers' p99: ${figure(p99AloneMs)} ms alone, ${figure(p99PagingMs)} ms beside ${figure(pagesASecond)} pages/s`,
      ]
      const verdicts = [
        { text: 'slowest first page, ms', value: Math.max(...Object.values(pagesMs)), atMost: 200 },
        { text: "added to callers' p99, ms", value: p99PagingMs - p99AloneMs, atMost: 10 },
      ]
      return { measured, verdicts, lines }
    },
  },
  {
    name: 'postgres',
    title: 'PostgreSQL beside SQLite: charged chat, 1,000 keys, 64 connections',
    async measure(asked) {
      const measured = await measurePostgres(asked)
      const each = Object.entries(measured.statementsOf).map(([text, times]) => `${times.toFixed(3)} × ${text}`)
      const lines = [
        ...describeCosts(measured.costs),
        `statements a request: ${figure(measured.statements)}, of which`,
        ...each,
      ]
      return { measured, verdicts: judgePostgres(measured), lines }
    },
  },
  {
    name: 'workers',
    title: 'workers: charged chat, 1,000 keys, 64 connections, at 1, 2 and 4 processes',
    async measure(asked) {
      const measured = await measureWorkers(asked)
      const lines = Object.entries(measured).map(([workers, of]) => {
        const rates = `${figure(of.requestsPerSecond)} requests/s, ${figure(of.requestsPerCpuSecond)} a CPU second`
        return `${workers}: ${rates} (${figure(of.cpuMicros)} µs each, main ${figure(of.mainMicros)}), p99 ${figure(of.p99Ms)} ms`
      })
      return { measured, verdicts: judgeWorkers(measured), lines }
    },
  },
  {
    name: 'growth',
    title: 'growth: charged chat, 64 connections; filling takes minutes and gigabytes of disk',
    isLong: true,
    async measure({ keys, logRows, ...asked }) {
      return grown(await measureGrowth({ ...asked, many: { keys, logRows, models: 1_000 } }))
    },
  },
  {
    name: 'growth-postgres',
    title: 'growth on PostgreSQL, with a tenth of the keys and rows',
    isLong: true,
    async measure({ keys, logRows, ...asked }) {
      const many = { keys: Math.round(keys / 10), logRows: Math.round(logRows / 10), models: 1_000 }
      return grown(await measureGrowthOnPostgres({ ...asked, many }))
    },
  },
  ...memoryWorks.map(work => ({
    name: work.name,
    title: `memory: ${work.title}`,
    isLong: true,
    async measure({ minutes }: Asked): Promise<Found> {
      const measured = await measureMemory(work, minutes)
      const rate = `${figure(measured.requestsPerSecond)} requests/s`
      return { measured, verdicts: judgeMemory(work, measured), lines: [rate, ...describeMinutes(measured.minutes)] }
    },
  })),
]

function grown(measured: GrowthMeasured): Found {
  return { measured, verdicts: judgeGrowth(measured), lines: describeCosts(measured) }
}

function describeCosts(costs: { readonly [name: string]: Cost }): readonly string[] {
  return Object.entries(costs).map(
    ([name, { cpuMicros, mainMicros, databaseCpuMicros, requestsPerSecond, p50Ms, p99Ms, drainMs }]) => {
      const database = databaseCpuMicros > 0 ? `, database ${figure(databaseCpuMicros)}` : ''
      const waits = `p50 ${figure(p50Ms)}, p99 ${figure(p99Ms)} ms, ${figure(requestsPerSecond)} requests/s, written ${figure(drainMs)} ms later`
      return `${name.padEnd(25)} CPU µs/request ${figure(cpuMicros)} (main ${figure(mainMicros)})${database}; ${waits}`
    },
  )
}

/** Three significant digits; all digits from a thousand on. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–'
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3)
}
