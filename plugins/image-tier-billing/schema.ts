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
    description: 'The value there, or a list of values; any for any value, none for no value.',
  },
} as const satisfies Schema

/** Where pictures are in answers that pass unchanged, as in `translate.answer`. */
const described = {
  type: 'object',
  additionalProperties: false,
  required: ['picture'],
  properties: {
    at: {
      ...answerPaths,
      description:
        'Path of the items, or several: names with dots between them, lists on the way are gone through; `.`, where nothing is said, is the whole answer.',
    },
    picture: {
      ...answerPaths,
      description:
        'Path within an item of its picture, which is base64, a data: URL or a link; `.` is the item itself. Where several are named, all that one item has are the same picture.',
    },
    skip_if: {
      ...conditions,
      description: 'Items that are no picture of the answer, by paths within them: they pass, and are not charged.',
    },
    keep_if: { ...conditions, description: 'Only such items are pictures of the answer.' },
    opaque: {
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members of answers, by name, that hold bytes of the vendor which are no picture, however many: signatures. One that begins as a picture does is not handed out all the same.',
    },
    refused: {
      type: 'array',
      maxItems: 32,
      description:
        'Answers without a picture that are free. Any other is for a person to see: its charge waits for review.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['if'],
        properties: { if: { ...conditions, description: 'What such an answer says, by paths from its top.' } },
      },
    },
    stream: {
      type: 'object',
      additionalProperties: false,
      required: ['each'],
      description: 'How streams are read; without it an answer that is one is not handed out.',
      properties: {
        each: { enum: ['answer'], description: 'answer: every event is an answer like one that is no stream.' },
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
        'Price tiers by the long edge in pixels, or by width × height, rising; the last one has no bound and takes the rest. Absent where prices do not go by size.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tier'],
        properties: {
          tier: { type: 'string', minLength: 1, maxLength: 32, description: 'Its label; models give a price for it.' },
          long_edge_max: { type: 'integer', minimum: 1, description: 'The largest long edge that is still this tier.' },
          pixels_max: {
            type: 'integer',
            minimum: 1,
            description:
              'The most pixels, width × height, that are still this tier. A list has long_edge_max or pixels_max, not both.',
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
        'What decides the tier, in this order: told (the size that the answer reports), output (the pixels that came back), request (the requested size).',
      items: { enum: ['told', 'output', 'request'] },
    },
    otherwise: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description:
        'The tier of an image for which nothing in tier_from gives one. With price_by it may be the name of a price instead: what a combination costs that has no price of its own, which is refused otherwise.',
    },
    largest_output: {
      type: 'string',
      minLength: 1,
      maxLength: 32,
      description:
        'The largest tier that is expected to come back: what is held, and quoted as the most, is for this one. A larger image is charged in full and flagged larger_than_expected. Absent: any tier may come back.',
    },
    price_by: {
      type: 'array',
      minItems: 1,
      maxItems: 6,
      uniqueItems: true,
      items: fieldPath,
      description:
        'What sets the price of an image: fields of the request (dots between the names of members), facts that the answer reports (which override the request), or tier. A model has a price for each combination: the values with a blank between them, in this order, in any case: "high 2K". Absent: tier.',
    },
    times: {
      type: 'array',
      maxItems: 16,
      description: 'Factors of the price of an image: where all conditions hold. Several are multiplied.',
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
              'Fields of the request or facts of the answer, and what each has to be: a value, one of a list, any (it is there) or none (it is not).',
          },
          by: {
            type: 'string',
            pattern: '^\\d{1,4}(\\.\\d{1,6})?$',
            description: 'The factor, as a decimal of at most six places: "0.5". The price is rounded once, half up.',
          },
        },
      },
    },
    lines: {
      type: 'array',
      maxItems: 16,
      description:
        "What is charged in addition to images, each by the model's price of that name; all add up. A line is rounded once, half up, to a millionth of the currency.",
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['per'],
        properties: {
          per: {
            enum: ['input_image', 'request', 'megapixel', 'step', 'second', 'token'],
            description:
              'What is counted: pictures that the caller sends, the request, megapixels, steps, seconds, or tokens (whose price is for a million).',
          },
          price: {
            type: 'string',
            minLength: 1,
            maxLength: 64,
            description: "The name of its price among the model's; what it counts, where nothing is said.",
          },
          once: {
            type: 'boolean',
            description:
              'Whether it is charged once for the request, or with every image that comes back. Steps and megapixels of the output are charged with every image where nothing is said, the others once.',
          },
          free: {
            type: 'integer',
            minimum: 1,
            maximum: 64,
            description: 'input_image: so many cost nothing.',
          },
          fields: {
            type: 'array',
            minItems: 1,
            maxItems: 8,
            uniqueItems: true,
            items: { type: 'string', minLength: 1, maxLength: 64 },
            description:
              'input_image, megapixel of input: where requests have pictures; [image, images] where nothing is said. In a form image[] and image[2] are image.',
          },
          of: {
            enum: ['output', 'input'],
            description:
              'megapixel: of the images that come back (output, the default), or of those that the caller sends.',
          },
          round: {
            enum: ['up', 'none'],
            description: 'megapixel: parts count as a whole one (up), or as they are (none, the default).',
          },
          first: {
            type: 'string',
            minLength: 1,
            maxLength: 64,
            description:
              'megapixel: the name of the price of the first one of each picture; the others have the price of the line.',
          },
          pixels: {
            type: 'integer',
            minimum: 1000,
            maximum: 100_000_000,
            description: 'megapixel: how many pixels are one; 1000000 where nothing is said.',
          },
          from: {
            ...fieldPath,
            description:
              'step, second, token: the source of the quantity: a field of the request, or a fact that the answer reports, which overrides it.',
          },
          otherwise: {
            type: 'number',
            minimum: 0,
            maximum: 100_000_000,
            description: 'How many are charged where nothing says it.',
          },
          max: {
            type: 'number',
            exclusiveMinimum: 0,
            maximum: 100_000_000,
            description:
              'The most that one line is charged, and what is held for it: needed where the answer says how many. What is beyond is flagged capped.',
          },
        },
      },
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
      additionalProperties: { anyOf: [{ enum: ['data', 'output', 'none'] }, described] },
      description:
        "By operation, where images are in its answers: data (the default of image.generate and image.edit), output (images of tools), or none: nothing is charged per image. Or a mapping, for answers in the vendor's own format.",
    },
    texts: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members of answers with text of the vendor, by name, at any depth: links among words are no images; a picture in base64, or a text of nothing but links, is charged. Common members (revised_prompt, message …) need not be named.',
    },
    links: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$' },
      description:
        'Members of answers whose links lead to no image of the answer (self, sources, documentation), by name, or by the end of their path with dots between the names: they go out as they are. A link that is not named, and is that of no image, is left out, and the charge is flagged parts_omitted.',
    },
    n_from: {
      type: 'array',
      maxItems: 16,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[^.[\\]\\s]{1,64}(\\.[^.[\\]\\s]{1,64}){0,7}$' },
      description:
        'Where requests say how many images they want: fields, or members within them with dots between the names; [n] when not given. What is held is for the most that any of them says, and each is checked against n_max. Every other field that names a number of images (num_images, max_images, batch_size, …) is not sent on, at whatever depth. Answers that are described have no such field unless it is named here: one image is held for.',
    },
    refusals: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 64 },
      description:
        'Members at the top of an answer of status 200 by which the vendor says why it made no image (base_resp, detail): one with such a member and without an image passes, and is free. error need not be named.',
    },
    missing_usage: {
      enum: ['estimate', 'review'],
      default: 'review',
      description:
        'When an answer reports none of the quantities that lines are charged by, and they have no `otherwise`: charge the most (`max`) as an estimate, or leave the charge to a person.',
    },
    over_return: {
      enum: ['bill', 'cap'],
      default: 'bill',
      description:
        'When more images come back than requested: bill each (bill), or at most n, and at most as many as the answer says that the vendor counts (cap).',
    },
  },
} as const satisfies Schema

export type BillingFacet = Admits<typeof facetSchema>
/** Where answers have their images; `described`: as the family describes it. */
export type Shape = 'data' | 'output' | 'none' | 'described'
export type DescribedAnswer = Admits<typeof described>
