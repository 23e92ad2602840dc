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
        'Request the usage of chat streams from upstreams (stream_options.include_usage). The extra event is removed if the client did not request it.',
    },
    count_characters_of: {
      type: 'string',
      minLength: 1,
      description: 'Field whose characters are counted, for models priced by the character.',
    },
    free_operations: {
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1 },
      default: [],
      description: 'Free operations, such as counting tokens.',
    },
    beside_images: {
      enum: ['bill', 'free'],
      default: 'bill',
      description:
        'For responses whose images are charged by image-tier-billing. bill: also charge their token usage. free: charge it only if no image was returned.',
    },
    image_tools: {
      enum: ['refuse', 'bill'],
      default: 'refuse',
      description:
        "For requests with image tools. refuse: refuse them, because token usage does not cover the images. bill: charge the images by the family's image-tier-billing, in addition to token usage.",
    },
    missing_usage: {
      enum: ['estimate', 'review', 'refuse'],
      default: 'estimate',
      description:
        'If a complete response reports no usage: charge a marked estimate, leave the charge for review, or refuse the response (502). Streams, text and audio have already been sent then, so their charges go to review.',
    },
    unpriced: {
      enum: ['refuse', 'review', 'parent'],
      default: 'parent',
      description:
        'For usage without a price (searches and other calls, a service tier or speed, cache writes, audio, video). refuse: return 400 if the request names it; if only the response reports it, leave the charge for review. review: leave every such charge for review. parent: charge it at the price of its parent and flag the charge.',
    },
    on_caller_gone: {
      enum: ['estimate', 'bill'],
      default: 'estimate',
      description:
        'If the client disconnects early: end the call and charge the reported usage and an estimate of the rest, or read the response to the end and charge its usage. The latter suits reasoning models, whose usage cannot be estimated. A stream with complete text is always read to its final usage report.',
    },
    unseen_tokens_max: {
      type: 'integer',
      minimum: 0,
      default: 1_000_000,
      description:
        'Tokens that may be reported beyond one for each byte sent or received: reasoning (per choice), stored conversations, results of upstream tools. The charge of a larger report is estimated and left for review.',
    },
    estimate: {
      type: 'object',
      additionalProperties: false,
      default: {},
      description:
        'Estimates of usage: for holds, for responses without a usage report, and for streams that were cut off.',
      properties: {
        bytes_per_token: {
          type: 'number',
          exclusiveMinimum: 0,
          default: 4,
          description: 'Bytes of text per token.',
        },
        file_tokens: {
          type: 'integer',
          minimum: 0,
          default: 1500,
          description: 'Tokens of an image or another file that a request contains as base64.',
        },
        output_tokens: {
          type: 'integer',
          minimum: 1,
          default: 4096,
          description: 'Tokens held for a response whose request sets no limit.',
        },
        calls: {
          type: 'integer',
          minimum: 0,
          default: 10,
          description:
            'Calls of an upstream tool, such as web searches, held for a request that allows them without a limit.',
        },
      },
    },
  },
} as const satisfies Schema

export type UsageFacet = Admits<typeof facetSchema>
