import { guardFailure } from '../../src/guardrails/index.ts'
import {
  type ApiFormat,
  defineSlot,
  Failure,
  type Json,
  type Notes,
  type Passed,
  type Stage,
} from '../../src/plugin-api/index.ts'
import { type ByteBudget, joined, RecordReader } from '../../src/wire/index.ts'
import type { Bridge } from './bridge.ts'
import { fail } from './errors.ts'
import { createUnwrapper, unwrapCall } from './freeform.ts'
import {
  type Answer,
  type AnswerEvent,
  AnswerFault,
  type JsonObject,
  type ParseFacts,
  parseJson,
  type Problem,
  safeCallId,
  type StreamParser,
  type StreamWriter,
  type WriteFacts,
} from './neutral/index.ts'

export type Turning = {
  readonly bridge: Bridge
  readonly parse: ParseFacts
  readonly write: WriteFacts
  readonly notes: Notes
  /** The client's format and operation, for errors. */
  readonly format: ApiFormat
  readonly operation: string
  readonly requestId: string
  readonly held: HeldAnswer
}

/** The maximum size of an error that is read. */
const errorBytesMax = 65_536

/** Buffers an answer until it is complete. */
export class HeldAnswer {
  readonly #chunks: Buffer[] = []
  readonly #budget: ByteBudget
  #bytes = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Buffer): void {
    if (!this.#budget.take(chunk.length))
      throw fail('upstream_answer_untranslatable', { reason: 'too many long responses are translated at once' })
    this.#bytes += chunk.length
    this.#chunks.push(Buffer.from(chunk))
  }

  take(): Buffer {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
    return joined(this.#chunks.splice(0))
  }
}

/** The buffered bytes of an answer, which are freed at every end of its request. */
export const heldSlot = defineSlot<HeldAnswer>('format-bridge.held')

export type TurningError = Pick<Turning, 'format' | 'requestId' | 'held'> & {
  readonly upstream: { parseProblem(status: number, body: Json): Problem }
}

/** An error of the upstream in the client's format. */
export class ErrorStage implements Stage {
  readonly #turning: TurningError
  readonly #status: number

  constructor(turning: TurningError, status: number) {
    this.#turning = turning
    this.#status = status
  }

  write(chunk: Buffer): Passed {
    if (this.#turning.held.bytes < errorBytesMax) this.#turning.held.add(chunk)
    return []
  }

  end(): Passed {
    const { upstream, format, requestId } = this.#turning
    const text = this.#turning.held.take().toString()
    const problem = upstream.parseProblem(this.#status, parseJson(text) ?? null)
    const { body } = format.error(failureOf({ ...problem, status: this.#status }), requestId)
    return Buffer.from(body)
  }
}

function failureOf({ status, message, code }: Problem): Failure {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const shown = message === '' ? `The upstream refused the request with status ${status}.` : message
  return new Failure(code ?? 'upstream_error', { status, type: typesOfStatus.get(status) ?? type, text: '' }, shown)
}

const typesOfStatus: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
])

/** A complete answer in the client's format: JSON, or a text. */
export class WholeStage implements Stage {
  readonly #held: HeldAnswer
  readonly #turn: (body: Json) => JsonObject | string

  constructor(held: HeldAnswer, turn: (body: Json) => JsonObject | string) {
    this.#held = held
    this.#turn = turn
  }

  write(chunk: Buffer): Passed {
    this.#held.add(chunk)
    return []
  }

  end(): Passed {
    return translating(() => {
      const body = parseJson(this.#held.take().toString())
      if (body === undefined) throw new AnswerFault('it is not JSON')
      const turned = this.#turn(body)
      return Buffer.from(typeof turned === 'string' ? turned : JSON.stringify(turned))
    })
  }
}

/** A complete answer of a conversation in the client's format. @throws AnswerFault */
export function turnAnswer({ bridge, parse, write }: Turning, body: Json): JsonObject {
  return bridge.client.writeAnswer(toClient(bridge.upstream.parseAnswer(body, parse), bridge), write)
}

/** The answer with the client's own tool names. */
function toClient(answer: Answer, { names, freeform }: Bridge): Answer {
  const parts = answer.parts.map(part => {
    if (part.kind !== 'call') return part
    const call = { ...part, id: safeCallId(part.id), name: names.get(part.name) ?? part.name }
    return freeform.has(call.name) && !call.freeform ? unwrapCall(call) : call
  })
  return { ...answer, parts }
}

/** @throws Failure for an answer that is not in its format */
function translating<T>(translate: () => T): T {
  try {
    return translate()
  } catch (error) {
    if (error instanceof AnswerFault) throw fail('upstream_answer_untranslatable', { reason: error.message })
    throw error
  }
}

/** A stream, event by event. If it ends before its last event, the client gets an error at the end. */
export class StreamStage implements Stage {
  readonly #turning: Turning
  readonly #parser: StreamParser
  readonly #writer: StreamWriter
  readonly #unwrap: (event: AnswerEvent) => readonly AnswerEvent[]
  readonly #reader: RecordReader
  #data: Buffer[] = []
  #event = ''
  #out = ''
  #isOver = false
  /** The failure to report after the end of a list, which has no place for an error. */
  #late: Failure | undefined
  #read = 0

  constructor(turning: Turning) {
    const { bridge, parse, write } = turning
    this.#turning = turning
    this.#parser = bridge.upstream.createStreamParser(parse)
    this.#writer = bridge.client.createStreamWriter(write)
    this.#unwrap = createUnwrapper(bridge.freeform)
    this.#reader = new RecordReader({
      bare: true,
      data: piece => void this.#data.push(Buffer.from(piece)),
      field: (name, value) => {
        if (name === 'event') this.#event = value
      },
      recordEnd: () => this.#endRecord(),
    })
  }

  write(chunk: Buffer): Passed {
    if (this.#isOver) return []
    return translating(() => {
      this.#reader.read(chunk, this.#read)
      this.#read += chunk.length
      return this.#passed()
    })
  }

  end(): Passed {
    if (this.#late) throw this.#late
    if (this.#isOver) return []
    return translating(() => {
      this.#reader.end(this.#read)
      this.#pass(this.#parser.end())
      return this.#passed()
    })
  }

  #endRecord(): void {
    const data = joined(this.#data.splice(0)).toString()
    const event = this.#event
    this.#event = ''
    if (data !== '') this.#pass(this.#parser.read({ event, data }))
  }

  #pass(events: readonly AnswerEvent[]): void {
    for (const event of events) {
      if (this.#isOver) return
      if (event.kind === 'error') this.#fail(event.problem)
      else for (const own of this.#unwrap(withName(event, this.#turning.bridge))) this.#out += this.#writer.write(own)
      if (event.kind === 'end') this.#isOver = true
    }
  }

  /** In the client's format the error is a separate event, after which the stream ends as usual. */
  #fail(problem: Problem): void {
    const { format, requestId, operation, notes, write } = this.#turning
    this.#isOver = true
    const { blocked } = notes
    // A guard has ended the stream in the upstream's format, so that this is not a failure of the upstream.
    const failure = blocked
      ? guardFailure('response_blocked', blocked, { values: blocked })
      : fail('upstream_stream_failed', { reason: problem.message })
    if (!blocked) notes.failed = failure.code
    if (write.form !== 'list') this.#out += format.streamError(failure, requestId, operation) ?? ''
    // A list without its end is not JSON. A blocked answer is read completely first, because its usage is charged.
    else if (blocked) this.#late = failure
    else throw failure
  }

  #passed(): Passed {
    if (this.#out === '') return []
    const bytes = Buffer.from(this.#out)
    this.#out = ''
    return bytes
  }
}

function withName(event: AnswerEvent, { names }: Bridge): AnswerEvent {
  if (event.kind !== 'open' || event.part.kind !== 'call') return event
  const { part } = event
  return { ...event, part: { ...part, id: safeCallId(part.id), name: names.get(part.name) ?? part.name } }
}
