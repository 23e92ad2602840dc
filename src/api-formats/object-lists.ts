import type { ObjectListPage, ObjectListQuery } from '../domain/index.ts'
import type { ApiFormat } from '../plugin-api/index.ts'
import { readPageLength } from './page.ts'

type ObjectList = ApiFormat['objectList']

/** Lists of the chat-completions style: newest first, `after` an id. */
export const listAfter: ObjectList = {
  query(text: string): ObjectListQuery {
    const wanted = new URLSearchParams(text)
    const after = wanted.get('after')
    return {
      limit: readPageLength(wanted.get('limit'), 20, 10_000),
      order: wanted.get('order') === 'asc' ? 'asc' : 'desc',
      ...(after && { after }),
    }
  },
  page: page => ({ object: 'list', ...cursors(page) }),
}

/**
 * Lists of the messages style: newest first; newer SDKs follow `next_page`, older ones use `after_id` or `before_id`.
 */
export const listAround: ObjectList = {
  query(text: string): ObjectListQuery {
    const wanted = new URLSearchParams(text)
    const limit = readPageLength(wanted.get('limit'), 20, 1_000)
    const [after, before] = [wanted.get('page') || wanted.get('after_id'), wanted.get('before_id')]
    if (before && !after) return { limit, order: 'asc', after: before, isReversed: true }
    return { limit, order: 'desc', ...(after && { after }) }
  },
  page: page => ({ ...cursors(page), next_page: page.hasMore ? (page.ids.at(-1) ?? null) : null }),
}

/** Lists of the generative-language style: a token identifies the next page. */
export const listByToken: ObjectList = {
  query(text: string): ObjectListQuery {
    const wanted = new URLSearchParams(text)
    const token = wanted.get('pageToken')
    return {
      limit: readPageLength(wanted.get('pageSize'), 10, 1_000),
      order: 'desc',
      ...(token && { after: Buffer.from(token, 'base64url').toString() }),
    }
  },
  page({ objects, ids, hasMore, member }) {
    const last = ids.at(-1)
    const next = hasMore && last !== undefined && { nextPageToken: Buffer.from(last).toString('base64url') }
    return { ...(objects.length > 0 && { [member]: objects }), ...next }
  },
}

function cursors({ objects, ids, hasMore }: ObjectListPage): object {
  return { data: objects, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null, has_more: hasMore }
}
