import type { Dialect } from '../kit/index.ts'
import { hybrid } from './hybrid.ts'
import { openai } from './openai.ts'

/** Every wire style spoken, by the name that routes use in `gateway.yaml`. */
export const dialects: ReadonlyMap<string, Dialect> = new Map([
  [openai.name, openai],
  [hybrid.name, hybrid],
])

/** The style of an error raised before a route is known. */
export function guessDialect(): Dialect {
  return hybrid
}
