import { isObject, type Json } from '../../src/plugin-api/index.ts'

const reasonsMax = 16
const reasonCharsMax = 64

/**
 * The reasons why an answer ended, in the upstream's own words, one for each choice: `finish_reason` of a choice,
 * `finishReason` of a candidate, `stop_reason` of a message or of its last event, `status` of a response. Empty if
 * there is none.
 */
export function finishReasonsOf(answer: { readonly [name: string]: Json }): readonly string[] {
  const { choices, candidates, delta, response } = answer
  const found = [...eachOf(choices, 'finish_reason'), ...eachOf(candidates, 'finishReason')]
  for (const [place, name] of [
    [answer, 'stop_reason'],
    [delta, 'stop_reason'],
    [response, 'status'],
    [answer['object'] === 'response' ? answer : undefined, 'status'],
  ] as const)
    if (isObject(place)) found.push(place[name])
  return found
    .filter((reason): reason is string => typeof reason === 'string' && reason !== '')
    .slice(0, reasonsMax)
    .map(reason => reason.slice(0, reasonCharsMax))
}

function eachOf(list: Json | undefined, name: string): (Json | undefined)[] {
  if (!Array.isArray(list)) return []
  return (list as readonly Json[]).slice(0, reasonsMax).map(one => (isObject(one) ? one[name] : undefined))
}
