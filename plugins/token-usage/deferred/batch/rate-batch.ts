import {
  isObject,
  type Json,
  type UpstreamClient,
  type UsageFacts,
  type UsageRule,
  timeOfId,
} from '../../../../src/plugin-api/index.ts'
import { eachLine, parseJsonIfValid } from '../../../../src/wire/index.ts'
import { holds, inputOf, rateGroups, type UsageGroup, type Use } from '../../../../src/pricing/index.ts'
import { ordinaryFacts } from '../../request-facts.ts'
import { fail } from '../../errors.ts'
import { checkUsage } from '../../check-usage.ts'
import { needsReview } from '../../needs-review.ts'
import { usesOfWhole } from '../../rate-request.ts'
import type { RatedWork } from '../end-charge.ts'
import type { EndedWork } from '../follow.ts'
import { factsOf, type WorkTerms } from '../rate-response.ts'

/** The maximum length of a line of results; if a line is longer, the charge needs a review. */
const lineBytesMax = 64 * 1024 * 1024
const none = { kind: 'none' } as const

/** The result files of an ended batch, with their lengths. */
export type RatedBatch = RatedWork & { readonly files: ReadonlyMap<string, number> }

type Group = UsageGroup & { readonly uses: Use[] }

/** Adds up the usage in the lines of results, at the prices of each line. */
class BatchTotals {
  readonly #terms: WorkTerms
  readonly #operation: string
  readonly #rule: UsageRule
  readonly #groups = new Map<string, Group>()
  readonly implausible = new Set<string>()
  readonly missing = new Set<string>()
  lines = 0
  /** The number of lines that cannot be read. */
  unread = 0

  constructor(terms: WorkTerms) {
    this.#terms = terms
    this.#operation = terms.job.told[0]?.['operation'] ?? terms.job.operation
    this.#rule = terms.charge.rule as UsageRule
  }

  get groups(): readonly UsageGroup[] {
    return [...this.#groups.values()]
  }

  add(line: Buffer): void {
    this.lines++
    const answer = this.#answerOf(line)
    if (!answer) return
    const { facet, dialect, job, answersVectors } = this.#terms
    const [{ sent = '0', ...facts } = {}] = job.told
    const usage = dialect.usageOf(this.#operation, answer)
    const sizes = { body: none, answerBytes: line.length, facet, sentBytes: Number(sent) }
    const judged = checkUsage(usage, sizes)
    for (const unit of judged.implausible) this.implausible.add(unit)
    const { uses, missing } = usesOfWhole({
      rule: this.#rule,
      facet,
      outcome: { kind: 'answered', status: 200, reach: 'complete' },
      body: none,
      ...judged,
      uncounted: 0,
      byLength: Math.ceil(line.length / facet.estimate.bytes_per_token),
      answersVectors,
      failed: false,
      at: this.#at,
    })
    for (const unit of missing) this.missing.add(unit)
    const { batch } = this.#terms.traits
    this.#sum(uses, { ...factsOf(facts), ...(usage && ordinaryFacts(usage.facts)), ...batch?.facts })
  }

  get #at(): number {
    return timeOfId('req_', this.#terms.charge.id)
  }

  /** The response in a line; undefined for a request that failed. */
  #answerOf(line: Buffer): { readonly [name: string]: Json } | undefined {
    const { batch } = this.#terms.traits
    const value = parseJsonIfValid(line.toString())
    if (!isObject(value) || !batch) {
      this.unread++
      return undefined
    }
    const status = batch.status && readPath(value, batch.status)
    if (typeof status === 'number' && (status < 200 || status > 299)) return undefined
    const answer = readPath(value, batch.response)
    if (isObject(answer)) return answer
    if (typeof status === 'number') this.unread++
    return undefined
  }

  #sum(uses: readonly Use[], facts: UsageFacts): void {
    const input = inputOf(uses)
    const at = this.#at
    const situation = { input, facts, at }
    const { overrides = [], times = [] } = this.#rule
    const applied = [
      overrides.findIndex(one => holds(one.if, situation)),
      ...times.map(one => holds(one.if, situation)),
    ]
    const name = JSON.stringify([applied, facts])
    const group = this.#groups.get(name) ?? { input, facts, at, uses: [] }
    this.#groups.set(name, group)
    for (const use of uses) {
      const i = group.uses.findIndex(one => one.unit === use.unit && one.source === use.source)
      if (i === -1) group.uses.push(use)
      else group.uses[i] = { ...use, quantity: use.quantity + (group.uses[i] as Use).quantity }
    }
  }
}

/**
 * Prices the results of an ended batch, read line by line from its upstream.
 * @throws Failure batch_results_unavailable, upstream_answer_gone, upstream_*
 */
export async function rateBatch(client: UpstreamClient, terms: WorkTerms, ended: EndedWork): Promise<RatedBatch> {
  const { traits, facet, model, charge, job } = terms
  const totals = new BatchTotals(terms)
  const files = new Map<string, number>()
  const { operation = '', files: members } = traits.batch?.results ?? {}
  const sources = members
    ? members.flatMap(member => ended.members.get(member) ?? []).filter(id => typeof id === 'string' && id !== '')
    : [job.told[0]?.['id']]
  for (const id of sources as readonly string[]) {
    const bytes = await readResults(client, { operation, id, headers: traits.headers ?? {} }, line => totals.add(line))
    if (members) files.set(id, bytes)
  }
  const rated = rateGroups(charge.rule as UsageRule, totals.groups)
  const found = { implausible: [...totals.implausible], missing: [...totals.missing], unpriced: rated.unpriced }
  const isCut = totals.lines < succeededIn(terms, ended)
  const reason = isCut ? 'results_missing' : reasonOf(found, totals.unread)
  const flags = reason === null ? [] : [reason]
  const lines = rated.lines.map(line => ({ ...line, flags: [...line.flags, ...flags] }))
  const waits = isCut || totals.unread > 0 || needsReview(facet, model, found)
  return { lines, reason: reason ?? 'nothing_used', waits, files }
}

function reasonOf(
  found: { readonly implausible: readonly string[]; readonly missing: readonly string[] },
  unread: number,
): string | null {
  if (unread > 0) return 'results_unreadable'
  if (found.implausible.length > 0) return 'usage_implausible'
  return found.missing.length > 0 ? 'usage_missing' : null
}

/** The number of requests that the upstream sold, as it counts them; 0 if it counts none. */
function succeededIn({ traits }: WorkTerms, { members }: EndedWork): number {
  const count = traits.batch && readPath(Object.fromEntries(members), traits.batch.succeeded)
  return typeof count === 'number' ? count : 0
}

type Results = {
  readonly operation: string
  readonly id: string
  readonly headers: { readonly [name: string]: string }
}

/** Reads a results file line by line. @returns the number of bytes */
async function readResults(
  client: UpstreamClient,
  { operation, id, headers }: Results,
  onLine: (line: Buffer) => void,
): Promise<number> {
  const answer = await client.ask({ operation, params: { id }, headers, body: none })
  if (answer.status === 404 || answer.status === 410) throw fail('upstream_answer_gone', { id })
  if (answer.status !== 200) throw fail('batch_results_unavailable', { id, status: answer.status })
  let bytes = 0
  const counted = (async function* () {
    for await (const chunk of answer.body) {
      bytes += chunk.length
      yield chunk
    }
  })()
  const tooLong = () => fail('upstream_answer_gone', { id })
  await eachLine(counted, { bytesMax: lineBytesMax, tooLong }, onLine)
  return bytes
}

function readPath(value: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = value
  for (const name of path) at = isObject(at) ? at[name] : undefined
  return at
}
