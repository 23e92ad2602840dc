import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { ChargeFacts, Storage } from '../src/domain/index.ts'
import type { Log } from '../src/plugin-api/index.ts'
import { Ids, systemClock } from '../src/util/index.ts'
import { openStorage } from '../src/storage/index.ts'
import { median } from './measure.ts'

/** Charges in flight while the maximum throughput is measured. */
const ids = new Ids()
const chargesAtOnce = 64
/** Charges begun per second while the wait for a commit is measured. */
const pacePerSecond = 1000

export type LedgerMeasured = {
  /** Charges held, given a line and settled, all durable. */
  readonly chargesPerSecond: number
  /**
   * The delay of holding back the end of an image: from posting the line to its commit, at 1,000 charges per second.
   */
  readonly commitP50Ms: number
  readonly commitP99Ms: number
}

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Runs the ledger alone, on a database in a temporary folder. */
export async function measureLedger(runs: number, seconds: number): Promise<LedgerMeasured> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-ledger-'))
  const url = `sqlite:${join(folder, 'ledger.db')}`
  const storage = await openStorage({ url, clock: systemClock, log: quiet, role: 'gateway' })
  try {
    const { id } = await storage.keys.create({
      name: 'bench',
      user: 'local',
      group: null,
      hash: 'a'.repeat(64),
      hint: 'sk-…',
    })
    const rates: number[] = []
    const waits: { p50: number; p99: number }[] = []
    await measureRate(storage, id, 0.5)
    for (let run = 0; run < runs; run++) {
      rates.push(await measureRate(storage, id, seconds))
      waits.push(await measureWaits(storage, id, seconds))
    }
    return {
      chargesPerSecond: median(rates),
      commitP50Ms: median(waits.map(wait => wait.p50)),
      commitP99Ms: median(waits.map(wait => wait.p99)),
    }
  } finally {
    await storage.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measureRate(storage: Storage, keyId: string, seconds: number): Promise<number> {
  const began = performance.now()
  let done = 0
  const chargeInTurn = async () => {
    while (performance.now() - began < seconds * 1000) {
      await charge(storage, keyId)
      done++
    }
  }
  await Promise.all(Array.from({ length: chargesAtOnce }, chargeInTurn))
  return (done * 1000) / (performance.now() - began)
}

async function measureWaits(storage: Storage, keyId: string, seconds: number): Promise<{ p50: number; p99: number }> {
  const began = performance.now()
  const total = pacePerSecond * seconds
  const running: Promise<number>[] = []
  while (running.length < total) {
    const due = ((performance.now() - began) * pacePerSecond) / 1000
    while (running.length < Math.min(due, total)) running.push(charge(storage, keyId))
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  const sorted = (await Promise.all(running)).toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/** One charge from hold to settlement; returns the time of its line's commit, in milliseconds. */
async function charge(storage: Storage, keyId: string): Promise<number> {
  const facts = factsOf(keyId)
  const held = await storage.ledger.hold({ facts, hold: 40_000, idempotency: null })
  if (held.kind !== 'held') throw new Error(`a hold without a budget was refused: ${held.kind}`)
  const posted = performance.now()
  await storage.ledger.line(facts.id, {
    index: 0,
    tier: '2K',
    source: 'output',
    width: 1254,
    height: 1254,
    price: 40_000,
    flags: [],
    quantity: null,
  })
  const took = performance.now() - posted
  await storage.ledger.settle({ id: facts.id, delivery: 'confirmed', reason: null })
  return took
}

function factsOf(keyId: string): ChargeFacts {
  return {
    id: ids.next('req_', Date.now()),
    keyId,
    user: 'local',
    group: 'default',
    operation: 'image.generate',
    model: 'bench-image',
    family: 'image',
    upstream: 'fake',
    configRevision: 'bench',
    currency: 'USD',
    size: null,
    quality: null,
    n: 1,
    rule: {
      kind: 'tiers',
      tiers: [{ tier: '2K', longEdgeMax: null, price: 40_000, at: 'gateway.yaml:1' }],
      tierFrom: ['output'],
      otherwise: '2K',
      requestedTier: null,
      warnings: [],
    },
  }
}
