import { type SavedView, viewsMax } from '../../domain/saved-views.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { refuseUnprintable } from '../refuse-unprintable.ts'

const where = 'user_name = ? AND page = ?'
/** Locks the user, so that concurrent changes of a user's views wait for each other. */
const owner = `SELECT name FROM "user" WHERE name = ? AND erased_at IS NULL ${lockRows}`

/** The views of all pages, in the order of creation. */
export function* listViews(user: string): QueryProgram<readonly SavedView[]> {
  const rows = yield ask('SELECT page, name, query FROM saved_view WHERE user_name = ? ORDER BY page, place', user)
  return rows.map(row => ({
    page: text(row, 'page') as SavedView['page'],
    name: text(row, 'name'),
    query: text(row, 'query'),
  }))
}

export type ViewPut = { readonly user: string; readonly view: SavedView; readonly before: string | null }

/** @returns false if the page has the maximum number of views, or there is no such user */
export function* putView({ user, view, before }: ViewPut): QueryProgram<boolean> {
  const { page, name, query } = view
  refuseUnprintable(name)
  if ((yield ask(owner, user)).length === 0) return false
  const rows = yield ask(`SELECT name, place FROM saved_view WHERE ${where} ORDER BY place`, user, page)
  const changed = rows.find(row => text(row, 'name') === (before ?? name))
  const gone = new Set([before ?? name, name])
  if (rows.filter(row => !gone.has(text(row, 'name'))).length >= viewsMax) return false
  const last = rows.at(-1)
  const place = changed ? whole(changed, 'place') : last ? whole(last, 'place') + 1 : 0
  for (const one of gone) yield ask(`DELETE FROM saved_view WHERE ${where} AND name = ?`, user, page, one)
  yield ask(
    'INSERT INTO saved_view (user_name, page, name, place, query) VALUES (?, ?, ?, ?, ?)',
    user,
    page,
    name,
    place,
    query,
  )
  return true
}

export type ViewRemoval = { readonly user: string; readonly view: Pick<SavedView, 'page' | 'name'> }

/** @returns false if there is no view of that name */
export function* removeView({ user, view }: ViewRemoval): QueryProgram<boolean> {
  const { page, name } = view
  const rows = yield ask(`DELETE FROM saved_view WHERE ${where} AND name = ? RETURNING name`, user, page, name)
  return rows.length > 0
}
