import {
  askedSizeSlot,
  createTold,
  definePlugin,
  type Body,
  type Exchange,
  type Host,
  type Outbound,
  readField,
  type Target,
  toldSlot,
} from '../../src/kit/index.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { createConverse } from './converse.ts'
import { readingOf, sectionOf } from './describe.ts'
import { inspect } from './inspect.ts'
import { facetSchema, optionsSchema, type Section, type TranslateFacet } from './schema.ts'
import { shapeRequest } from './shape-request.ts'

/** Of answers that cannot go on as they come, all requests together. */
const heldBytesMax = 512 * 1024 * 1024

/**
 * Speaks a vendor's wire as its description in the file says: writes the vendor's body from the caller's fields, and reads
 * pictures, refusals and facts out of whatever it answers, into the one style that every other plugin knows
 * (`docs/vendors.md`). What a description does not name goes nowhere.
 */
export const translate = definePlugin({
  name: 'translate',
  options: optionsSchema,
  facet: facetSchema,
  gives: [toldSlot],
  inspect,

  quote({ body, out, model, operation, slots }, facet) {
    const section = sectionOf(facet, operation)
    if (section.request === undefined || out.kind !== 'json') return undefined
    const sendAs = model.upstreams[0]?.sendAs ?? model.name
    const n = section.fan_out === undefined ? countOf(body) : 1
    const asked = slots.get(askedSizeSlot)
    const { value, dropped } = shapeRequest(section, { body: out, model: sendAs, n, asked }, noChance)
    const changes = new Map(out.json.names().map(name => [name, undefined as unknown]))
    for (const [name, own] of Object.entries(value as object)) changes.set(name, own)
    return { out: { kind: 'json', json: out.json.with(changes as never) }, dropped }
  },

  create(_options, host) {
    const budget = host.keep('held', () => new ByteBudget(heldBytesMax))
    return {
      onTarget(ex, _target, _facet) {
        ex.slots.put(toldSlot, createTold())
      },
      onAsk(ex, out, facet, target) {
        return ask({ ex, out, facet, target, host, budget })
      },
    }
  },
})

/** A body that is shown, and never sent, needs no boundary that nobody foresees. */
const noChance = { bytes: (size: number): Buffer => Buffer.alloc(size) }

type Asking = {
  readonly ex: Exchange
  readonly out: Outbound
  readonly facet: TranslateFacet
  readonly target: Target
  readonly host: Host
  readonly budget: ByteBudget
}

function ask({ ex, out, facet, target, host, budget }: Asking): ReturnType<typeof createConverse> {
  const { operation } = ex.route
  const section = sectionOf(facet, operation)
  const told = ex.slots.need(toldSlot)
  const wanted = countOf(target.body)
  const isFanned = section.fan_out !== undefined
  const bodies = shapeBodies(section, { ex, out, target, host }, isFanned ? 1 : wanted)
  const { headers } = out
  let held = 0
  return createConverse({
    reading: readingOf(facet, operation),
    told,
    asks: Array.from({ length: isFanned ? wanted : 1 }, () => asker => asker.ask({ body: bodies, headers })),
    atOnce: section.fan_out ?? 1,
    event: target.stream ? `${operation === 'image.edit' ? 'image_edit' : 'image_generation'}.completed` : undefined,
    created: Math.floor(host.clock.now() / 1000),
    claim(bytes) {
      if (!budget.take(bytes)) return false
      held += bytes
      return true
    },
    onUsage(usage) {
      ex.notes.inputTokens = usage['input_tokens'] ?? ex.notes.inputTokens
      ex.notes.outputTokens = usage['output_tokens'] ?? ex.notes.outputTokens
    },
    onUnrecognised(shape) {
      ex.notes.unrecognised = { shape }
    },
    close() {
      budget.give(held)
      held = 0
    },
  })
}

function shapeBodies(
  section: Section,
  { ex, out, target, host }: Pick<Asking, 'ex' | 'out' | 'target' | 'host'>,
  n: number,
): Body {
  const asked = ex.slots.get(askedSizeSlot)
  const { body, dropped } = shapeRequest(section, { body: out.body, model: target.sendAs, n, asked }, host.random)
  if (dropped.length > 0) {
    ex.notes.forwarded = ex.notes.forwarded.filter(name => !dropped.includes(name))
    ex.notes.dropped = [...new Set([...ex.notes.dropped, ...dropped])]
  }
  return body
}

/** What billing has checked already. */
function countOf(body: Body): number {
  const n = Number(readField(body, 'n') ?? 1)
  return Number.isInteger(n) && n > 0 ? n : 1
}
