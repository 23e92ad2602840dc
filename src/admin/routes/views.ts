import { createHash } from 'node:crypto'
import { type SavedView, viewNameMax, viewPages, viewQueryMax, viewsMax } from '../../domain/index.ts'
import { savedViewsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { label } from '../../domain/shapes/schemas.ts'
import { sessionUserOf } from '../session-user.ts'

const name = { ...label, minLength: 1, maxLength: viewNameMax } as const

/** The id for deleting a view. */
function idOf({ page, name }: SavedView): string {
  return `view_${createHash('sha256').update(`${page}\n${name}`).digest('hex').slice(0, 16)}`
}

async function showViews({ parts, ...request }: AdminRequest) {
  const { user } = sessionUserOf({ parts, ...request })
  const views = await parts.storage.views.list(user.name)
  return { views: views.map(view => ({ id: idOf(view), ...view })) }
}

export const viewRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/account/views',
    access: 'user',
    summary: 'List your saved views of console pages.',
    answer: savedViewsAnswer,
    handle: showViews,
  }),
  defineRoute({
    method: 'POST',
    url: '/api/account/views',
    access: 'user',
    summary: 'Save a view of a page. It replaces the view with the same name, or the one named in `before`.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['page', 'name', 'query'],
      properties: {
        page: { type: 'string', enum: viewPages },
        name,
        query: { type: 'string', pattern: '^\\?[^#\\s]+$', maxLength: viewQueryMax },
        before: name,
      },
    },
    answer: savedViewsAnswer,
    async handle(request) {
      const { user } = sessionUserOf(request)
      const { page, name, query, before } = request.body
      const isKept = await request.parts.storage.views.put(user.name, { page, name, query }, before)
      if (!isKept) throw refuse('conflict', 'views_full', { max: viewsMax })
      return showViews(request)
    },
  }),
  defineRoute({
    method: 'DELETE',
    url: '/api/account/views/:id',
    access: 'user',
    summary: 'Delete one of your own views.',
    status: 204,
    async handle(request) {
      const { user } = sessionUserOf(request)
      const { views } = request.parts.storage
      const view = (await views.list(user.name)).find(one => idOf(one) === request.params['id'])
      if (!view || !(await views.remove(user.name, view))) throw fail('not_found')
      return null
    },
  }),
]
