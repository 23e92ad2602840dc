import { type EventKind, eventIdText, kindsOf, kindWords } from '../../domain/index.ts'
import { eventsAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { refuse } from '../reasons.ts'
import { moment, pageLimit } from '../schemas.ts'
import { ownerOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

export const eventRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/events',
    access: 'user',
    summary: 'List events, including charges, after a given event, oldest first. Suitable for polling.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        after: { type: 'string', pattern: eventIdText.source },
        since: moment,
        kinds: { type: 'string', minLength: 1, maxLength: 500 },
        limit: pageLimit,
      },
    },
    answer: eventsAnswer,
    async handle(request) {
      const { query, parts } = request
      const { after, since, kinds, limit } = query
      const owner = ownerOf(request)
      const page = await parts.storage.events.page({
        after: after ?? null,
        limit,
        ...(since !== undefined && { since: Date.parse(since) }),
        ...(kinds !== undefined && { kinds: readKinds(kinds) }),
        ...(owner !== undefined && { user: owner }),
      })
      return {
        events: page.events.map(({ id, at, kind, data }) => ({ id, time: toMoment(at), kind, data })),
        next: page.next,
        more: !page.isOver,
      }
    },
  }),
]

/** `charge.settled,key.*`. @throws Failure invalid for text that is neither an event kind nor a group of them */
function readKinds(text: string): readonly EventKind[] {
  const words = text.split(',')
  for (const word of words)
    if (!kindWords.includes(word))
      throw refuse('invalid', 'kind', { kind: word, known: kindWords.join(', ') }, { param: 'kinds' })
  return kindsOf(words)
}
