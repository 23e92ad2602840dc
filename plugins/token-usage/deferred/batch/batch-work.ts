import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  isObject,
  type BatchTraits,
  type Body,
  type CallUpstream,
  chargeFacts,
  defineSlot,
  detachedJobSlot,
  Failure,
  type Host,
  type Json,
  type JsonObjectView,
  type Outbound,
  type Outcome,
  readField,
  type Reply,
  type RequestContext,
  type Target,
  type UpstreamClient,
  withField,
} from '../../../../src/plugin-api/index.ts'
import { eachLine, listElements } from '../../../../src/wire/index.ts'
import { fail } from '../../errors.ts'
import { holdMaximum } from '../../hold-maximum.ts'
import { createTakenStage, type DeferredWork, type WorkTools } from '../deferred-work.ts'
import { BatchInput, type BatchModel, invalidLine } from './batch-input.ts'

/** The number of bytes of requests that are read in one turn of the event loop. */
const turnBytes = 262_144
/** The maximum length of a line in a batch. */
const lineBytesMax = 16 * 1024 * 1024

export type BatchTools = WorkTools & { readonly parseObject: Host['parseObject'] }

/** A batch that a request creates. */
type Batch = {
  readonly work: DeferredWork
  readonly batch: BatchTraits
  readonly operation: string
  readonly input: BatchInput
  /** The number of bytes of the requests. */
  bytes: number
  isHeld: boolean
  /** Whether the upstream may have created it. */
  isSent: boolean
}

const batchSlot = defineSlot<Batch>('batch')

/** @throws Failure batch_path_refused, background_unroutable */
export function checkBatch(tools: BatchTools, context: RequestContext, target: Target, batch: BatchTraits): void {
  const traits = context.route.deferred
  if (!traits) return
  const operation = operationOf(context, target.body, batch)
  const own = context.plan.routes.find(route => route.operation === operation)?.traits
  for (const needed of [traits.poll, batch.results.operation])
    if (!context.plan.routes.some(route => route.operation === needed && route.serve === undefined))
      throw fail('background_unroutable', { operation: needed })
  const isFile = 'file' in batch.requests
  const { parseObject } = tools
  const tier = batch.facts.service_tier
  const input = new BatchInput({ context, target, operation, traits: own, isFile, tier, parseObject })
  const work: DeferredWork = { traits, course: 'requested' }
  context.slots.put(batchSlot, { work, batch, operation, input, bytes: 0, isHeld: false, isSent: false })
  context.slots.put(detachedJobSlot, true)
}

/** The operation of the requests. @throws Failure batch_path_refused */
function operationOf({ plan }: RequestContext, body: Body, { requests }: BatchTraits): string {
  if (!('file' in requests)) return requests.operation
  const path = readField(body, requests.path)
  const route = plan.routes.find(one => one.method === 'POST' && one.path === path && one.serve === undefined)
  // Images are charged as they pass, but the images of a batch do not pass through here.
  if (!route || route.body !== 'json' || route.traits?.images || route.deferred?.batch || route.session)
    throw fail('batch_path_refused', { path: textOf(path) }, { param: requests.path })
  return route.operation
}

/** A value in an error message. */
function textOf(value: Json | undefined): string {
  return (typeof value === 'string' ? value : JSON.stringify(value ?? null)).slice(0, 120)
}

/**
 * Reads the requests of a batch that its body contains, and holds their cost. @throws Failure batch_*,
 * insufficient_quota
 */
export async function admitBatch(tools: BatchTools, context: RequestContext, target: Target): Promise<void> {
  const found = context.slots.get(batchSlot)
  if (!found || 'file' in found.batch.requests || target.body.kind !== 'json') return
  const { list, body: member } = found.batch.requests
  const { json } = target.body
  if (json.elements(list) === undefined) throw fail('batch_empty', {}, { param: list })
  let index = 0
  let sinceTurn = 0
  for (const element of listElements(json.raw(list) as Buffer)) {
    const place = `${list}[${index++}]`
    found.input.add(bodyIn(element, tools.parseObject, member, place), place)
    sinceTurn += element.length
    if (sinceTurn < turnBytes) continue
    sinceTurn = 0
    await nextTurn()
  }
  found.bytes = json.bytes.length
  await holdBatch(tools, { context, target, found })
}

/** @throws Failure batch_line_invalid */
function bodyIn(bytes: Buffer, parse: Host['parseObject'], member: string, place: string): Buffer {
  const raw = parseLine(parse, bytes, place).raw(member)
  if (!raw) throw fail('batch_line_invalid', { place, why: `it has no object '${member}'` }, { param: place })
  return raw
}

const longLines = {
  bytesMax: lineBytesMax,
  tooLong: (line: number) =>
    fail('batch_line_invalid', { place: `line ${line}`, why: `it is longer than ${lineBytesMax} bytes` }),
}

/** Sends the creation of a batch whose requests are in a stored file, after reading and checking the file. */
export function sendBatch(
  tools: BatchTools,
  context: RequestContext,
  { out, target }: { readonly out: Outbound; readonly target: Target },
): CallUpstream | undefined {
  const found = context.slots.get(batchSlot)
  if (!found || !('file' in found.batch.requests)) return undefined
  return async client => {
    if (!found.isHeld) {
      await readFile(tools, client, { context, target, found })
      await holdBatch(tools, { context, target, found })
    }
    found.isSent = true
    const answer = await client.ask({ body: out.body, headers: out.headers })
    return { status: answer.status, headers: answer.headers, body: answer.body }
  }
}

type BatchRequest = { readonly context: RequestContext; readonly target: Target; readonly found: Batch }

async function readFile(
  tools: BatchTools,
  client: UpstreamClient,
  { context, target, found }: BatchRequest,
): Promise<void> {
  const { requests } = found.batch
  if (!('file' in requests)) return
  const id = readField(target.body, requests.file)
  if (typeof id !== 'string') throw fail('batch_file_missing', { name: requests.file }, { param: requests.file })
  const answer = await client.ask({ operation: requests.operation, params: { id }, body: { kind: 'none' } })
  const path = readField(target.body, requests.path)
  const read = (line: Buffer, number: number): void => {
    const place = `line ${number}`
    const own = parseLine(tools.parseObject, line, place)
    if (own.get(requests.linePath) !== path)
      throw fail(
        'batch_line_invalid',
        { place, why: `its ${requests.linePath} is not ${textOf(path)}` },
        { param: place },
      )
    found.input.add(bodyIn(line, tools.parseObject, requests.body, place), place)
    found.bytes += line.length
  }
  if (answer.status !== 200)
    throw fail('batch_file_unreadable', { id, status: answer.status }, { param: requests.file })
  await eachLine(answer.body, longLines, read)
  await checkObjects(tools, context, found.input, id)
}

function parseLine(parse: Host['parseObject'], line: Buffer, place: string): JsonObjectView {
  try {
    return parse(line)
  } catch (error) {
    throw invalidLine(place, error)
  }
}

/**
 * Checks that the objects in requests belong to the key, and are at the upstream of the file.
 * @throws Failure batch_object_unknown
 */
async function checkObjects(
  { stores: { objects } }: BatchTools,
  { payer }: RequestContext,
  { objects: named }: BatchInput,
  fileId: string,
): Promise<void> {
  if (named.length === 0) return
  const [file] = await objects.find(payer, [{ kind: 'file', id: fileId }])
  const found = await objects.find(payer, named)
  const there = found.filter(one => one.upstream === file?.upstream && one.vendorKey === file.vendorKey)
  const known = new Set(there.map(({ kind, id }) => `${kind} ${id}`))
  const missing = named.find(({ kind, id }) => !known.has(`${kind} ${id}`))
  if (missing) throw fail('batch_object_unknown', { kind: missing.kind, id: missing.id.slice(0, 120) })
}

async function holdBatch(tools: BatchTools, { context, target, found }: BatchRequest): Promise<void> {
  const { input } = found
  const { model, rule }: BatchModel = input.model
  if (!rule) return
  const facts = chargeFacts(context, { ...target, model, family: model.family }, { rule, n: input.count })
  // Stored before the hold: if its commit is in doubt, the end of the request still releases it.
  found.isHeld = true
  try {
    await holdMaximum(tools.stores.ledger, facts, input.most)
  } catch (error) {
    if (error instanceof Failure && error.code === 'insufficient_quota') found.isHeld = false
    throw error
  }
  context.notes.charge = true
}

/** Replaces the names of models in a body, which is rewritten anyway. */
export function renameBatch(
  { slots }: RequestContext,
  out: Outbound,
  { sendAs, model, alias = model.name }: Target,
): Outbound {
  const found = slots.get(batchSlot)
  if (!found || 'file' in found.batch.requests) return out
  found.isSent = true
  if (out.body.kind !== 'json' || sendAs === alias) return out
  const { list, body: member } = found.batch.requests
  const requests = out.body.json.get(list)
  if (!Array.isArray(requests)) return out
  const renamed = requests.map((one: Json): Json => {
    const body = isObject(one) ? one[member] : undefined
    return isObject(one) && isObject(body) ? { ...one, [member]: { ...body, model: sendAs } } : one
  })
  return { ...out, body: withField(out.body, list, renamed) }
}

/** Stores the job of a created batch before the client has its id. */
export function takeBatch(tools: BatchTools, context: RequestContext, reply: Reply, target: Target): Reply {
  const found = context.slots.get(batchSlot)
  if (!found || reply.status < 200 || reply.status > 299 || !found.isHeld) return reply
  const { work, operation, bytes, input } = found
  const note = { operation, sent: String(bytes) }
  const own = { ...target, model: input.model.model }
  return { ...reply, stages: [...reply.stages, createTakenStage(tools, { context, target: own, work, note }, reply)] }
}

/** Ends the hold of a batch that was not created. */
export async function settleBatch(
  { stores: { ledger }, log }: BatchTools,
  { id, slots }: RequestContext,
  outcome: Outcome,
): Promise<void> {
  const found = slots.get(batchSlot)
  if (!found?.isHeld || found.work.course === 'taken') return
  const isFree = outcome.reach === 'refused' || outcome.reach === 'untouched' || !found.isSent
  const isUnknown = found.work.course === 'unrecorded' || !isFree
  try {
    if (isUnknown) await ledger.review(id, 'background_not_recorded', { hold: 'kept' })
    else await ledger.void(id, 'upstream_refused')
  } catch (cause) {
    log.error({ charge: id, err: cause }, 'the hold of a batch could not be ended yet')
  }
}
