import { type Admits, imageOperations, type Schema } from '../../src/plugin-api/index.ts'

/** No options on the pipeline's line. */
export const optionsSchema = { type: 'object', additionalProperties: false, properties: {} } as const satisfies Schema

/** The section `size-normalize` of a family. What the schema cannot say is checked by `inspect`. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['rule', 'ratios'],
  properties: {
    rule: {
      enum: ['ratio', 'snap'],
      description:
        'ratio: the upstream uses only the shape of a size; the size is forwarded unchanged and the table gives the resulting size. snap: a size becomes the nearest resolution and ratio of the upstream.',
    },
    ratios: {
      type: 'array',
      minItems: 1,
      maxItems: 64,
      items: { type: 'string', maxLength: 16 },
      description:
        'The shapes that the upstream makes, as "width:height"; of two that are equally near the first is taken.',
    },
    resolutions: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      description: 'rule snap: the resolutions, rising; the last one has no long_edge_max and takes the rest.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['label'],
        properties: {
          label: {
            type: 'string',
            minLength: 1,
            maxLength: 16,
            description: 'Its name; callers may send it as size, in any case.',
          },
          long_edge_max: {
            type: 'integer',
            minimum: 1,
            description: 'The largest long edge, in pixels, that is still this resolution.',
          },
        },
      },
    },
    pixels_min: {
      type: 'integer',
      minimum: 1,
      description: 'rule ratio: a size of fewer pixels than this gets the shape of otherwise.',
    },
    within_percent: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 10,
      description: 'rule ratio: how far a size may be from a ratio and still be taken for it; 1 when not given.',
    },
    otherwise: {
      type: 'string',
      minLength: 1,
      maxLength: 16,
      description:
        'rule ratio: the shape of sizes that are none of the ratios. rule snap: the resolution when no size is sent; the last one when not given.',
    },
    applies_to: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      default: imageOperations,
      description:
        'The operations in which the rule holds; in others size is sent as it came, and nothing is foretold.',
    },
    send: {
      type: 'object',
      minProperties: 1,
      maxProperties: 8,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 128 },
      default: { size: 'as-sent' },
      description:
        'What the upstream receives instead of size: field names with {resolution} and {ratio}; a field whose value is not known is left out. size: as-sent leaves size alone.',
    },
    pixels: {
      type: 'object',
      maxProperties: 256,
      additionalProperties: {
        type: 'string',
        pattern: '^[1-9]\\d{0,5}x[1-9]\\d{0,5}$',
        description: 'Width and height in pixels, as in 1254x1254.',
      },
      description: 'What comes back, where it is known: by "16:9" (rule ratio) or "2k 16:9" (rule snap).',
    },
  },
} as const satisfies Schema

export type SizeFacet = Admits<typeof facetSchema>
