import type { Answer, AnswerEvent, AnswerUsage, PartHead, Stop } from './answer.ts'
import { AnswerFault } from './adapter.ts'
import type { Part } from './conversation.ts'
import { optional } from './read.ts'

/** A complete answer as the events of a stream, for clients that request a stream if the upstream did not send one. */
export function eventsOf(answer: Answer): readonly AnswerEvent[] {
  const { id, model, stop, usage, serviceTier } = answer
  return [
    { kind: 'start', ...(id !== undefined && { id }), ...(model !== undefined && { model }) },
    ...answer.parts.flatMap((part, at) => eventsOfPart(part, at)),
    { kind: 'finish', stop, ...(serviceTier !== undefined && { serviceTier }) },
    ...(usage ? [{ kind: 'usage', usage } as const] : []),
    { kind: 'end' },
  ]
}

/** The events of a complete part. */
export function eventsOfPart(part: Part, at: number): readonly AnswerEvent[] {
  const text = 'text' in part ? part.text : part.kind === 'call' ? part.arguments : ''
  return [
    { kind: 'open', at, part: headOf(part) },
    ...(text === '' ? [] : [{ kind: 'text', at, text } as const]),
    ...(part.kind === 'text' && part.citations ? [{ kind: 'citations', at, citations: part.citations } as const] : []),
    ...(part.kind === 'text' && part.logprobs ? [{ kind: 'logprobs', at, tokens: part.logprobs } as const] : []),
    ...('seal' in part && part.seal && part.kind !== 'call' && part.kind !== 'media'
      ? [{ kind: 'seal', at, seal: part.seal } as const]
      : []),
    { kind: 'close', at },
  ]
}

function headOf(part: Part): PartHead {
  if (part.kind === 'thought') return { kind: 'thought', form: part.form }
  if (part.kind === 'call')
    return {
      kind: 'call',
      ...optional('freeform', part.freeform),
      ...optional('seal', part.seal),
      id: part.id,
      name: part.name,
    }
  if (part.kind === 'media') return part
  if (part.kind === 'result') throw new AnswerFault('a result of a tool in an answer')
  return { kind: part.kind }
}

/** The answer of a complete stream. @throws AnswerFault for a stream without `end` */
export function answerOf(events: Iterable<AnswerEvent>): Answer {
  const parts: Part[] = []
  let usage: AnswerUsage | undefined
  let about: { id?: string; model?: string; serviceTier?: string } = {}
  let stop: Stop | undefined
  let isOver = false
  for (const event of events) {
    if (event.kind === 'start') {
      const { kind: _, ...named } = event
      about = named
    } else if (event.kind === 'usage') usage = { input: 0, output: 0, ...usage, ...event.usage }
    else if (event.kind === 'finish') {
      stop = event.stop
      if (event.serviceTier !== undefined) about.serviceTier = event.serviceTier
    } else if (event.kind === 'error') throw new AnswerFault(event.problem.message)
    else if (event.kind === 'end') isOver = true
    else parts[event.at] = grow(parts[event.at], event)
  }
  if (!isOver || !stop) throw new AnswerFault('the stream ended before its last event')
  return { ...about, parts, stop, ...(usage && { usage }) }
}

type PartEvent = Extract<AnswerEvent, { readonly at: number }>

function grow(part: Part | undefined, event: PartEvent): Part {
  if (event.kind === 'open') return opened(event.part)
  if (!part) throw new AnswerFault(`an event of part ${event.at}, which is not open`)
  switch (event.kind) {
    case 'text':
      if (part.kind === 'call') return { ...part, arguments: part.arguments + event.text }
      return 'text' in part ? { ...part, text: part.text + event.text } : part
    case 'seal':
      return part.kind === 'result' || part.kind === 'refusal' ? part : { ...part, seal: event.seal }
    case 'citations':
      return part.kind === 'text' ? { ...part, citations: [...(part.citations ?? []), ...event.citations] } : part
    case 'logprobs':
      return part.kind === 'text' ? { ...part, logprobs: [...(part.logprobs ?? []), ...event.tokens] } : part
    default:
      return part
  }
}

function opened(head: PartHead): Part {
  if (head.kind === 'call') return { ...head, arguments: '' }
  return head.kind === 'media' ? head : { ...head, text: '' }
}
