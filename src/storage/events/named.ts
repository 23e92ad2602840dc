import type { FeedEvent, FeedPage, FeedQuery } from '../../domain/index.ts'
import { namesOfLabels } from '../labels.ts'
import type { QueryProgram } from '../query.ts'
import { findEvent, readFeed } from './read.ts'

/** Events as the API lists and sends them: events about budgets of end users have the names that their ids have now. */
export function* readNamedFeed(query: FeedQuery): QueryProgram<FeedPage> {
  const page = yield* readFeed(query)
  return { ...page, events: yield* withNames(page.events) }
}

export function* findNamedEvent(id: string): QueryProgram<FeedEvent | undefined> {
  const event = yield* findEvent(id)
  return event && (yield* withNames([event]))[0]
}

function* withNames(events: readonly FeedEvent[]): QueryProgram<readonly FeedEvent[]> {
  const names = yield* namesOfLabels(events.flatMap(event => idOf(event) ?? []))
  if (names.size === 0) return events
  return events.map(event => {
    const name = names.get(idOf(event) ?? '')
    return name === undefined ? event : { ...event, data: { ...event.data, name } }
  })
}

function idOf({ data }: FeedEvent): string | undefined {
  const { level, name } = data
  return level === 'end_user' && typeof name === 'string' ? name : undefined
}
