import { askedSizeSlot, definePlugin, readField, withFields } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import { readAskedSize } from './foresee.ts'
import { inspect } from './inspect.ts'
import { readRule } from './read-rule.ts'
import { facetSchema, optionsSchema } from './schema.ts'
import { sendFields } from './send-fields.ts'

/** What a size means to a family (requirement 4.3): read once, told to those below, sent in the upstream's own words. */
export const sizeNormalize = definePlugin({
  name: 'size-normalize',
  options: optionsSchema,
  facet: facetSchema,
  gives: [askedSizeSlot],
  inspect,
  create: () => ({
    onTarget(ex, target, facet) {
      const { operation } = ex.route
      const asked = readAskedSize(facet, operation, readField(target.body, 'size'))
      const rule = readRule(facet)
      if (asked.size.kind === 'unread' && rule.kind === 'snap' && rule.appliesTo.has(operation))
        throw fail('invalid_size', { size: asked.text ?? '', model: target.model.name, labels: rule.labels.join(', ') })
      ex.slots.put(askedSizeSlot, asked)
    },
    onForward(ex, out, facet) {
      const changes = sendFields(facet, ex.route.operation, ex.slots.need(askedSizeSlot).size)
      return changes.size === 0 ? out : { ...out, body: withFields(out.body, changes) }
    },
  }),
})
