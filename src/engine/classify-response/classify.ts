import type { KeyEffect, OutcomeRow, SaleClass } from '../../domain/index.ts'
import { valuesAt } from '../../wire/index.ts'
import { mentions } from './match-message.ts'
import { membersNextToErrors, limitCodes, outcomes, usualPlaces, waitPlace } from './outcome-table.ts'

/** No machine-readable word is longer. */
const codeCharsMax = 100

/** Members that only mark an answer as a refusal. */
const bareMembers: ReadonlySet<string> = new Set([
  'error',
  'message',
  'detail',
  'code',
  'status',
  'type',
  'request_id',
  'requestId',
])

/** What an upstream answered instead of the requested content. */
export type Refusal = {
  /** The status of the answer, or of the error in an answer of status 200. */
  readonly status: number | undefined
  /** It was in an answer of status 200. */
  readonly isInside: boolean
  /** Its JSON; undefined if it is none. */
  readonly body: unknown
  readonly retryAfterMs: number | undefined
}

/** The meaning of a refusal. */
export type Classification = {
  readonly class: SaleClass
  readonly key: KeyEffect
  /** `401 invalid_api_key`: the status and the deciding word. */
  readonly code: string
  readonly retryAfterMs?: number
  /** The body of the request may have caused it: it counts for the key once a different request is refused too. */
  readonly confirm?: true
}

/**
 * The meaning of a refusal by the tables, an operator's rows first. `strike` removes our secrets from a vendor's word.
 */
export function classify(given: Refusal, own: readonly OutcomeRow[] = [], strike = asIs): Classification {
  const refusal = given.retryAfterMs === undefined ? { ...given, retryAfterMs: waitIn(given.body) } : given
  const found = [...own, ...outcomes]
    .map(row => ({ row, code: fits(row, refusal) }))
    .find(one => one.code !== undefined)
  const isLimit = refusal.isInside && codesAt(refusal.body, usualPlaces).find(code => limitCodes.includes(code))
  if (!found && typeof isLimit !== 'string') return { class: 'final', key: 'none', code: codeOf(refusal, '', strike) }
  const limited = { class: 'not_sold', key: 'cooling', confirm: true } as const
  const { row, code = '' } = found ?? { row: limited, code: String(isLimit) }
  // In an answer that has begun well, only errors about the key, or too much for it, were certainly not sold.
  const isProved = !refusal.isInside || ['invalid', 'no_credit', 'cooling', 'request'].includes(row.key)
  const saleClass = row.class === 'not_sold' && !isProved ? 'unknown' : row.class
  const { retryAfterMs } = refusal
  return {
    class: saleClass,
    key: saleClass === 'not_sold' ? row.key : 'none',
    code: codeOf(refusal, code, strike),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(row.confirm === true && { confirm: true as const }),
  }
}

/** The time to wait that an error reports in its body, such as `27s`, in milliseconds. */
function waitIn(body: unknown): number | undefined {
  const seconds = codesAt(body, [waitPlace]).map(text => /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1])
  const longest = Math.max(...seconds.map(Number).filter(Number.isFinite))
  return longest > 0 && longest < Number.POSITIVE_INFINITY ? Math.ceil(longest * 1000) : undefined
}

const asIs = (text: string): string => text

function codeOf({ status, isInside, body }: Refusal, decisive: string, strike: (text: string) => string): string {
  const code = decisive === '' ? (codesAt(body, usualPlaces).find(one => !/^\d+$/.test(one)) ?? '') : decisive
  return [isInside ? '200' : undefined, status, shown(strike(code))]
    .filter(part => part !== undefined && part !== '')
    .join(' ')
}

/** Safe for a log, whatever a vendor writes. */
function shown(code: string): string {
  return code.replaceAll(/[^\w.:-]/g, '_').slice(0, 64)
}

/** The word by which a row matches, '' for the status alone; undefined if it does not match. */
function fits(row: OutcomeRow, refusal: Refusal): string | undefined {
  const { status, at, codes, says, when } = row
  if (row.mentions && !mentions(row, refusal.body)) return undefined
  if (says) return status.includes(refusal.status ?? 0) && saysOneOf(refusal.body, says) ? '' : undefined
  const isAnyStatus = refusal.status === undefined && (codes ?? row.mentions) !== undefined
  if (!isAnyStatus && !status.includes(refusal.status ?? 0)) return undefined
  if (when === 'wait' && refusal.retryAfterMs === undefined) return undefined
  if (when === 'bare') return isBare(refusal.body) ? '' : undefined
  if (codes === undefined && when !== 'code') return ''
  const there = codesAt(refusal.body, at === undefined ? usualPlaces : [at])
  return codes ? there.find(code => codes.includes(code)) : there[0]
}

function saysOneOf(body: unknown, sentences: readonly string[]): boolean {
  return valuesAt(body, 'error.message').some(value => typeof value === 'string' && sentences.includes(value))
}

/** No JSON, or only a message and the status in it: nothing that identifies the refusal. */
function isBare(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true
  const { error } = body as { readonly error?: unknown }
  const members = [body, ...(typeof error === 'object' && error !== null ? [error] : [])].flatMap(one =>
    Object.entries(one as { readonly [name: string]: unknown }),
  )
  return (
    members.every(([name, value]) => isNothing(value) || (bareMembers.has(name) && isMessage(name, value))) &&
    !codesAt(body, usualPlaces).some(isWord)
  )
}

/** A `detail` may hold more than words. */
function isMessage(name: string, value: unknown): boolean {
  return name !== 'detail' || typeof value === 'string'
}

function isWord(code: string): boolean {
  return !/^(?:\d+|forbidden|error)$/i.test(code)
}

export function codesAt(body: unknown, places: readonly string[]): readonly string[] {
  return places.flatMap(place =>
    valuesAt(body, place).flatMap(value => {
      const code = typeof value === 'number' ? String(value) : value
      return typeof code === 'string' && code !== '' && code.length <= codeCharsMax ? code : []
    }),
  )
}

/** A refusal of its own request. */
export function readRefusal(status: number, body: Buffer, wait: number | undefined): Refusal {
  return { status, isInside: false, body: parseLenient(body), retryAfterMs: wait }
}

/** Undefined if it is no JSON. A byte order mark may come first. */
export function parseLenient(text: Buffer | string): unknown {
  try {
    return JSON.parse(String(text).trim()) as unknown
  } catch {
    return undefined
  }
}

/** The refusal in a whole answer of status 200; undefined if it is an answer. */
export function refusalInside(body: unknown): Refusal | undefined {
  const whole: unknown = Array.isArray(body) && body.length === 1 ? body[0] : body
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return undefined
  const { error } = whole as { readonly error?: unknown }
  if (!error || !Object.entries(whole).every(([name, value]) => membersNextToErrors.has(name) || isNothing(value)))
    return undefined
  const status = codesAt(whole, ['error.code', 'error.status', 'code', 'status']).map(Number)
  return {
    status: status.find(one => Number.isInteger(one) && one >= 400 && one <= 599),
    isInside: true,
    body: whole,
    retryAfterMs: undefined,
  }
}

/** Empty, whatever its type. */
export function isNothing(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === null || value === ''
  return Object.keys(value).length === 0
}
