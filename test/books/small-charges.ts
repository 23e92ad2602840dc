import { tokenUsage } from '../../plugins/token-usage/plugin.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { type Charge, replayCharge } from '../../src/index.ts'
import { callerSlot, type Key, type Reply, type Stage, type Storage } from '../../src/domain/index.ts'
import { Ids } from '../../src/util/index.ts'
import { newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { someExchange, someGroup, someHost, someKey, someTarget } from '../harness/request-context.ts'
import { usageFacet as facet } from '../harness/usage-facet.ts'
import { seeded } from '../harness/seed.ts'

/** Charges for a few tokens each, most of which cost a fraction of a micro-unit. */
export type SmallCharges = {
  /** URL of an empty database. */
  readonly database: string
  readonly charges: number
  readonly keys: number
  readonly seed: number
}

export type SmallChargesReport = {
  /** Keys whose sum differs from the exact sum by more than one micro-unit. */
  readonly wrong: readonly string[]
  /** The largest difference of a key, in micro-units. */
  readonly differenceMax: number
  /** Charges as the books hold them, and those of 0 micro-units. */
  readonly stored: number
  readonly zero: number
  /** Charges that `replay` rates differently. */
  readonly replayed: readonly string[]
  /** Problems that `verify` finds. */
  readonly problems: number
}

/** Micro-units per million tokens. */
const models = [
  { name: 'embed', input: 20_000, cached_input: 20_000, output: 0 },
  { name: 'chat', input: 50_000, cached_input: 12_345, output: 400_001 },
  { name: 'tiny', input: 1, cached_input: 1, output: 7 },
] as const
const tenths = [10, 9, 3] as const
/** The exact sums count in ten-millionths of a micro-unit: a millionth for a token, a tenth for the multiplier. */
const parts = 10_000_000n
const origin = { file: 'gateway.yaml', line: 1, col: 1 }
const requestBody = { kind: 'json' as const, json: scanObject(Buffer.from('{"model":"m","input":"a few words"}')) }
const targets = models.map(({ name, ...units }) => {
  const some = someTarget({ model: name, body: requestBody })
  const prices = new Map(Object.entries(units).map(([unit, micros]) => [unit, { micros, origin }]))
  return { ...some, model: { ...some.model, prices, free: false } }
})
const groups = tenths.map(tenth => someGroup({ name: `tenths-${tenth}`, multiplier: String(tenth / 10) }))

/** Charges random small use with the plugin that charges text, and compares the sum of each key with the exact one. */
export async function chargeSmallUse({ database, charges, keys, seed }: SmallCharges): Promise<SmallChargesReport> {
  const storage = await openDatabase({ url: database })
  try {
    const payers = await makeKeys(storage, keys)
    const exact = await chargeAll(storage, payers, { charges, seed })
    return await compare(storage, payers, exact)
  } finally {
    await storage.close()
  }
}

async function makeKeys(storage: Storage, count: number): Promise<readonly Key[]> {
  const made: Key[] = []
  for (let i = 0; i < count; i++) {
    const { id } = await storage.keys.create(newKey({ name: `key ${i}` }))
    made.push(someKey({ id, name: `key ${i}` }))
  }
  return made
}

/** @returns the exact sum of each key */
async function chargeAll(
  storage: Storage,
  payers: readonly Key[],
  { charges, seed }: { readonly charges: number; readonly seed: number },
): Promise<ReadonlyMap<string, bigint>> {
  const ids = new Ids()
  const hooks = tokenUsage.create({}, someHost({ stores: storage as never }))
  const random = seeded(seed)
  const upTo = (most: number): number => Math.floor(random() * (most + 1))
  const exact = new Map<string, bigint>()
  for (let i = 0; i < charges; i++) {
    const which = upTo(payers.length - 1)
    const key = payers[which] as Key
    const kind = upTo(models.length - 1)
    const [model, target] = [models[kind] as (typeof models)[number], targets[kind] as (typeof targets)[number]]
    // A report without any tokens counts as missing.
    const prompt = 1 + upTo(40)
    const cached = upTo(prompt)
    const output = model.output === 0 ? 0 : upTo(12)
    const some = someExchange({ route: { operation: 'chat', path: '/v1/chat/completions' } })
    const context = { ...some, id: ids.next('req_', Date.now()) }
    context.slots.put(callerSlot, { key, group: groups[which % groups.length] as (typeof groups)[number] })
    await hooks.onTarget?.(context, target, facet)
    await hooks.onAdmit?.(context, target, facet)
    const head: Reply = { status: 200, headers: { 'content-type': 'application/json' }, stages: [] }
    const reply = (await hooks.onReply?.(context, head, facet, target)) as Reply
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: cached },
    }
    const [stage] = reply.stages as [Stage]
    await stage.write(Buffer.from(JSON.stringify({ id: 'chat-1', object: 'chat.completion', choices: [], usage })))
    await stage.end()
    await hooks.onSettle?.(context, { kind: 'answered', status: 200, reach: 'complete' }, facet)
    const cost = (prompt - cached) * model.input + cached * model.cached_input + output * model.output
    const tenth = tenths[which % tenths.length] as number
    exact.set(key.id, (exact.get(key.id) ?? 0n) + BigInt(cost * tenth))
    // The ledger writes after the answers.
    if (i % 1000 === 999) await storage.flush()
  }
  await storage.flush()
  return exact
}

async function compare(
  storage: Storage,
  payers: readonly Key[],
  exact: ReadonlyMap<string, bigint>,
): Promise<SmallChargesReport> {
  const spent = new Map<string, number>()
  const replayed: string[] = []
  let [stored, zero] = [0, 0]
  for (let after: string | null = null; ; ) {
    const page: readonly Charge[] = await storage.books.all(after, 500)
    for (const charge of page) {
      stored++
      if (charge.amount === 0) zero++
      spent.set(charge.keyId, (spent.get(charge.keyId) ?? 0) + charge.amount)
      replayed.push(...(await replayCharge(charge)))
    }
    const last = page.at(-1)
    if (!last) break
    after = last.id
  }
  const wrong: string[] = []
  let differenceMax = 0
  for (const { id, name } of payers) {
    const fine = BigInt(spent.get(id) ?? 0) * parts - (exact.get(id) ?? 0n)
    const difference = Number(fine) / Number(parts)
    differenceMax = Math.max(differenceMax, Math.abs(difference))
    const kept = (await storage.keys.find(id))?.spent
    if (Math.abs(difference) > 1) wrong.push(`${name} was charged ${difference} micro-units too much`)
    if (kept !== spent.get(id)) wrong.push(`${name} has spent ${kept}, and its charges add up to ${spent.get(id)}`)
  }
  const audit = await storage.books.verify()
  return { wrong, differenceMax, stored, zero, replayed, problems: audit.problems.length }
}
