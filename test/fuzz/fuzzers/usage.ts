import * as fc from 'fast-check'
import { tokenUsage } from '../../../plugins/token-usage/plugin.ts'
import { anthropic } from '../../../src/api-formats/anthropic.ts'
import { google } from '../../../src/api-formats/google.ts'
import { openai } from '../../../src/api-formats/openai.ts'
import { scanObject } from '../../../src/engine/fields.ts'
import {
  callerSlot,
  type Ledger,
  type ChargeItem,
  type Reply,
  type Stage,
  type Stores,
  treeOf,
  type UnitName,
} from '../../../src/domain/index.ts'
import { someExchange, someGroup, someHost, someKey, someTarget } from '../../harness/request-context.ts'
import { usageFacet as facet } from '../../harness/usage-facet.ts'
import { type Fuzzer, insist, pieces } from '../fuzzer.ts'
import type { Meter } from '../meter.ts'
import { readEvents } from '../readers/read-events.ts'
import { long, type Style, streamedAnswers, type UsageCase, wholeAnswers } from './usage-answers.ts'

/** Tokens in the kinds that prices distinguish. */
type Use = { readonly input: number | null; readonly cached: number | null; readonly output: number | null }

export const usage: Fuzzer<UsageCase> = {
  name: 'usage',
  promise: 'what is booked of an answer is what whoever parses it finds as its usage',
  cases: fc.oneof(wholeAnswers, streamedAnswers),
  short: 500,
  open: ({ planted, meter }) =>
    Promise.resolve({
      async try(one) {
        judge(readUse(one), await book(one, meter, planted), one)
        return Buffer.byteLength(one.body)
      },
      close: () => Promise.resolve(),
    }),
}

const dialects = { chat: openai, responses: openai, messages: anthropic, generate: google }

/** The charged lines of a whole answer; `planted` drops the last piece before it is read. */
async function book(
  { style: operation, stream, body, cuts: lengths }: UsageCase,
  meter: Meter,
  planted: boolean,
): Promise<readonly ChargeItem[]> {
  const posted: ChargeItem[] = []
  const ledger = { healthy: () => true, post: (_: unknown, lines: readonly ChargeItem[]) => void posted.push(...lines) }
  const hooks = tokenUsage.create(
    {},
    someHost({ stores: { ledger: ledger as unknown as Ledger } as unknown as Stores }),
  )
  const requestBody = {
    kind: 'json' as const,
    json: scanObject(Buffer.from(JSON.stringify({ model: 'm', input: long }))),
  }
  const some = someTarget({ body: requestBody })
  const origin = { file: 'gateway.yaml', line: 7, col: 1 }
  const prices = new Map(['input', 'cached_input', 'output'].map(unit => [unit, { micros: 1_000_000, origin }]))
  const target = { ...some, stream, model: { ...some.model, prices, free: false } }
  const context = { ...someExchange({ route: { operation, path: '/v1/x' } }), dialect: dialects[operation] }
  context.slots.put(callerSlot, { key: someKey(), group: someGroup() })
  await hooks.onTarget?.(context, target, facet)
  await hooks.onAdmit?.(context, target, facet)
  const type = stream ? 'text/event-stream' : 'application/json'
  const reply = (await hooks.onReply?.(
    context,
    { status: 200, headers: { 'content-type': type }, stages: [] },
    facet,
    target,
  )) as Reply
  const [stage] = reply.stages as [Stage]
  const passed: Buffer[] = []
  const parts = [...pieces(Buffer.from(body), lengths)]
  for (const piece of planted ? parts.slice(0, -1) : parts)
    passed.push(...[await meter.turn(() => stage.write(piece))].flat())
  passed.push(...[await stage.end()].flat())
  insist(planted || Buffer.concat(passed).toString() === body, () => 'the answer was changed on its way')
  await hooks.onSettle?.(context, { kind: 'answered', status: 200, reach: 'complete' }, facet)
  return posted
}

/** The usage in a fully parsed answer. */
function readUse({ style: kind, stream, body }: UsageCase): Use {
  if (!stream) return useOf(kind, JSON.parse(body) as Told)
  const found = readEvents(body)
    .filter(({ data }) => data !== '' && data !== '[DONE]')
    .map(({ data }) => useOf(kind, JSON.parse(data) as Told, true))
  // The input is the largest count reported for it: it does not shrink during the answer.
  const most = (all: readonly (number | null)[]): number | null =>
    all.reduce((best, one) => (one === null ? best : Math.max(best ?? 0, one)), null)
  return {
    input: most(found.map(one => one.input)),
    cached: most(found.map(one => one.cached)),
    output: found.findLast(one => one.output !== null)?.output ?? null,
  }
}

type Counted = { readonly [name: string]: number | { readonly [name: string]: number } | undefined }
type Told = {
  readonly usage?: Counted | null
  readonly usageMetadata?: Counted
  readonly message?: Told
  readonly response?: Told
}

function useOf(kind: Style, report: Told, isEvent = false): Use {
  const from =
    (isEvent && kind === 'responses'
      ? report.response?.usage
      : (report.usage ?? (kind === 'messages' ? report.message?.usage : undefined))) ?? {}
  const number = (one: unknown): number | null => (typeof one === 'number' ? one : null)
  const within = (name: string): number | null => number((from[name] as Counted | undefined)?.['cached_tokens'])
  const sum = (...all: readonly (number | null)[]): number | null =>
    all.every(one => one === null) ? null : all.reduce<number>((total, one) => total + (one ?? 0), 0)
  if (kind === 'chat')
    return {
      input: number(from['prompt_tokens']),
      cached: within('prompt_tokens_details'),
      output: number(from['completion_tokens']),
    }
  if (kind === 'responses')
    return {
      input: number(from['input_tokens']),
      cached: within('input_tokens_details'),
      output: number(from['output_tokens']),
    }
  if (kind === 'messages') {
    const cached = number(from['cache_read_input_tokens'])
    const input = sum(number(from['input_tokens']), number(from['cache_creation_input_tokens']), cached)
    return { input, cached, output: number(from['output_tokens']) }
  }
  const meta = report.usageMetadata ?? {}
  const output = sum(number(meta['candidatesTokenCount']), number(meta['thoughtsTokenCount']))
  return { input: number(meta['promptTokenCount']), cached: number(meta['cachedContentTokenCount']), output }
}

function judge(use: Use, lines: readonly ChargeItem[], one: UsageCase): void {
  /** The quantity of a unit and all of its kinds. */
  const booked = (unit: UnitName): number => {
    const tree: readonly string[] = treeOf(unit)
    return lines.reduce((sum, line) => (tree.includes(line.tier) ? sum + (line.quantity ?? 0) : sum), 0)
  }
  // A request always has an input: a report without any counts is no report.
  const isNothing = (use.input === null && use.output === null) || (use.input === 0 && !use.output)
  if (isNothing)
    return insist(
      lines.every(line => line.flags.length > 0),
      () => `nothing was reported, and booked without a flag: ${show(lines)}`,
    )
  const wanted = { input: use.input ?? 0, cached_input: use.cached ?? 0, output: use.output ?? 0 } as const
  for (const unit of ['input', 'cached_input', 'output'] as const)
    insist(
      booked(unit) === wanted[unit],
      () => `${one.style}: ${wanted[unit]} of ${unit} were told, booked: ${show(lines)}`,
    )
}

const show = (lines: readonly ChargeItem[]): string =>
  lines.map(line => `${line.tier} ${line.quantity} ${line.flags.join(' ')}`.trim()).join(', ') || 'nothing'
