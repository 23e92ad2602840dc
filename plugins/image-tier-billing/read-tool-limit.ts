import { type Body, readField } from '../../src/plugin-api/index.ts'

/** No answer has more calls; bounds the hold, not the charge. */
const callsMax = 1_000

/** How many tool calls the request allows, and so how many images; undefined if it sets no limit. */
export function readToolLimit(body: Body): number | undefined {
  const limit = readField(body, 'max_tool_calls')
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) return undefined
  return Math.min(limit, callsMax)
}
