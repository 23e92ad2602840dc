import { type Body, readField } from '../../src/plugin-api/index.ts'

/** More calls than this no answer has; it bounds what is held, not what is charged. */
const callsMax = 1_000

/** How many calls of tools the request allows: no more images can come; undefined where it sets no limit. */
export function readToolLimit(body: Body): number | undefined {
  const limit = readField(body, 'max_tool_calls')
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) return undefined
  return Math.min(limit, callsMax)
}
