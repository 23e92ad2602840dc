import { answerJson } from '../answer.ts'
import type { Played } from '../upstream.ts'

/** The kinds of a simulated vendor's refusals. */
export type Kind =
  | 'unauthorized'
  | 'unknown_field'
  | 'missing_field'
  | 'invalid_value'
  | 'content_type'
  | 'not_found'
  | 'moderated'
  | 'busy'
  | 'broken'

/** A refusal before it gets the vendor's status, code and body. */
export class Problem extends Error {
  readonly kind: Kind
  /** The path of the invalid field. */
  readonly field: string | undefined
  /** Replaces the vendor's status of the kind. */
  readonly status: number | undefined
  readonly retryAfterS: number | undefined
  /** A response that is sent unchanged instead of a refusal. */
  readonly played: Played | undefined

  constructor(
    kind: Kind,
    message: string,
    more: { field?: string; status?: number; retryAfterS?: number | undefined; played?: Played } = {},
  ) {
    super(message)
    this.kind = kind
    this.field = more.field
    this.status = more.status
    this.retryAfterS = more.retryAfterS
    this.played = more.played
  }
}

export type Worded = {
  readonly kind: Kind
  readonly status: number
  readonly code: string
  readonly message: string
  readonly field: string | undefined
}

/** A vendor's form of refusals. */
export type Words = {
  /** Statuses that differ from the usual ones. */
  readonly statuses?: { readonly [kind in Kind]?: number }
  /** The vendor's code of each kind; `otherwise` is the code of all other kinds. */
  readonly codes: { readonly [kind in Kind]?: string } & { readonly otherwise: string }
  body(worded: Worded): unknown
  headers?(worded: Worded): { readonly [name: string]: string }
}

const statuses: { readonly [kind in Kind]: number } = {
  unauthorized: 401,
  unknown_field: 400,
  missing_field: 400,
  invalid_value: 400,
  content_type: 415,
  not_found: 404,
  moderated: 400,
  busy: 429,
  broken: 500,
}

export function answerProblem(words: Words, problem: Problem): Played {
  if (problem.played) return problem.played
  const worded = wordProblem(words, problem)
  const { retryAfterS } = problem
  const retry = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  return answerJson(worded.status, words.body(worded), { ...words.headers?.(worded), ...retry })
}

export function wordProblem(words: Words, { kind, message, field, status }: Problem): Worded {
  return {
    kind,
    status: status ?? words.statuses?.[kind] ?? statuses[kind],
    code: words.codes[kind] ?? words.codes.otherwise,
    message,
    field,
  }
}
