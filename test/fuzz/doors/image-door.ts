import { imageTierBilling } from '../../../plugins/image-tier-billing/plugin.ts'
import type { BillingFacet } from '../../../plugins/image-tier-billing/schema.ts'
import { scanObject } from '../../../src/engine/fields.ts'
import {
  type Body,
  callerSlot,
  Failure,
  type HoldResult,
  type Ledger,
  type ChargeItem,
  type Review,
  type Passed,
  type Reply,
  type Stores,
} from '../../../src/domain/index.ts'
import { askedSizeSlot, type Outcome } from '../../../src/plugin-api/index.ts'
import { someExchange, someGroup, someHost, someKey, someTarget } from '../../harness/request-context.ts'
import { pieces } from '../fuzzer.ts'
import type { Meter } from '../meter.ts'

/** An upstream's answer, and the request that it answers. */
export type Answered = {
  readonly operation: 'image.generate' | 'image.edit' | 'responses'
  readonly bytes: Buffer
  readonly type: string | null
  readonly stream: boolean
  /** The client requested links, and the upstream of the family returns bytes. */
  readonly asUrl: boolean
  /** Only the end of the connection marks the end of the answer. */
  readonly endUnknown: boolean
  /** The upstream closes the connection after this many bytes. */
  readonly stop: number | null
  readonly cuts: readonly number[]
}

/** The result of an answer. */
export type Billed = {
  /** The bytes that the client received. */
  readonly received: Buffer
  /** The number of committed lines, and the number of bytes sent before each commit: `[lines, bytes]`, rising. */
  readonly course: readonly (readonly [lines: number, bytes: number])[]
  readonly lines: number
  /** How the charge ended: `settle …`, `void …` or `review …`, one entry per call. */
  readonly ends: readonly string[]
  readonly refusal: Failure | undefined
}

const facet: BillingFacet = {
  tiers: [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }],
  tier_from: ['output'],
  otherwise: '2K',
  on_caller_gone: 'bill',
  missing_usage: 'review',
  over_return: 'bill',
  answers: { responses: 'output' },
}

/** Commits one turn after the call, like a disk; `forgets` is the planted fault. */
class SlowLedger implements Ledger {
  readonly lines: ChargeItem[] = []
  readonly ends: string[] = []
  readonly #forgets: boolean

  constructor(forgets: boolean) {
    this.#forgets = forgets
  }

  hold = async (): Promise<HoldResult> => ({ kind: 'held' })
  async line(_id: string, line: ChargeItem): Promise<boolean> {
    await Promise.resolve()
    if (!this.#forgets && !this.lines.some(other => other.index === line.index)) this.lines.push(line)
    return true
  }
  settle = async ({ reason }: { readonly reason: string | null }): Promise<boolean> => this.#end(`settle ${reason}`)
  void = async (_id: string, reason: string): Promise<boolean> => this.#end(`void ${reason}`)
  review = async (_id: string, reason: string, { hold = 'released' }: Review = {}): Promise<boolean> =>
    this.#end(`review ${reason} ${hold}`)
  post = (): void => undefined
  delivered = (): void => undefined
  find = (): undefined => undefined
  healthy = (): boolean => true

  async #end(how: string): Promise<boolean> {
    await Promise.resolve()
    if (this.ends.length > 0) return false
    this.ends.push(how)
    return true
  }
}

/** Passes an answer through the plugin's hooks as the engine does, and records what was sent when. */
export async function bill(answered: Answered, meter: Meter, planted: boolean): Promise<Billed> {
  const ledger = new SlowLedger(planted)
  const hooks = imageTierBilling.create({}, someHost({ stores: { ledger } as unknown as Stores }))
  const own = answered.asUrl ? { ...facet, render: 'b64_json' as const } : facet
  const target = targetOf(answered)
  const context = someExchange({ route: { operation: answered.operation, path: pathOf(answered.operation) } })
  context.slots.put(callerSlot, { key: someKey(), group: someGroup() })
  context.slots.put(askedSizeSlot, { text: null, size: { kind: 'none' }, expected: null, resolution: null })
  await hooks.onTarget?.(context, target, own)
  await hooks.onAdmit?.(context, target, own)

  const received: Buffer[] = []
  const course: [number, number][] = []
  let length = 0
  const take = (passed: Passed): void => {
    for (const piece of Buffer.isBuffer(passed) ? [passed] : passed) {
      received.push(piece)
      length += piece.length
    }
    course.push([ledger.lines.length, length])
  }
  const outcome = await pass(answered, take, meter, reply => hooks.onReply?.(context, reply, own, target))
  await hooks.onSettle?.(context, outcome, own)
  const refusal = outcome.kind === 'answered' ? undefined : outcome.failure
  return { received: Buffer.concat(received), course, lines: ledger.lines.length, ends: ledger.ends, refusal }
}

async function pass(
  { bytes, type, endUnknown, stop, cuts }: Answered,
  take: (passed: Passed) => void,
  meter: Meter,
  onReply: (reply: Reply) => Reply | Promise<Reply> | undefined,
): Promise<Outcome> {
  const headers: { [name: string]: string } = type === null ? {} : { 'content-type': type }
  const sent = stop === null ? bytes : bytes.subarray(0, stop)
  let isWhole = false
  try {
    const reply = await onReply({ status: 200, headers, stages: [], endUnknown })
    const stage = reply?.stages[0]
    for (const piece of pieces(sent, cuts)) take(stage ? await meter.turn(() => stage.write(piece)) : piece)
    isWhole = sent.length === bytes.length
    if (!isWhole && !endUnknown) return { kind: 'cut', by: 'upstream', status: 200, reach: 'truncated' }
    if (stage) take(await meter.turn(() => stage.end()))
    return { kind: 'answered', status: 200, reach: 'complete' }
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure
    return { kind: 'cut', by: 'gateway', status: 200, reach: isWhole ? 'complete' : 'truncated', failure }
  }
}

function targetOf({ operation, stream, asUrl }: Answered) {
  const tools =
    operation === 'responses' ? { tools: [{ type: 'image_generation' }], input: 'a boat' } : { prompt: 'a boat' }
  const fields = { model: 'm', ...tools, ...(asUrl && { response_format: 'url' }), ...(stream && { stream: true }) }
  const body: Body = { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(fields))) }
  const some = someTarget({ body })
  const origin = { file: 'gateway.yaml', line: 7, col: 1 }
  const prices = new Map(['1K', '2K'].map((tier, i) => [tier, { micros: i + 1, origin }]))
  // Every case requests images.
  return { ...some, chargesItems: true, stream, model: { ...some.model, prices, free: false } }
}

const pathOf = (operation: string): string =>
  operation === 'responses' ? '/v1/responses' : `/v1/images/${operation === 'image.edit' ? 'edits' : 'generations'}`
