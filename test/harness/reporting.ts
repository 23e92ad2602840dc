import { type AnyPlugin, definePlugin } from '../../src/index.ts'
import { createResponseMetadata, responseMetadataSlot } from '../../src/plugin-api/index.ts'

/** Output facts in an answer, next to its images. */
export type ReportedFacts = {
  readonly sizes?: readonly (readonly [width: number, height: number])[]
  readonly facts?: { readonly [name: string]: string | number | boolean }
  readonly count?: number
  readonly cost?: string
  readonly refusal?: string
}

const facet = {
  type: 'object',
  additionalProperties: false,
  properties: {
    facts: { type: 'object', additionalProperties: { type: 'string' } },
    refused: { type: 'array', items: { type: 'object', additionalProperties: { type: 'string' } } },
  },
} as const

/**
 * A plugin that sets output facts, like a plugin that parses a vendor's text: the next answer has the facts given to
 * `next`. Its section names the facts.
 */
export function createTelling(): { readonly plugin: AnyPlugin; readonly next: (telling: ReportedFacts) => void } {
  const waiting: ReportedFacts[] = []
  const plugin = definePlugin({
    name: 'telling',
    facet,
    create: () => ({
      onReply(context, reply) {
        const { sizes, facts, count, cost, refusal } = waiting.shift() ?? {}
        const metadata = createResponseMetadata()
        sizes?.forEach(([width, height], i) => metadata.sizes.set(i, { width, height }))
        for (const [name, value] of Object.entries(facts ?? {})) metadata.facts.set(name, value)
        metadata.count = count
        metadata.cost = cost
        metadata.refusalPrice = refusal
        context.slots.put(responseMetadataSlot, metadata)
        return reply
      },
    }),
  })
  return { plugin, next: telling => void waiting.push(telling) }
}
