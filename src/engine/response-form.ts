import { type Passed, readField, type Reply, type Stage } from '../domain/index.ts'
import type { RequestContext, Target } from '../plugin-api/index.ts'
import { joined, skipBlanks } from '../wire/index.ts'
import type { AnswerHead, Call } from './call-request.ts'
import { UpstreamSession } from './upstream-session.ts'
import { fail } from './errors.ts'

/** The form of an answer by its first bytes: events, a JSON object, a JSON list, anything else, or an empty answer. */
export type AnswerForm = 'events' | 'object' | 'list' | 'other' | 'nothing'

/** What the client reads: `whole` is any answer except events. */
export type WantedForm = 'events' | 'list' | 'object' | 'whole'

const eventsType = /^text\/event-stream/i
const jsonType = /[/+]json/i
const textType = /^text\//i
/** Names of the lines that an event stream begins with (HTML 9.2.6). */
const lineNames: readonly string[] = ['data', 'event', 'id', 'retry']
/** No first line of an event stream is longer, apart from blanks, before it is recognised. */
const longestName = 'retry:'.length
/** A vendor's text may begin with `event:`; an event stream of an API has JSON in its data. */
const jsonData = /^data: ?[{[]/
/** A line of an event stream before its data. */
const otherLine = /^(?:event|id|retry)?:/
/** What may still become one of these lines. */
const openLine = /^(?:data?:? ?|dat?|d|e(?:v(?:e(?:nt?)?)?)?|id?|r(?:e(?:t(?:ry?)?)?)?)?$/
const textBytesMax = 512
const otherNameMax = 40
const anyLine = /^[\w-]{1,40}:/
const openName = /^[\w-]{0,40}$/

/** @returns what the client of this request reads; undefined for an unknown operation */
export function wantedForm(context: RequestContext, target: Target): WantedForm | undefined {
  const { route, dialect, head } = context
  const { traits } = route
  if (!traits) return undefined
  const { streamsWhen } = traits
  const stream = target.stream || (streamsWhen && readField(target.body, streamsWhen.field) === streamsWhen.is)
  if (stream) return dialect.streamForm?.(head) ?? 'events'
  return traits.answersObject ? 'object' : 'whole'
}

/**
 * @param begin the first bytes of the answer; `type` its content-type, which may be wrong; `isWhole`: nothing follows
 * them
 * @returns undefined if more bytes decide
 */
function findForm(begin: Buffer, type: string, wanted: WantedForm, isWhole: boolean): AnswerForm | undefined {
  const isUntyped = wanted === 'whole' && type !== '' && !eventsType.test(type) && !jsonType.test(type)
  // Sound and pictures are accepted, whatever they begin with, unless they are an error.
  if (isUntyped && !textType.test(type)) return begin.length > 0 || isWhole ? 'other' : undefined
  const from = skipBlanks(begin)
  if (from === begin.length) return isWhole ? 'nothing' : undefined
  if (isUntyped) return findInText(begin, from, isWhole)
  const first = begin[from]
  if (first === 0x7b) return 'object'
  if (first === 0x5b) return 'list'
  if (first === 0x3a) return 'events'
  const word = begin.toString('latin1', from, from + longestName)
  if (lineNames.some(name => word.startsWith(`${name}:`))) return 'events'
  // If the type is an event stream, lines with other names are ignored, as parsers of events ignore them.
  if (eventsType.test(type)) {
    const line = begin.toString('latin1', from, from + otherNameMax + 1)
    if (anyLine.test(line)) return 'events'
    if (!isWhole && openName.test(line)) return undefined
  }
  const isOpen = !isWhole && begin.length - from < longestName
  return isOpen && lineNames.some(name => `${name}:`.startsWith(word)) ? undefined : 'other'
}

function findInText(begin: Buffer, from: number, isWhole: boolean): AnswerForm | undefined {
  const text = begin.toString('latin1', from, from + textBytesMax)
  const isOpen = !isWhole && text.length < textBytesMax
  for (let at = 0; ; ) {
    const end = lineEnd(text, at)
    const line = text.slice(at, end)
    if (jsonData.test(line)) return 'events'
    const isOther = otherLine.test(line)
    if (end === text.length) return isOpen && (isOther || openLine.test(line)) ? undefined : 'other'
    if (!isOther) return 'other'
    for (at = end; text[at] === '\r' || text[at] === '\n'; ) at++
  }
}

function lineEnd(text: string, from: number): number {
  let end = from
  while (end < text.length && text[end] !== '\r' && text[end] !== '\n') end++
  return end
}

/** @returns a reader of an answer's form from its first bytes */
export function formReader(head: Pick<AnswerHead, 'status' | 'headers'>, wanted: WantedForm | undefined) {
  const type = head.headers['content-type']
  return (begin: Buffer): AnswerForm | undefined =>
    wanted && hasForm(head.status) ? findForm(begin, typeof type === 'string' ? type : '', wanted, false) : 'other'
}

/** A 204 has no body, and a refusal passes unchanged. */
function hasForm(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205
}

/**
 * Whether an answer has the requested form. Vendors send wrong types: the first bytes decide, and everything that reads
 * the answer gets the right type. If they arrive late, a stage decides.
 */
export class ResponseFormCheck {
  readonly headers: Reply['headers']
  /** Judges what has not arrived yet. */
  readonly stage: Stage | undefined
  readonly #context: RequestContext
  readonly #wanted: WantedForm | undefined
  readonly #form: AnswerForm
  /** A plugin has made events of an answer in one piece, or the reverse; known after `demand`. */
  isTurned = false

  /** @param isPlain the bytes are read as they arrive */
  constructor(
    context: RequestContext,
    requestedForm: WantedForm | undefined,
    { status, headers }: { readonly status: number; readonly headers: Reply['headers'] },
    call: Call,
    isPlain: boolean,
  ) {
    const type = headers['content-type'] ?? ''
    // Several requests make one answer, which has the declared form.
    const isJudged = hasForm(status) && !(call instanceof UpstreamSession)
    const wanted = isJudged ? requestedForm : undefined
    const early = isPlain ? (call.early ?? []) : []
    const form = wanted && findForm(joined(early), type, wanted, isPlain && call.isWhole === true)
    this.#context = context
    this.#wanted = wanted
    this.#form = form ?? declaredForm(type)
    this.headers = form ? withForm(headers, form) : headers
    if (wanted && !form)
      this.stage = new FormStage(
        begin => findForm(begin, type, wanted, false),
        late => this.#demandLate(late),
      )
  }

  /** The form into which a plugin may convert it, if it is of the other kind. */
  get turnInto(): Reply['turnInto'] {
    const wanted = this.#wanted
    if (!wanted || wanted === 'list') return undefined
    const into = wanted === 'events' ? 'events' : 'whole'
    return isEvents(this.headers) === (into === 'events') ? undefined : into
  }

  /** @throws Failure upstream_answer_kind for an answer of another form, unless a plugin has converted it */
  demand({ headers }: Reply): void {
    const wanted = this.#wanted
    if (!wanted) return
    // A plugin turns the whole answer into one of another format: only the upstream's form can be judged.
    if (this.#context.client) {
      if (this.stage || isWanted(this.#form, wanted)) return
      throw this.#refuse(this.#form, wanted)
    }
    const isStream = isEvents(headers)
    this.isTurned = isStream !== isEvents(this.headers)
    // Its stage classifies what has not arrived yet.
    const isFit = wanted === 'list' || isStream === (wanted === 'events')
    const fits = this.isTurned || this.stage ? isFit : isWanted(this.#form, wanted)
    if (!fits) throw this.#refuse(this.#form, wanted)
  }

  /** Everything reads the answer as its head declares: one of another form is no answer. */
  #demandLate(form: AnswerForm): void {
    const wanted = this.#wanted as WantedForm
    const isRead = (form === 'events') === (this.#form === 'events')
    if (!isRead || !(this.isTurned || isWanted(form, wanted))) throw this.#refuse(form, wanted)
  }

  #refuse(form: AnswerForm, wanted: WantedForm): Error {
    const shape = `${found[form]} instead of ${sought[wanted]}`
    this.#context.notes.unrecognised = { shape, isEmpty: form === 'nothing' }
    return fail('upstream_answer_kind', { shape })
  }
}

function isEvents(headers: Reply['headers']): boolean {
  return eventsType.test(headers['content-type'] ?? '')
}

/** As the content-type declares. */
function declaredForm(type: string): AnswerForm {
  if (eventsType.test(type)) return 'events'
  return jsonType.test(type) ? 'object' : 'other'
}

/** The headers with the type that the first bytes show. */
function withForm(headers: Reply['headers'], form: AnswerForm): Reply['headers'] {
  if (form === 'events' && !isEvents(headers)) return { ...headers, 'content-type': 'text/event-stream' }
  const type = headers['content-type'] ?? ''
  if ((form === 'object' || form === 'list') && type !== '' && !jsonType.test(type))
    return { ...headers, 'content-type': 'application/json' }
  return headers
}

function isWanted(form: AnswerForm, wanted: WantedForm): boolean {
  if (wanted === 'whole') return form !== 'events'
  // A client that requests a list of what would be events does not read one of these as an empty answer.
  if (wanted === 'list') return form !== 'other' && form !== 'nothing'
  return form === wanted
}

const found: { readonly [form in AnswerForm]: string } = {
  events: 'an event stream',
  object: 'a JSON object',
  list: 'a JSON list',
  other: 'something that is neither JSON nor an event stream',
  nothing: 'an empty response',
}
const sought: { readonly [form in WantedForm]: string } = {
  events: 'an event stream',
  list: 'a streamed JSON list',
  object: 'a JSON object',
  whole: 'a response that is not streamed',
}

/** Judges an answer whose first bytes arrived after its head had to be made. */
class FormStage implements Stage {
  readonly letsGo = true
  readonly #formOf: (begin: Buffer) => AnswerForm | undefined
  readonly #demand: (form: AnswerForm) => void
  /** What has arrived; undefined once it was classified. */
  #begin: Buffer | undefined = Buffer.alloc(0)

  /** @param demand throws for an answer of another form */
  constructor(formOf: (begin: Buffer) => AnswerForm | undefined, demand: (form: AnswerForm) => void) {
    this.#formOf = formOf
    this.#demand = demand
  }

  write(chunk: Buffer): Passed {
    if (!this.#begin) return chunk
    const begin = this.#begin.length === 0 ? chunk : Buffer.concat([this.#begin, chunk])
    const form = this.#formOf(begin)
    if (form !== undefined) {
      this.#demand(form)
      this.#begin = undefined
      return begin
    }
    // Blanks keep a connection alive while the vendor works: they pass.
    const from = skipBlanks(begin)
    this.#begin = begin.subarray(from)
    return from === 0 ? [] : begin.subarray(0, from)
  }

  end(): Passed {
    const begin = this.#begin
    if (!begin) return []
    this.#demand(begin.length === 0 ? 'nothing' : 'other')
    return begin
  }
}
