import { signal } from '@preact/signals'
import { forgetKey } from './ask-gateway.ts'
import { forgetPlaces } from './places.ts'
import { forgetRuns } from './runs.ts'

// Typed text remains while the page is open, across models, tabs, pages and even an ended session. It is never stored,
// and belongs to one user.

const texts = signal<{ readonly [place: string]: string }>({})
const chosen = signal<{ readonly [place: string]: readonly File[] }>({})
let owner: string | undefined

/** Drops the drafts of another user. */
export function draftsOf(user: string): void {
  if (owner !== undefined && owner !== user) {
    texts.value = {}
    chosen.value = {}
    forgetPlaces()
    forgetRuns()
    forgetKey()
  }
  owner = user
}

/** A field of an operation's form: its text, and its setter. */
export function useText(operation: string, name: string, first = ''): readonly [string, (text: string) => void] {
  const place = `${operation} ${name}`
  return [texts.value[place] ?? first, text => (texts.value = { ...texts.value, [place]: text })]
}

/** The same for files. */
export function useFiles(
  operation: string,
  name: string,
): readonly [readonly File[], (files: readonly File[]) => void] {
  const place = `${operation} ${name}`
  return [chosen.value[place] ?? [], files => (chosen.value = { ...chosen.value, [place]: files })]
}
