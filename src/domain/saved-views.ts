import type { Awaitable } from '../util/awaitable.ts'

/** Pages of the console whose filters can be kept, by their addresses. */
export const viewPages = ['/console', '/console/logs'] as const

/** Bounds of what is kept: views of one page, and characters of a view. */
export const viewsMax = 30
export const viewNameMax = 40
export const viewQueryMax = 2_000

/** A named filter of a page: an address that can be sent to others. */
export type SavedView = {
  readonly page: (typeof viewPages)[number]
  readonly name: string
  /** `?a=1&b=2` */
  readonly query: string
}

/** Views belong to one user each. */
export type ViewStore = {
  /** Of all pages, in the order in which they were made. */
  list(user: string): Awaitable<readonly SavedView[]>
  /**
   * Puts a view in the place of the one of its page that was called `before`, and of any that has its name; else at the end. False
   * where the page has as many as may be, or there is no such user.
   */
  put(user: string, view: SavedView, before?: string): Awaitable<boolean>
  /** False where there is none of that name. */
  remove(user: string, view: Pick<SavedView, 'page' | 'name'>): Awaitable<boolean>
}
