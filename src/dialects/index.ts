import type { Dialect, Head } from '../kit/index.ts'
import { hybrid } from './hybrid.ts'
import { openai } from './openai.ts'

/** Every wire style spoken, by the name that routes use in `gateway.yaml`. */
export const dialects: ReadonlyMap<string, Dialect> = new Map([
  [openai.name, openai],
  [hybrid.name, hybrid],
])

/** The dialect that a route names; `by-caller` is the style of whoever asks. */
export function findDialect(name: string, _head: Head): Dialect | undefined {
  return dialects.get(name)
}

/** The style of an error raised before a route is known. */
export function guessDialect(): Dialect {
  return hybrid
}
