import { AnswerFault } from './adapter.ts'
import type { AnswerEvent } from './answer.ts'

/** The maximum length of text that waits for another part to close. */
const heldCharsMax = 16 * 1024 * 1024

/**
 * Arranges parts one after another, for formats whose clients read one block at a time. The first open part streams;
 * events of later parts wait until it closes. `finish` closes all open parts.
 */
export function createSequencer(): (event: AnswerEvent) => readonly AnswerEvent[] {
  /** Events of each incomplete part, in the order in which the parts opened. */
  const waiting = new Map<number, AnswerEvent[]>()
  let heldChars = 0

  /** Passes the events of the first part, and of later parts, up to a part that is still open. */
  const release = (): AnswerEvent[] => {
    const out: AnswerEvent[] = []
    for (const [at, events] of waiting) {
      out.push(...events.splice(0))
      if (out.at(-1)?.kind !== 'close') break
      waiting.delete(at)
    }
    heldChars = 0
    for (const events of waiting.values()) heldChars += charsOf(events)
    return out
  }

  return event => {
    if (event.kind === 'finish') {
      for (const [at, events] of waiting) if (events.at(-1)?.kind !== 'close') events.push({ kind: 'close', at })
      return [...release(), event]
    }
    if (!('at' in event)) return [event]
    const [first] = waiting.keys()
    if (event.kind === 'open') waiting.set(event.at, [])
    const events = waiting.get(event.at)
    if (!events) throw new AnswerFault(`an event of part ${event.at}, which is not open`)
    if (first === undefined || first === event.at) {
      if (event.kind !== 'close') return [event]
      events.push(event)
      return release()
    }
    events.push(event)
    if (event.kind === 'text') heldChars += event.text.length
    if (heldChars > heldCharsMax) throw new AnswerFault('parts of it wait for others for too long')
    return []
  }
}

function charsOf(events: readonly AnswerEvent[]): number {
  return events.reduce((sum, event) => sum + (event.kind === 'text' ? event.text.length : 0), 0)
}
