import type { LogRow, Marks } from '../../domain/index.ts'
import { markMembers } from '../../domain/shapes/log-row.ts'
import { readRow } from '../../domain/shapes/member.ts'
import { firstAt } from '../../util/first-at.ts'
import { attributionOf } from '../rows.ts'
import { type LogBatchBody, type What, whatMembers, type Who, whoMembers } from './members.ts'

/** A parsed batch: gives access to its rows one by one, or by shared values. */
export class LogBatch {
  readonly #body: LogBatchBody
  readonly #whos: ReturnType<typeof readWho>[] = []
  readonly #whats: ReturnType<typeof readWhat>[] = []
  readonly #marks: readonly (readonly [name: keyof Marks, list: readonly (number | null)[]])[]

  /** @throws Error that describes what is wrong with the text */
  constructor(text: string) {
    this.#body = JSON.parse(text) as LogBatchBody
    const { ids, times, who, what, duration_ms: durations } = this.#body
    const isWhole = [ids, times, who, what, durations].every(list => Array.isArray(list) && list.length === ids.length)
    this.#marks = markNames.flatMap(([name, column]) => {
      const list = this.#body[column]
      return list ? [[name, list] as const] : []
    })
    if (!isWhole) throw new Error('its lists are not of one length')
  }

  get count(): number {
    return this.#body.ids.length
  }

  get whos(): readonly Who[] {
    return this.#body.whos
  }

  get whats(): readonly What[] {
    return this.#body.whats
  }

  whoOf(at: number): number {
    return this.#body.who[at] as number
  }

  whatOf(at: number): number {
    return this.#body.what[at] as number
  }

  idOf(at: number): string {
    return this.#body.id + (this.#body.ids[at] as string)
  }

  timeOf(at: number): number {
    return this.#body.time + (this.#body.times[at] as number)
  }

  durationOf(at: number): number {
    return this.#body.duration_ms[at] as number
  }

  inputTokensOf(at: number): number | null {
    return this.#body.input_tokens?.[at] ?? null
  }

  outputTokensOf(at: number): number | null {
    return this.#body.output_tokens?.[at] ?? null
  }

  /** The phases that the request reached; null if the row was written before they were stored. */
  marksOf(at: number): Marks | null {
    let marks: { -readonly [N in keyof Marks]?: number } | undefined
    for (const [name, list] of this.#marks) {
      const ms = list[at]
      if (ms !== null && ms !== undefined) (marks ??= {})[name] = ms
    }
    return marks ? { ...noMarks, ...marks } : null
  }

  rowOf(at: number): LogRow {
    const {
      whos,
      whats,
      client_request_id: clientIds,
      error_values: errors,
      upstream_said: messages,
      attempts,
      saved,
      alias: aliases,
    } = this.#body
    const [who, what] = [this.whoOf(at), this.whatOf(at)]
    const alias = aliases?.[at] ?? undefined
    return {
      id: this.idOf(at),
      time: this.timeOf(at),
      ...(this.#whos[who] ??= readWho(whos[who] as Who)),
      ...(this.#whats[what] ??= readWhat(whats[what] as What)),
      durationMs: this.durationOf(at),
      clientRequestId: clientIds?.[at] ?? null,
      inputTokens: this.inputTokensOf(at),
      outputTokens: this.outputTokensOf(at),
      marks: this.marksOf(at),
      errorValues: errors?.[at] ?? null,
      upstreamSaid: messages?.[at] ?? null,
      attempts: attempts?.[at] ?? null,
      ...(saved?.[at] != null && { saved: saved[at] }),
      ...(alias !== undefined && { alias }),
    }
  }

  rows(): readonly LogRow[] {
    return Array.from({ length: this.count }, (_, at) => this.rowOf(at))
  }

  /** The position of the first row with this id or a later one; `count` if there is none. */
  firstAt(id: string): number {
    return firstAt(this.count, at => this.idOf(at) < id)
  }

  /** The position of the row with this id; undefined if there is none. */
  placeOf(id: string): number | undefined {
    const at = this.firstAt(id)
    return at < this.count && this.idOf(at) === id ? at : undefined
  }
}

const markNames = Object.entries(markMembers).map(([name, { column }]) => [name as keyof Marks, column] as const)
const noMarks = readRow(markMembers, Object.fromEntries(markNames.map(([, column]) => [column, null])))

const readWho = (who: Who) => ({ ...readRow(whoMembers, who), ...attributionOf(who) })
const readWhat = (what: What) => ({ ...readRow(whatMembers, what), ...(what.cache && { cache: what.cache }) })
