import {
  askedSizeSlot,
  definePlugin,
  readField,
  sizeTableSlot,
  withFields,
  type AskedSize,
} from '../../src/plugin-api/index.ts'
import { chooseShape } from './choose-shape.ts'
import { readRequestedSize } from './expected-size.ts'
import { inspect } from './inspect.ts'
import { readRule } from './read-rule.ts'
import { facetSchema, optionsSchema, type SizeFacet } from './schema.ts'
import { sendFields } from './send-fields.ts'
import { fail } from './errors.ts'

/**
 * The meaning of a size in a family (`docs/rules.md#sizes`): read once, passed on to later plugins, sent in the
 * upstream's own form.
 */
export const sizeNormalize = definePlugin({
  name: 'size-normalize',
  options: optionsSchema,
  facet: facetSchema,
  gives: [askedSizeSlot],
  inspect,

  quote({ body, model, operation, out, slots }, facet) {
    const requested = readRequestedSize(facet, operation, readField(body, 'size'))
    checkSize(facet, operation, requested, model.name)
    slots.put(askedSizeSlot, requested)
    const { expected, resolution, size } = requested
    return {
      out: withFields(out, sendFields(facet, operation, size)),
      expected: {
        size: expected && `${expected.width}x${expected.height}`,
        resolution,
        ratio: chooseShape(readRule(facet), operation, size).ratio,
      },
    }
  },

  prices({ slots }, facet) {
    const { labels, pixels } = readRule(facet)
    slots.put(sizeTableSlot, { labels, sizes: [...pixels.values()] })
    return undefined
  },

  create: () => ({
    onTarget(context, target, facet) {
      const { operation } = context.route
      const requested = readRequestedSize(facet, operation, readField(target.body, 'size'))
      checkSize(facet, operation, requested, target.model.name)
      context.slots.put(askedSizeSlot, requested)
    },
    onForward(context, out, facet) {
      const changes = sendFields(facet, context.route.operation, context.slots.need(askedSizeSlot).size)
      if (changes.size === 0) return out
      context.notes.forwarded = context.notes.forwarded.map(name => (name === 'size' ? describeSize(changes) : name))
      return { ...out, body: withFields(out.body, changes) }
    },
  }),
})

/** The log entry for a size that is sent as other fields: `size → resolution, aspect_ratio`. */
function describeSize(changes: ReturnType<typeof sendFields>): string {
  const sent = [...changes].flatMap(([field, value]) => (value === undefined ? [] : [field]))
  return sent.length === 0 || sent.includes('size') ? 'size' : `size → ${sent.join(', ')}`
}

/**
 * A family that snaps must understand the size; others forward it (`docs/rules.md#sizes`).
 * @throws Failure invalid_size
 */
function checkSize(facet: SizeFacet, operation: string, requested: AskedSize, model: string): void {
  const rule = readRule(facet)
  if (requested.size.kind !== 'unread' || rule.kind !== 'snap' || !rule.appliesTo.has(operation)) return
  throw fail('invalid_size', { size: requested.text ?? '', model, labels: rule.labels.join(', ') })
}
