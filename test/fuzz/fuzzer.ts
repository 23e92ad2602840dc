import * as fc from 'fast-check'
import { Meter } from './meter.ts'

/**
 * One promise that is tested with random cases. A case is JSON, so that findings can be stored, mutated and read.
 * The reference is never the gateway's own reader, but a reader by another author or one written from the standard.
 */
export type Fuzzer<Case = unknown> = {
  readonly name: string
  /** The property that holds for every case, as a sentence. */
  readonly promise: string
  readonly cases: fc.Arbitrary<Case>
  /** Number of cases of the short run, and of one turn of the long one. */
  readonly short: number
  /**
   * What guided runs may change in a case: a text for which every change is still a valid case, and `loosen`, which
   * removes expectations that a change could break.
   */
  readonly change?: { readonly text: string; loosen?(one: Case): Case }
  /** Opens the test of a case; `planted` puts a fault into the subject, to prove that the fuzzer can find one. */
  open(options: { readonly planted: boolean; readonly meter: Meter }): Promise<Trial<Case>>
}

export type Trial<Case = unknown> = {
  /** Tests one case, and returns how many bytes the subject read. @throws the fault of the subject */
  try(one: Case): number | Promise<number>
  close(): Promise<void>
}

export type Effort = {
  readonly cases: number
  readonly seed: number
  readonly planted?: boolean
  /** Stops after this many milliseconds, including shrinking; a stopped run has not failed. */
  readonly msMax?: number
}

const closeMs = 60_000

export type Report = {
  readonly name: string
  readonly seed: number
  readonly cases: number
  readonly bytes: number
  readonly ms: number
  /** The longest time that the subject blocked the event loop for one piece of a case. */
  readonly turnMsMax: number
  readonly fault: Fault | undefined
}

export type Fault = {
  readonly message: string
  /** The smallest case that still fails. */
  readonly found: unknown
}

/** Tests random cases until one fails, and shrinks it. */
export async function tryOut(fuzzer: Fuzzer, effort: Effort): Promise<Report> {
  const meter = new Meter()
  const trial = await fuzzer.open({ planted: effort.planted ?? false, meter })
  const begun = performance.now()
  let cases = 0
  let bytes = 0
  try {
    const property = fc.asyncProperty(fuzzer.cases, async one => {
      cases++
      bytes += await trial.try(one)
    })
    const run = await fc.check(property, {
      numRuns: effort.cases,
      seed: effort.seed,
      interruptAfterTimeLimit: effort.msMax ?? 600_000,
      markInterruptAsFailure: false,
    })
    const fault = run.failed ? { message: messageOf(run.errorInstance), found: run.counterexample?.[0] } : undefined
    return {
      name: fuzzer.name,
      seed: effort.seed,
      cases,
      bytes,
      ms: performance.now() - begun,
      turnMsMax: meter.longestMs,
      fault,
    }
  } finally {
    await closeInTime(trial)
  }
}

/** A subject that does not close is a fault as well, and would block the other fuzzers. */
async function closeInTime(trial: Trial): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const limit = setTimeout(() => reject(new Error(`the subject did not close in ${closeMs} ms`)), closeMs)
  await Promise.race([trial.close(), promise])
  clearTimeout(limit)
}

/** Tests a stored case; returns its fault, or undefined. */
export async function tryCase(trial: Trial, one: unknown): Promise<string | undefined> {
  try {
    await trial.try(one)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** A difference from the reference: the message shows both results. */
export class Disagreement extends Error {}

/** The message of a fault; for errors other than a disagreement, with the location. */
export function messageOf(error: unknown): string {
  if (error instanceof Disagreement) return error.message
  if (!(error instanceof Error)) return String(error)
  const place = error.stack?.split('\n').find(line => line.includes('.ts:')) ?? ''
  return `${error.name}: ${error.message} ${place.replace(/^.*\/(?=src\/|plugins\/|test\/)/, '').trim()}`.trim()
}

/** @throws Disagreement unless `holds` */
export function insist(holds: boolean, say: () => string): asserts holds {
  if (!holds) throw new Disagreement(say())
}

/** Cuts bytes into pieces of these lengths, cyclically; each piece is a copy, like a socket's chunks. */
export function* pieces(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = Math.max(
      1,
      lengths.length === 0 ? bytes.length : Math.trunc(Number(lengths[i % lengths.length])) || 1,
    )
    yield Buffer.from(bytes.subarray(at, at + length))
    at += length
  }
}

/** How a body is cut: in one piece, in a few large pieces, or in many small ones. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.constant([]),
  fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 4 }),
  fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 4 }),
)
