import { type Body, isEmptyField, readField, type RerouteAsk, withFields } from '../../src/plugin-api/index.ts'

/**
 * The body with the model's defaults for its client's operation. They are filled in before the translation, because a
 * voice, for example, is not a field at the upstream.
 */
export function withClientDefaults({ body, model, operation }: RerouteAsk): Body {
  const missing = [...(model.defaults?.get(operation) ?? [])].filter(([name]) => isEmptyField(readField(body, name)))
  return missing.length === 0 ? body : withFields(body, new Map(missing))
}
