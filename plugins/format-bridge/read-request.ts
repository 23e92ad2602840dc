import type { Body } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { asObject, type JsonObject, parseJson, RequestFault } from './neutral/index.ts'

/** Parses a client's request in its format. @throws Failure untranslatable_request with the field */
export function readRequest<T>(body: Body, parse: (value: JsonObject) => T): T {
  const value = body.kind === 'json' ? asObject(parseJson(body.json.bytes.toString())) : undefined
  return reading(() => parse(value ?? {}))
}

/** Returns the result of a parser. @throws Failure untranslatable_request with the field */
export function reading<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error
    const { field, message } = error
    throw fail('untranslatable_request', { field, expected: message }, { param: field })
  }
}
