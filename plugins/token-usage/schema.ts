import type { Admits, Schema } from '../../src/plugin-api/index.ts'

/** The plugin has no options in the pipeline. */
export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
} as const satisfies Schema

/** The section `token-usage` of a family. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    include_usage: {
      type: 'boolean',
      default: true,
      description:
        'Request the usage of chat streams from upstreams (stream_options.include_usage), and remove the extra event if the client did not request it.',
    },
    count_characters_of: {
      type: 'string',
      minLength: 1,
      description: 'The field whose characters are counted, for models priced by the character.',
    },
    free_operations: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      default: [],
      description: 'Operations that cost nothing, such as counting tokens.',
    },
    beside_images: {
      enum: ['bill', 'free'],
      default: 'bill',
      description:
        'Of answers whose images are charged by image-tier-billing: what they have used is charged as well (bill), or only where no image came (free).',
    },
    image_tools: {
      enum: ['refuse', 'bill'],
      default: 'refuse',
      description:
        "For a request whose tools make images: refuse it, since its use would not pay for them, or bill its images by the family's image-tier-billing in addition to its use.",
    },
    missing_usage: {
      enum: ['estimate', 'review', 'refuse'],
      default: 'estimate',
      description:
        'When a whole answer does not say what was used: charge it by an estimate that is marked as one, leave that to a person to decide, or refuse the answer (502) where it has not left yet; streams, text and sound have, and go to a person.',
    },
    unpriced: {
      enum: ['refuse', 'review', 'parent'],
      default: 'parent',
      description:
        'When a request uses something without a price (searches and other calls, a service tier or speed, cache writes, audio, video): refuse it with 400 if the request names it, and hold the charge for review if only the answer reports it (refuse); hold every such charge for review (review); or charge it at the price of its parent and flag the charge (parent).',
    },
    on_caller_gone: {
      enum: ['estimate', 'bill'],
      default: 'estimate',
      description:
        'When the client leaves before the end of the answer: end the call and charge the reported use and an estimate of the rest, or read it to the end and bill the use, which is right for models that think before they answer, since no estimate knows for how long. A stream whose text is complete is always read on, for the use that it reports last.',
    },
    unseen_tokens_max: {
      type: 'integer',
      minimum: 0,
      default: 1_000_000,
      description:
        "Tokens that may be reported beyond one for each byte that was sent, or that came back: reasoning (for each choice), stored conversations, results of the upstream's own tools. A report beyond that is not believed: its charge is estimated and waits for a person.",
    },
    estimate: {
      type: 'object',
      additionalProperties: false,
      default: {},
      description:
        'How uncounted use is estimated: for holds, for answers without a report, and for streams that were cut.',
      properties: {
        bytes_per_token: {
          type: 'number',
          exclusiveMinimum: 0,
          default: 4,
          description: 'Bytes of text of one token.',
        },
        file_tokens: {
          type: 'integer',
          minimum: 0,
          default: 1500,
          description: 'Tokens of a picture or another file that a request holds as base64.',
        },
        output_tokens: {
          type: 'integer',
          minimum: 1,
          default: 4096,
          description: 'Held for an answer whose request sets no limit of its own.',
        },
        calls: {
          type: 'integer',
          minimum: 0,
          default: 10,
          description:
            'Calls of a tool that the upstream runs, such as web searches, held for a request that allows them and does not say how many.',
        },
      },
    },
  },
} as const satisfies Schema

export type UsageFacet = Admits<typeof facetSchema>
