import { askedSizeSlot, definePlugin, readField, withFields } from '../../src/kit/index.ts'
import { checkSize } from './check-size.ts'
import { readAskedSize } from './foresee.ts'
import { inspect } from './inspect.ts'
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
      checkSize(facet, operation, asked, target.model.name)
      ex.slots.put(askedSizeSlot, asked)
    },
    onForward(ex, out, facet) {
      const changes = sendFields(facet, ex.route.operation, ex.slots.need(askedSizeSlot).size)
      return changes.size === 0 ? out : { ...out, body: withFields(out.body, changes) }
    },
  }),
})
