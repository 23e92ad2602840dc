import type { Admits, Schema } from '../../src/plugin-api/index.ts'

const fieldPath = {
  type: 'string',
  pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$',
} as const

const answerPaths = {
  type: ['string', 'array'],
  minLength: 1,
  maxLength: 200,
  minItems: 1,
  maxItems: 16,
  items: { type: 'string', minLength: 1, maxLength: 200 },
} as const satisfies Schema

const conditions = {
  type: 'object',
  minProperties: 1,
  maxProperties: 16,
  additionalProperties: {
    type: ['string', 'number', 'boolean', 'array'],
    maxItems: 64,
    items: { type: ['string', 'number', 'boolean'] },
    description: 'The value at this path, or a list of values; any for any value, none for no value.',
  },
} as const satisfies Schema

/** The places of pictures in answers that pass unchanged, as in `translate.answer`. */
const described = {
  type: 'object',
  additionalProperties: false,
  required: ['picture'],
  properties: {
    at: {
      ...answerPaths,
      description:
        'Path of the items, or several: names separated by dots; lists are searched. `.` is the whole response, and the default.',
    },
    picture: {
      ...answerPaths,
      description:
        'Path of the image in an item: base64, a data: URL or a link; `.` is the item itself. If you name several, all of an item are the same image.',
    },
    skip_if: {
      ...conditions,
      description:
        'Items that are not images of the response, by paths within them. They are forwarded and not charged.',
    },
    keep_if: { ...conditions, description: 'Only these items are images of the response.' },
    opaque: {
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members of responses, by name, with binary data that is not an image, such as signatures. A value that starts like an image is withheld nevertheless.',
    },
    refused: {
      type: 'array',
      maxItems: 32,
      description: 'Responses without an image that are free. The charge of any other waits for review.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['if'],
        properties: {
          if: { ...conditions, description: 'Conditions on such a response, by paths from its top level.' },
        },
      },
    },
    stream: {
      type: 'object',
      additionalProperties: false,
      required: ['each'],
      description: 'How streams are read; absent: streams are withheld.',
      properties: {
        each: {
          enum: ['answer'],
          description: 'answer: every event has the format of a response that is not streamed.',
        },
      },
    },
  },
} as const satisfies Schema

/** The plugin has no options in the pipeline. */
export const optionsSchema = {
  type: 'object',
  additionalProperties: false,
} as const satisfies Schema

/** The section `image-tier-billing` of a family. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    tiers: {
      type: 'array',
      minItems: 1,
      maxItems: 32,
      description:
        'Price tiers by the long edge in pixels, or by width × height, in ascending order. The last one has no limit and includes all larger images. Absent: prices do not depend on size.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tier'],
        properties: {
          tier: {
            type: 'string',
            minLength: 1,
            maxLength: 32,
            description: 'Label of the tier; models have a price for it.',
          },
          long_edge_max: { type: 'integer', minimum: 1, description: 'Largest long edge of this tier, in pixels.' },
          pixels_max: {
            type: 'integer',
            minimum: 1,
            description:
              'Largest width × height of this tier, in pixels. A list uses long_edge_max or pixels_max, not both.',
          },
        },
      },
    },
    tier_from: {
      type: 'array',
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      description:
        'Sources of the tier, in this order: told (the size reported in the response), output (the pixels of the returned image), request (the requested size).',
      items: { enum: ['told', 'output', 'request'] },
    },
    otherwise: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description:
        'Tier of an image if tier_from yields none. With price_by it can be the name of a price, which then applies to combinations without a price of their own. Absent: such combinations are refused.',
    },
    largest_output: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description:
        'Largest tier that the model is expected to return. Holds and maximum quotes use it. A larger image is charged in full and flagged larger_than_expected. Absent: any tier.',
    },
    price_by: {
      type: 'array',
      minItems: 1,
      maxItems: 6,
      uniqueItems: true,
      items: fieldPath,
      description:
        'Properties that the price of an image depends on: request fields (dots separate nested members), facts reported in the response (which override the request), or tier. A model has a price for each combination of values, separated by a space, in this order, case-insensitive: "high 2K". Absent: tier.',
    },
    times: {
      type: 'array',
      maxItems: 16,
      description:
        'Factors on the price of an image, each applied if all of its conditions hold. Several are multiplied.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['if', 'by'],
        properties: {
          if: {
            type: 'object',
            minProperties: 1,
            maxProperties: 8,
            additionalProperties: {
              anyOf: [
                { type: ['string', 'number', 'boolean'] },
                {
                  type: 'array',
                  minItems: 1,
                  maxItems: 32,
                  items: { type: ['string', 'number', 'boolean'] },
                },
              ],
            },
            description:
              'Request fields or facts of the response, and the required value of each: a value, a list of values, any (present) or none (absent).',
          },
          by: {
            type: 'string',
            pattern: '^\\d{1,4}(\\.\\d{1,6})?$',
            description:
              'Factor, as a quoted decimal with at most six decimal places: "0.5". The price is rounded once, half up.',
          },
        },
      },
    },
    lines: {
      type: 'array',
      maxItems: 16,
      description:
        "Charge items in addition to images, each at the model's price of that name. Each item is rounded once, half up, to a millionth of the currency.",
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['per'],
        properties: {
          per: {
            enum: ['input_image', 'request', 'megapixel', 'step', 'second', 'token'],
            description: 'Unit: input images, the request, megapixels, steps, seconds, or tokens (priced per million).',
          },
          price: {
            type: 'string',
            minLength: 1,
            maxLength: 64,
            description: "Name of the model's price for it; absent: the unit.",
          },
          once: {
            type: 'boolean',
            description:
              'Whether it is charged once per request, or for every returned image. Default: every image for steps and output megapixels, once for the others.',
          },
          free: {
            type: 'integer',
            minimum: 1,
            maximum: 64,
            description: 'input_image: number of free images.',
          },
          fields: {
            type: 'array',
            minItems: 1,
            maxItems: 8,
            uniqueItems: true,
            items: { type: 'string', minLength: 1, maxLength: 64 },
            description:
              'input_image, megapixel of input: request fields with images; absent: [image, images]. In a form, image[] and image[2] count as image.',
          },
          of: {
            enum: ['output', 'input'],
            description:
              'megapixel: of the returned images (output, the default), or of the images that the client sends.',
          },
          round: {
            enum: ['up', 'none'],
            description: 'megapixel: round fractions up (up), or charge them as they are (none, the default).',
          },
          first: {
            type: 'string',
            minLength: 1,
            maxLength: 64,
            description:
              'megapixel: name of the price for the first megapixel of each image; the others have the price of the item.',
          },
          pixels: {
            type: 'integer',
            minimum: 1000,
            maximum: 100_000_000,
            description: 'megapixel: pixels per megapixel; absent: 1000000.',
          },
          from: {
            ...fieldPath,
            description:
              'step, second, token: source of the quantity: a request field, or a fact reported in the response, which overrides it.',
          },
          otherwise: {
            type: 'number',
            minimum: 0,
            maximum: 100_000_000,
            description: 'Quantity to charge if no source reports one.',
          },
          max: {
            type: 'number',
            exclusiveMinimum: 0,
            maximum: 100_000_000,
            description:
              'Largest quantity to charge and hold. Required if the response reports the quantity. A larger one is flagged capped.',
          },
        },
      },
    },
    render: {
      enum: ['b64_json'],
      description:
        'The upstream always returns b64_json. The gateway then handles response_format: b64_json unchanged, url as a data: URL.',
    },
    on_caller_gone: {
      enum: ['bill', 'free'],
      default: 'bill',
      description: 'If the client disconnects before the response: read it to the end and bill it, or cancel the call.',
    },
    answers: {
      type: 'object',
      additionalProperties: { anyOf: [{ enum: ['data', 'output', 'none'] }, described] },
      description:
        "By operation, the location of images in responses: data (the default of image.generate and image.edit), output (images of tools), or none: nothing is charged per image. Or a mapping, for responses in the vendor's format.",
    },
    texts: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members of responses with vendor text, by name, at any depth. Links within text are not images; a base64 image, or a text of only links, is charged. Common members (revised_prompt, message …) are built in.',
    },
    links: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$' },
      description:
        'Members of responses with links that are not images of the response (self, sources, documentation), by name or by the end of their path, separated by dots. They are forwarded unchanged. Other links that are not images are removed, and the charge is flagged parts_omitted.',
    },
    n_from: {
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$' },
      description:
        'Request fields with the number of images, with dots for nested members; absent: [n]. The hold is for the largest of them, and each is checked against n_max. Other fields that set a number of images (num_images, max_images, batch_size, …) are not forwarded, at any depth. For described responses there is no default field: without an entry here, the hold is for one image.',
    },
    refusals: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Top-level members of a response with status 200 that explain why there is no image (base_resp, detail). A response with such a member and no image is forwarded and free. error is built in.',
    },
    missing_usage: {
      enum: ['estimate', 'review'],
      default: 'review',
      description:
        'If a response reports no quantity for the charge items, and they have no `otherwise`: charge `max` as an estimate, or leave the charge for review.',
    },
    over_return: {
      enum: ['bill', 'cap'],
      default: 'bill',
      description:
        'If more images are returned than requested: bill all of them (bill), or at most n and at most as many as the vendor reports (cap).',
    },
  },
} as const satisfies Schema

export type BillingFacet = Admits<typeof facetSchema>
/** The place of images in answers; `described`: by the family's description. */
export type Shape = 'data' | 'output' | 'none' | 'described'
export type DescribedAnswer = Admits<typeof described>
