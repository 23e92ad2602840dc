import { type Admits, imageOperations, type Schema } from '../../src/plugin-api/index.ts'

/** The plugin has no options in the pipeline. */
export const optionsSchema = { type: 'object', additionalProperties: false, properties: {} } as const satisfies Schema

/** The section `size-normalize` of a family. `inspect` checks what a schema cannot. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['rule', 'ratios'],
  properties: {
    rule: {
      enum: ['ratio', 'snap'],
      description:
        'ratio: the upstream uses only the aspect ratio of a size; the size is forwarded unchanged, and the table gives the resulting size. snap: a size becomes the nearest resolution and ratio of the upstream.',
    },
    ratios: {
      type: 'array',
      minItems: 1,
      maxItems: 64,
      items: { type: 'string', maxLength: 16 },
      description: 'Aspect ratios of the upstream, as "width:height". If two are equally near, the first is used.',
    },
    resolutions: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      description:
        'rule snap: the resolutions in ascending order. The last one has no long_edge_max and includes all larger sizes.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['label'],
        properties: {
          label: {
            type: 'string',
            minLength: 1,
            maxLength: 16,
            description: 'Name of the resolution; clients can send it as size, case-insensitive.',
          },
          long_edge_max: {
            type: 'integer',
            minimum: 1,
            description: 'Largest long edge of this resolution, in pixels.',
          },
        },
      },
    },
    pixels_min: {
      type: 'integer',
      minimum: 1,
      description: 'rule ratio: sizes with fewer pixels than this get the ratio of otherwise.',
    },
    within_percent: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 10,
      description: 'rule ratio: how far a size may be from a ratio to match it; 1 if absent.',
    },
    otherwise: {
      type: 'string',
      minLength: 1,
      maxLength: 16,
      description:
        'rule ratio: the ratio for sizes that match none. rule snap: the resolution if no size is sent; absent: the last one.',
    },
    applies_to: {
      type: 'array',
      minItems: 1,
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      default: imageOperations,
      description:
        'Operations to which the rule applies. In others, size is forwarded unchanged and the resulting size is not predicted.',
    },
    send: {
      type: 'object',
      minProperties: 1,
      maxProperties: 8,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 128 },
      default: { size: 'as-sent' },
      description:
        'Fields to send instead of size, with {resolution} and {ratio}. A field without a known value is omitted. size: as-sent forwards size unchanged.',
    },
    pixels: {
      type: 'object',
      maxProperties: 256,
      additionalProperties: {
        type: 'string',
        pattern: '^[1-9]\\d{0,5}x[1-9]\\d{0,5}$',
        description: 'Width and height in pixels, as in 1254x1254.',
      },
      description: 'Resulting sizes, if known: by "16:9" (rule ratio) or "2k 16:9" (rule snap).',
    },
  },
} as const satisfies Schema

export type SizeFacet = Admits<typeof facetSchema>
