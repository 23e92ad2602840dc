import { type Body, readField, rootOf, type UnitName, units, type Usage, isObject } from '../../src/plugin-api/index.ts'
import type { UsageFacet } from './schema.ts'

/** The plausible part of a report, and the units with implausible counts. */
export type CheckedUsage = { readonly usage: Usage | null; readonly implausible: readonly string[] }

/** The sizes of the transfer. `sentBytes`: the bytes from the client, if they are more than the body. */
export type Sizes = {
  readonly body: Body
  readonly answerBytes: number
  readonly facet: UsageFacet
  readonly sentBytes?: number | undefined
}

/**
 * Checks a report against the transferred bytes. A token is at least a byte of text, and so is a second of audio, a
 * searched document, or a tool call. For parts that no client sees (reasoning, stored conversations, results of the
 * upstream's own tools) `unseen_tokens_max` is added for each choice. Higher counts are implausible, and so are kinds
 * of a count that exceed the count.
 */
export function checkUsage(reported: Usage | null, { body, answerBytes, facet, sentBytes }: Sizes): CheckedUsage {
  const usage = withoutZeroReport(reported)
  if (!usage) return { usage: null, implausible: [] }
  const { counts } = usage
  const sent = sentBytes ?? bytesOf(body)
  const unseen = facet.unseen_tokens_max
  const implausible: string[] = []
  const dropped = new Set<UnitName>()
  for (const name in counts) {
    const unit = name as UnitName
    const count = counts[unit] ?? 0
    if (count > mostOf(unit, { sent, answerBytes, unseen, body })) {
      implausible.push(unit)
      dropped.add(rootOf(unit))
    }
    const { children } = units.get(unit) as { readonly children: readonly UnitName[] }
    let parts = 0
    for (const child of children) parts += counts[child] ?? 0
    if (parts > count) {
      implausible.push(...children.filter(child => counts[child]))
      dropped.add(rootOf(unit))
    }
    // Kinds of an unreported count cannot be assigned.
    const parent = units.get(unit)?.parent as UnitName | undefined
    if (parent !== undefined && counts[parent] === undefined) dropped.add(rootOf(unit))
  }
  if (dropped.size === 0) return { usage, implausible }
  const kept = Object.fromEntries(Object.entries(counts).filter(([unit]) => !dropped.has(rootOf(unit))))
  return { usage: { ...usage, counts: kept }, implausible }
}

type Bounds = {
  readonly sent: number
  readonly answerBytes: number
  readonly unseen: number
  readonly body: Body
}

function mostOf(unit: UnitName, { sent, answerBytes, unseen, body }: Bounds): number {
  if (unit === 'input') return sent + unseen
  if (unit === 'output') return answerBytes + unseen * choicesOf(body)
  // There is no bound: tokens are stored for the time that the client requested.
  if (unit === 'cache_storage') return Number.POSITIVE_INFINITY
  // A kind is bounded by the count that includes it.
  return units.get(unit)?.parent === undefined ? sent : Number.POSITIVE_INFINITY
}

/**
 * A report of zero use does not count as a report: a request always has an input, unless it extends something stored.
 */
export function withoutZeroReport(reported: Usage | null): Usage | null {
  if (reported?.counts.input !== 0 || reported.counts.cache_storage !== undefined) return reported
  const { output, second, search_unit: searched } = reported.counts
  return output || second || searched ? reported : null
}

/** The bytes of the client's input; infinite if they were not counted. */
function bytesOf(body: Body): number {
  if (body.kind === 'none') return 0
  if (body.kind === 'json') return body.json.bytes.length
  if (body.kind === 'stream' || body.kind === 'composed') return body.bytes ?? Number.POSITIVE_INFINITY
  return body.parts.reduce((sum, part) => sum + (part.kind === 'file' ? part.bytes : Buffer.byteLength(part.value)), 0)
}

/** The number of parallel answers, each of which may include reasoning. */
function choicesOf(body: Body): number {
  const config = readField(body, 'generationConfig')
  const count = readField(body, 'n') ?? (isObject(config) ? config['candidateCount'] : undefined)
  return typeof count === 'number' && count > 1 ? Math.min(Math.floor(count), 128) : 1
}
