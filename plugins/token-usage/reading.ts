import { type ApiFormat, type Json, type Passed, type Stage, type Usage, isObject } from '../../src/plugin-api/index.ts'
import { joined, parseJsonIfValid } from '../../src/wire/index.ts'
import { finishReasonsOf } from './finish-reasons.ts'
import { mergeUsage } from './merge-usage.ts'
import { pruneEvent } from './prune-event.ts'
import { EventReader } from './read-events.ts'
import { MemberReader } from './read-members.ts'
import { StreamEstimate } from './stream-estimate.ts'

/** Reads the usage that an answer reports, during and after it. */
export type Reading = Stage & {
  /** The usage reported so far; null if there is none. */
  usage(): Usage | null
  /** The output tokens without a report, by length. */
  uncounted(): number
  /** The number of bytes received. */
  readonly bytes: number
  /** All output tokens by length, including counted ones. */
  byLength(): number
  /** The upstream's error inside an answer of status 200; undefined if there is none. */
  readonly fault: string | undefined
  /** Whether a stream has no event so far, apart from comments and the mark of its end. */
  readonly isEmpty?: boolean
  /** Whether all of the answer has arrived except its usage. */
  readonly reportsUsageNext?: boolean
  /** The upstream's name of the model in the answer; undefined if it has none. */
  readonly model: string | undefined
  /** The reasons why the answer ended, in the upstream's words, one for each choice. */
  readonly finishReasons: readonly string[]
  readonly isStream: boolean
}

export type ReadingOptions = {
  readonly dialect: ApiFormat
  readonly operation: string
  /** The stored object that the request changes, in its earlier state; absent or null for none. */
  readonly before?: Json
  readonly bytesPerToken: number
  /** Whether to remove the event that contains only the usage. */
  readonly removesUsage: boolean
  /** The member whose value marks the end of the answer, if the usage follows in a later event. */
  readonly usageBehind?: string
  /** Whether several models may answer, so that the model is read before the usage is reported. */
  readonly wantsModel?: boolean
  /** The maximum data bytes of an event that is read; 1 MiB if absent. */
  readonly bytesMax?: number
}

/** The members with which answers of any API format report usage, errors and the model. */
const wanted = {
  members: new Set([
    'usage',
    'usageMetadata',
    'tool_usage',
    'svg_usage',
    'meta',
    'duration',
    'audio_duration_secs',
    'error',
    'model',
    'modelVersion',
    'service_tier',
    'stop_reason',
    'status',
    'object',
    'createTime',
    'expireTime',
  ]),
  // Tool calls are counted by the items of the answer.
  lists: new Set(['output', 'candidates', 'choices']),
  ofElements: new Set([
    'type',
    'action',
    'container_id',
    'environment',
    'svg_usage',
    'groundingMetadata',
    'finishReason',
    'finish_reason',
    'usage',
  ]),
}
const usageMembers = [...wanted.members, ...wanted.lists]
const faultCharsMax = 64
/** The maximum length of an answer that is parsed at once, which costs less than following the bytes. */
const shortBytesMax = 16_384

/** Reads the usage of an answer in JSON: one object, or a list of them that replaces a stream. */
export class JsonReading implements Reading {
  readonly #options: ReadingOptions
  readonly #reader: MemberReader
  readonly #members: { [name: string]: Json } = {}
  /** The chunks of a short answer, which is parsed at its end; undefined for a longer one. */
  #short: Buffer[] | undefined = []
  #listed: Usage | null = null
  /** The report from the members so far, computed on the first read; undefined again after more are found. */
  #usage: Usage | null | undefined
  bytes = 0
  fault: string | undefined
  model: string | undefined
  readonly isStream = false

  constructor(options: ReadingOptions) {
    this.#options = options
    this.#reader = new MemberReader(wanted, (name, value) => this.#found(name, value))
  }

  write(chunk: Buffer): Passed {
    this.bytes += chunk.length
    if (!this.#short) this.#reader.write(chunk)
    else if (this.bytes <= shortBytesMax) this.#short.push(chunk)
    else this.#readOn(chunk)
    return chunk
  }

  end(): Passed {
    const short = this.#short
    if (!short) return []
    const json = parseJsonIfValid(joined(short).toString())
    if (!isObject(json)) return []
    this.#short = undefined
    for (let i = 0; i < usageMembers.length; i++) {
      const name = usageMembers[i] as string
      const value = json[name]
      if (value !== undefined) this.#found(name, value)
    }
    return []
  }

  usage(): Usage | null {
    this.#readOn()
    if (this.#reader.isList) return this.#listed
    if (this.#usage === undefined) {
      const { dialect, operation, before } = this.#options
      this.#usage = dialect.usageOf(operation, this.#members, before)
    }
    return this.#usage
  }

  get finishReasons(): readonly string[] {
    this.#readOn()
    return finishReasonsOf(this.#members)
  }

  uncounted(): number {
    const isCounted = this.usage()?.counts.output !== undefined
    return isCounted ? 0 : this.byLength()
  }

  byLength(): number {
    return Math.ceil(this.bytes / this.#options.bytesPerToken)
  }

  /** Reads the stored part and the next chunk. */
  #readOn(chunk?: Buffer): void {
    const short = this.#short
    this.#short = undefined
    if (short) for (const one of short) this.#reader.write(one)
    if (chunk) this.#reader.write(chunk)
  }

  #found(name: string, value: Json): void {
    if (name === 'error') {
      this.fault ??= faultOf({ error: value })
      return
    }
    if (name === 'model' || name === 'modelVersion') {
      if (typeof value === 'string') this.model = value
      return
    }
    if (this.#reader.isList) {
      const { dialect, operation } = this.#options
      this.#listed = mergeUsage(this.#listed, dialect.usageOfEvent(operation, { [name]: value }))
    } else {
      this.#members[name] = value
      this.#usage = undefined
    }
  }
}

/**
 * Reads the usage of an event stream, and removes the event that contains only the usage if the client did not request
 * it.
 */
export class EventReading implements Reading {
  readonly #options: ReadingOptions
  readonly #reader: EventReader
  readonly #estimate: StreamEstimate
  #usage: Usage | null = null
  /** Whether the last chunk contains the name of a usage or an error. */
  #hasReport = false
  #hasEvent = false
  /** `"finish_reason`; undefined if no usage is reported after it. */
  readonly #lastName: Buffer | undefined
  reportsUsageNext = false
  bytes = 0
  fault: string | undefined
  model: string | undefined
  finishReasons: readonly string[] = []
  readonly isStream = true

  constructor(options: ReadingOptions) {
    this.#options = options
    this.#lastName = options.usageBehind === undefined ? undefined : Buffer.from(`"${options.usageBehind}`)
    this.#estimate = new StreamEstimate(options.bytesPerToken)
    this.#reader = new EventReader((data, event) => this.#record(data, event), {
      removes: options.removesUsage,
      ...(options.bytesMax !== undefined && { bytesMax: options.bytesMax }),
    })
  }

  write(chunk: Buffer): Passed {
    this.bytes += chunk.length
    this.#hasReport = hasMember(chunk, usageName) || hasMember(chunk, errorName)
    if (this.#lastName && !this.reportsUsageNext && hasMember(chunk, this.#lastName)) this.reportsUsageNext = true
    return this.#reader.write(chunk)
  }

  end(): Passed {
    return this.#reader.end()
  }

  get isEmpty(): boolean {
    return !this.#hasEvent && !this.#reader.hasOtherLines && this.#reader.unreadBytes === 0
  }

  usage(): Usage | null {
    return this.#usage
  }

  uncounted(): number {
    return this.#estimate.tokens
  }

  byLength(): number {
    return this.#estimate.all + Math.ceil(this.#reader.unreadBytes / this.#options.bytesPerToken)
  }

  /** Whether a record may contain usage or an error. One check of a chunk covers all of its records. */
  #mayHaveReport(data: Buffer): boolean {
    if (this.#reader.isInside && !this.#hasReport) return false
    return hasMember(data, usageName) || hasMember(data, errorName)
  }

  /** Whether this may be the first event with the reason why a choice ended. */
  #mayEnd(data: Buffer): boolean {
    const name = this.#lastName
    return name !== undefined && this.reportsUsageNext && this.finishReasons.length === 0 && hasMember(data, name)
  }

  #record(data: Buffer, event: string): boolean {
    this.#hasEvent ||= data.length > 0 && !data.equals(endMark)
    this.#estimate.add(data)
    const isSought = this.#options.wantsModel === true && this.model === undefined
    if (event !== 'error' && !isSought && !this.#mayHaveReport(data) && !this.#mayEnd(data)) return false
    const json = data.length > shortBytesMax * 4 ? pruneEvent(data) : parseJsonIfValid(data.toString())
    if (event === 'error') this.fault ??= faultOf(json) ?? 'error'
    if (!isObject(json)) return false
    this.fault ??= faultOf(json)
    const { dialect, operation, removesUsage } = this.#options
    this.model = modelOf(json) ?? this.model
    const reasons = finishReasonsOf(json)
    if (reasons.length > 0) this.finishReasons = reasons
    const usage = dialect.usageOfEvent(operation, json)
    if (!usage) return false
    this.#usage = mergeUsage(this.#usage, usage)
    // The count is cumulative: it includes earlier reports.
    if (usage.counts.output !== undefined) this.#estimate.reset()
    return removesUsage && isUsageOnly(json)
  }
}

const usageName = Buffer.from('"usage')
const errorName = Buffer.from('"error"')
const endMark = Buffer.from('[DONE]')
const quote = 0x22
const colon = 0x3a
const space = 0x20
const letterN = 0x6e
const backslash = 0x5c

/**
 * Whether a value other than null may follow a name. The check is cheap; a false positive only costs a closer check.
 */
function hasMember(data: Buffer, name: Buffer): boolean {
  for (let at = data.indexOf(name); at !== -1; at = data.indexOf(name, at + 1)) {
    // Names inside a text are not members.
    if (data[at - 1] === backslash) continue
    let i = at + name.length
    while (data[i] === quote || data[i] === colon || data[i] === space) i++
    if (data[i] !== letterN) return true
  }
  return false
}

/** Whether this is the event that `stream_options.include_usage` adds: no choices, and the usage (wire facts 5). */
function isUsageOnly(json: { readonly [name: string]: Json }): boolean {
  const { choices, usage } = json
  return Array.isArray(choices) && choices.length === 0 && isObject(usage)
}

/** The model in an event: at its top, or in its message or response. */
function modelOf(event: { readonly [name: string]: Json }): string | undefined {
  for (const place of [event, event['message'], event['response']]) {
    if (!isObject(place)) continue
    const name = place['model'] ?? place['modelVersion']
    if (typeof name === 'string') return name
  }
  return undefined
}

/**
 * The code or type of an error inside an answer, in any API format (wire facts 2.5); undefined if there is none. An
 * empty member is no error: some upstreams send it with every answer.
 */
function faultOf(json: Json | undefined): string | undefined {
  if (!isObject(json)) return undefined
  const { error, response, type } = json
  if (isObject(response) && isFilled(response['error'])) return nameOf(response['error'])
  if (isFilled(error)) return nameOf(error)
  if (typeof error === 'string' && error !== '') return 'error'
  return type === 'error' ? nameOf(json) : undefined
}

function isFilled(value: Json | undefined): value is { readonly [name: string]: Json } {
  return isObject(value) && Object.keys(value).length > 0
}

function nameOf(error: { readonly [name: string]: Json }): string {
  for (const name of ['code', 'status', 'type']) {
    const value = error[name]
    if (typeof value === 'string' && value !== '') return value.slice(0, faultCharsMax)
  }
  return 'error'
}
