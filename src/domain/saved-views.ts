import type { Awaitable } from '../util/awaitable.ts'

/** Pages of the console whose filters can be kept, by their addresses. */
export const viewPages = ['/console', '/console/logs'] as const

/** Limits: views of one page, and characters of a view. */
export const viewsMax = 30
export const viewNameMax = 40
export const viewQueryMax = 2_000

/** A named filter of a page: an address that can be shared. */
export type SavedView = {
  readonly page: (typeof viewPages)[number]
  readonly name: string
  /** `?a=1&b=2` */
  readonly query: string
}

/** Views belong to one user each. */
export type ViewStore = {
  /** The views of all pages, in the order of their creation. */
  list(user: string): Awaitable<readonly SavedView[]>
  /**
   * Replaces the page's view named `before`, and any view with the new name; otherwise appends it. False if the page
   * has the maximum number of views, or there is no such user.
   */
  put(user: string, view: SavedView, before?: string): Awaitable<boolean>
  /** False if there is none with this name. */
  remove(user: string, view: Pick<SavedView, 'page' | 'name'>): Awaitable<boolean>
}
