import { mayHaveAnswers } from '../../domain/index.ts'
import { defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { reason, rowId } from '../schemas.ts'
import { sessionUserOf } from '../session-user.ts'

/** The endpoints for cached answers (`docs/answer-cache.md`). */
export const answerCacheRoutes = [
  defineRoute({
    method: 'POST',
    url: '/api/cache/purge',
    access: 'admin',
    summary:
      'Stop using cached responses: of a model, of a key, or all. Every gateway on the storage does so within a second.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['reason'],
      properties: {
        model: {
          type: 'string',
          minLength: 1,
          maxLength: 200,
          description: 'Only responses of this model, which may be removed from the configuration.',
        },
        key: { ...rowId, description: 'Only responses to requests of this key.' },
        reason,
      },
    },
    status: 204,
    async handle(request) {
      const { parts, body } = request
      const { user } = sessionUserOf(request)
      const { journal } = parts.storage
      if (body.model !== undefined && !(await mayHaveAnswers(body.model, parts.plan(), journal)))
        throw refuse('invalid', 'model_unknown', { model: body.model }, { param: 'model' })
      if (body.key !== undefined && !(await parts.storage.keys.find(body.key)))
        throw fail('not_found', {}, { param: 'key' })
      const scope = { ...(body.model !== undefined && { model: body.model }), ...(body.key && { keyId: body.key }) }
      await parts.storage.answers.add(scope, user.name, body.reason)
      return null
    },
  }),
]
