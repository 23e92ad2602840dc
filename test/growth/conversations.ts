import { type Format, translateRequest } from '../harness/translating.ts'
import { parseJson } from '../../src/wire/index.ts'
import type { JsonObject } from '../../plugins/format-bridge/neutral/index.ts'
import { around, fill, type Generator } from './bodies.ts'
import type { Reader } from './readers.ts'

/** A list of equal elements between two texts. */
const listed =
  (before: string, unit: string, after: string): Generator =>
  bytes =>
    around(before, fill(bytes, `${unit},`), unit, after)

const call = '{"functionCall":{"name":"f"}}'
const result = '{"functionResponse":{"name":"f","response":{}}}'

/** Requests whose many turns belong together in another format, by the client's format. */
const kinds: { readonly [format in Format]: Reader['kinds'] } = {
  chat: {
    users: listed('{"messages":[', '{"role":"user","content":"a"}', ']}'),
    results: listed('{"messages":[', '{"role":"tool","tool_call_id":"a","content":"a"}', ']}'),
  },
  responses: {
    assistants: listed('{"input":[', '{"role":"assistant","content":"a"}', ']}'),
    results: listed('{"input":[', '{"type":"function_call_output","call_id":"a","output":"a"}', ']}'),
  },
  messages: { users: listed('{"messages":[', '{"role":"user","content":"a"}', ']}') },
  generate: {
    calls: listed('{"contents":[', `{"role":"model","parts":[${call}]}`, ']}'),
    'calls and results': bytes =>
      around(
        '{"contents":[{"role":"model","parts":[',
        fill(bytes / 2, `${call},`),
        `${call}]},{"parts":[`,
        fill(bytes / 2, `${result},`),
        `${result}]}]}`,
      ),
  },
}

/** Translations of requests to the format that joins the most turns. */
export const conversations: readonly Reader[] = (Object.keys(kinds) as Format[]).map(from => ({
  name: `conversation of ${from}`,
  kinds: kinds[from],
  read: bytes =>
    translateRequest(from, parseJson(bytes.toString()) as JsonObject, from === 'messages' ? 'chat' : 'messages'),
}))
