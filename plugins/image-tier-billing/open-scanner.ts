import type { Target } from '../../src/plugin-api/index.ts'
import type { ByteBudget } from '../../src/wire/index.ts'
import { descriptionOf } from './described-places.ts'
import type { AnswerWords } from './remainder.ts'
import { DescribedScanner } from './scan-described.ts'
import { DescribedEventScanner } from './scan-described-events.ts'
import { EventScanner } from './scan-events.ts'
import { ImageScanner } from './scan-images.ts'
import { ToolAnswerScanner } from './scan-tool-answer.ts'
import { ToolEventScanner } from './scan-tool-events.ts'
import type { Scanner } from './scan-result.ts'
import type { BillingFacet } from './schema.ts'
import { shapeOf } from './what-charges.ts'

type Opening = {
  readonly events: boolean
  /** Whether images become links. */
  readonly asUrl: boolean
  /** Only closed JSON proves that the answer is complete. */
  readonly endUnknown: boolean
}

/** @returns the scanner for the operation's answers; undefined for a stream that is not described */
export function openScanner(
  operation: string,
  facet: BillingFacet,
  budget: ByteBudget,
  { events, ...options }: Opening,
): Scanner | undefined {
  const shape = shapeOf(operation, facet)
  if (shape === 'output') return events ? new ToolEventScanner(budget) : new ToolAnswerScanner(options)
  const words = wordsOf(facet)
  const description = shape === 'described' ? descriptionOf(operation, facet) : undefined
  if (!description) return events ? new EventScanner(budget, words) : new ImageScanner({ ...options, ...words })
  if (!events) return new DescribedScanner(description, { endUnknown: options.endUnknown, ...words })
  return description.streams ? new DescribedEventScanner(description, budget, words) : undefined
}

/**
 * Whether an answer is an event stream. For any unclear type the request decides; both scanners refuse other formats.
 */
export function isEventStream(contentType: string, target: Target): boolean {
  const type = typeOf(contentType)
  if (type === 'text/event-stream') return true
  return target.stream && type !== 'application/json' && !type.endsWith('+json')
}

export function typeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function wordsOf({ texts, links, refusals }: BillingFacet): AnswerWords {
  return { ...(texts && { texts }), ...(links && { links }), ...(refusals && { refusals }) }
}
