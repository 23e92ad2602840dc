import { defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { fetchPicture } from '../fetch-picture.ts'
import { Semaphore } from '../semaphore.ts'
import { sessionKeyName } from '../session/sessions.ts'
import { personOf } from '../session-user.ts'

/** The maximum number of simultaneous fetches, each of which needs memory for an image. */
const fetchesAtOnce = { all: 6, each: 3 }

/** Prevents scripts from running if a browser opens the response as a page. */
const asPicture = {
  'content-security-policy': "default-src 'none'; sandbox",
  'content-disposition': 'inline; filename="picture"',
  'cache-control': 'private, no-store',
} as const

export function pictureRoutes() {
  const places = new Semaphore(fetchesAtOnce)
  return [
    defineRoute({
      method: 'GET',
      url: '/api/playground/picture',
      access: 'keys',
      summary: 'Get the image of a link that a playground response returned to this session. Other links are refused.',
      query: {
        type: 'object',
        additionalProperties: false,
        required: ['url'],
        properties: { url: { type: 'string', minLength: 8, maxLength: 8_192 } },
      },
      contentType: 'image/*',
      async handle(request) {
        const { parts, query, left, id } = request
        const { user, session } = personOf(request)
        if (!parts.wasHanded(user.name, sessionKeyName(session), query.url)) throw fail('not_found')
        places.take(request)
        const fetched = await fetchPicture(query.url, parts.clock, left)
        if (fetched.kind === 'refused') {
          parts.log.info({ request: id, reason: fetched.why }, 'a picture of the playground was not fetched')
          throw fail('picture_refused', { why: fetched.why })
        }
        return new Reply(200, { ...asPicture, 'content-type': fetched.type }, fetched.body)
      },
    }),
  ]
}
