import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { sample } from 'fast-check'
import { readList, writeList } from './fixtures.ts'
import { type Fault, type Fuzzer, messageOf, type Report } from './fuzzer.ts'
import { Meter } from './meter.ts'
import { mutate } from './mutate.ts'
import { seeded } from '../harness/seed.ts'

export type GuideEffort = {
  readonly cases: number
  readonly seed: number
  readonly msMax: number
  /** Writes cases that reached new code to `corpus/`, and begins with the cases in it. */
  readonly keep: boolean
}

const folder = join(import.meta.dirname, 'corpus')
/** State of each fuzzer in this process, kept between turns. */
const remembered = new Map<string, { readonly corpus: unknown[]; readonly seen: Set<string> }>()
const begunWith = 30
const corpusMax = 400

/**
 * Searches for code that no case has reached: cases that reach a new branch of the sources are kept and mutated, and
 * their mutations are tested in turn. V8's own coverage counts show the branches, so no special build is needed.
 */
export async function guide(
  fuzzer: Fuzzer,
  change: NonNullable<Fuzzer['change']>,
  effort: GuideEffort,
): Promise<{ report: Report; grown: number }> {
  const meter = new Meter()
  const trial = await fuzzer.open({ planted: false, meter })
  const { corpus, seen } = await recall(fuzzer.name)
  const reached = await openReached(seen)
  const random = seeded(effort.seed)
  const known = corpus.length
  // The kept cases run first, to learn which branches are already reached.
  const learning = seen.size === 0 ? corpus : []
  const waiting: unknown[] = [...learning, ...sample(fuzzer.cases, { numRuns: begunWith, seed: effort.seed })]
  const begun = performance.now()
  let fault: Fault | undefined
  let cases = 0
  let bytes = 0
  try {
    while (cases < effort.cases && performance.now() - begun < effort.msMax && !fault) {
      const one = waiting.shift() ?? next(change, corpus, random)
      cases++
      try {
        bytes += await trial.try(one)
      } catch (error) {
        fault = { message: messageOf(error), found: one }
      }
      if ((await reached.isNew()) && cases > learning.length && corpus.length < corpusMax) corpus.push(one)
    }
  } finally {
    await reached.close()
    await trial.close()
  }
  if (effort.keep && corpus.length > known) await writeList(folder, fuzzer.name, corpus)
  const ms = performance.now() - begun
  return {
    report: { name: fuzzer.name, seed: effort.seed, cases, bytes, ms, turnMsMax: meter.longestMs, fault },
    grown: corpus.length - known,
  }
}

async function recall(name: string): Promise<{ readonly corpus: unknown[]; readonly seen: Set<string> }> {
  const known = remembered.get(name)
  if (known) return known
  const made = { corpus: [...(await readList<unknown>(join(folder, `${name}.json`)))], seen: new Set<string>() }
  remembered.set(name, made)
  return made
}

function next(change: NonNullable<Fuzzer['change']>, corpus: readonly unknown[], random: () => number): unknown {
  const changed = mutate(pick(corpus, random), pick(corpus, random), change.text, random)
  return change.loosen?.(changed) ?? changed
}

function pick(list: readonly unknown[], random: () => number): unknown {
  return list[Math.floor(random() * list.length)]
}

/** Reports after each case whether it ran code of `src` or `plugins` that no case had run before. */
async function openReached(seen: Set<string>): Promise<{ isNew(): Promise<boolean>; close(): Promise<void> }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true })
  return {
    async isNew() {
      const before = seen.size
      const { result } = await session.post('Profiler.takePreciseCoverage')
      for (const { url, functions } of result) {
        if (!/\/(?:src|plugins)\//.test(url) || url.includes('/node_modules/')) continue
        for (const { ranges } of functions)
          for (const { startOffset, endOffset, count } of ranges)
            if (count > 0) seen.add(`${url} ${startOffset} ${endOffset}`)
      }
      return seen.size > before
    },
    async close() {
      await session.post('Profiler.stopPreciseCoverage')
      session.disconnect()
    },
  }
}
