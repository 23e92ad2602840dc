import { showSession } from '../../domain/index.ts'
import { liveSessionsAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { pageLimit, reason, rowId } from '../schemas.ts'
import { sessionUserOf } from '../session-user.ts'

/** Open WebSocket sessions of clients. */
export const liveSessionRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/sessions',
    access: 'operators',
    summary: 'List the open WebSocket sessions of all gateways on the storage, newest first.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: { key: { ...rowId, description: 'Only sessions of this key.' }, limit: pageLimit },
    },
    answer: liveSessionsAnswer,
    async handle({ parts, query: { key: keyId, limit } }) {
      const found = await parts.storage.liveSessions.list({ limit, ...(keyId !== undefined && { keyId }) })
      return { sessions: found.map(showSession) }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/sessions/:id/end',
    access: 'admin',
    summary:
      'End an open WebSocket session. Its gateway cancels and charges running turns and closes it within a second.',
    body: { type: 'object', additionalProperties: false, required: ['reason'], properties: { reason } },
    status: 204,
    async handle(request) {
      const { parts, params, body } = request
      const { user } = sessionUserOf(request)
      if (!(await parts.storage.liveSessions.end(params['id'] ?? '', user.name, body.reason))) throw fail('not_found')
      return null
    },
  }),
]
