import { type Body, isEmptyField, readField, type RerouteAsk, withFields } from '../../src/plugin-api/index.ts'

/** The body with what the model has for fields that its client leaves out: a voice, for example, is no field at the upstream. */
export function withClientDefaults({ body, model, operation }: RerouteAsk): Body {
  const own = [...(model.defaults?.get(operation) ?? [])].filter(([name]) => isEmptyField(readField(body, name)))
  return own.length === 0 ? body : withFields(body, new Map(own))
}
