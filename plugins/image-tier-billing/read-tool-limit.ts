import { type Body, readField } from '../../src/plugin-api/index.ts'

/** The maximum number of calls for the hold: no answer has more. It does not bound the charge. */
const callsMax = 1_000

/** The maximum number of tool calls, and so of images, that the request allows; undefined if it sets no limit. */
export function readToolLimit(body: Body): number | undefined {
  const limit = readField(body, 'max_tool_calls')
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) return undefined
  return Math.min(limit, callsMax)
}
