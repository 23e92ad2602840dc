import type { Admits, Schema } from '../../src/kit/index.ts'

/** No options on the pipeline's line. */
export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
} as const satisfies Schema

/** The section `image-tier-billing` of a family. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['tiers', 'tier_from', 'otherwise'],
  properties: {
    tiers: {
      type: 'array',
      minItems: 1,
      maxItems: 32,
      description:
        'Price tiers by the long edge in pixels, rising; the last one has no long_edge_max and takes the rest.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tier'],
        properties: {
          tier: { type: 'string', minLength: 1, maxLength: 32, description: 'Its label; models give a price for it.' },
          long_edge_max: { type: 'integer', minimum: 1, description: 'The largest long edge that is still this tier.' },
        },
      },
    },
    tier_from: {
      type: 'array',
      minItems: 1,
      maxItems: 2,
      uniqueItems: true,
      description: 'What decides the tier, in this order: the pixels that came back, or the size that was asked for.',
      items: { enum: ['output', 'request'] },
    },
    otherwise: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description: 'The tier of an image for which nothing in tier_from gives one.',
    },
    render: {
      enum: ['b64_json'],
      description:
        'The upstream always answers with b64_json; response_format is then ours: b64_json as it is, url as a data: URL.',
    },
    on_caller_gone: {
      enum: ['bill', 'free'],
      default: 'bill',
      description: 'When the caller leaves before the answer: read it to the end and bill it, or break the call off.',
    },
    answers: {
      type: 'object',
      additionalProperties: { enum: ['data', 'output', 'none'] },
      description:
        'By operation, where images stand in its answers: data (image.generate and image.edit, where nothing else is said), output (what tools have made), or none: nothing is charged by the image.',
    },
    texts: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members of answers that hold text of the vendor, by name, wherever they stand: links in them are no images. Those that most vendors have (revised_prompt, message …) need not be named.',
    },
    n_from: {
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$' },
      description:
        'Where requests say how many images they want: fields, or members within them with dots between the names; [n] when not given. What is held is for the most that any of them says, and each is checked against n_max. Every other field that names a number of images (num_images, max_images, batch_size, …) is not sent on, at whatever depth.',
    },
    refusals: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members at the top of an answer of status 200 by which the vendor says why it made no image (base_resp, detail): one with such a member and without an image passes, and is free. error need not be named.',
    },
    over_return: {
      enum: ['bill', 'cap'],
      default: 'bill',
      description: 'When more images come back than were asked for: bill each, or bill at most n.',
    },
  },
} as const satisfies Schema

export type BillingFacet = Admits<typeof facetSchema>
