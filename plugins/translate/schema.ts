import type { Admits, Schema } from '../../src/plugin-api/index.ts'

/** The plugin has no options in the pipeline. */
export const optionsSchema = { type: 'object', additionalProperties: false, properties: {} } as const satisfies Schema

const path = { type: 'string', minLength: 1, maxLength: 200 } as const satisfies Schema

const paths = {
  type: ['string', 'array'],
  minLength: 1,
  maxLength: 200,
  minItems: 1,
  maxItems: 16,
  items: path,
} as const satisfies Schema

const words = {
  type: ['string', 'number', 'boolean', 'array'],
  maxItems: 64,
  items: { type: ['string', 'number', 'boolean'] },
} as const satisfies Schema

const conditions = {
  type: 'object',
  minProperties: 1,
  maxProperties: 16,
  additionalProperties: {
    ...words,
    description: 'The value at this path, or a list of values; any for any value, none for no value.',
  },
} as const satisfies Schema

const place = {
  type: 'object',
  additionalProperties: false,
  properties: {
    at: {
      ...path,
      default: '.',
      description: 'Path of the items: names separated by dots; lists are searched. `.` is the whole response.',
    },
    picture: {
      ...paths,
      description:
        'Path of the image in an item: base64, a data: URL or a link, recognized by the first characters; `.` is the item itself. Of several, the first with a value is used.',
    },
    bytes: {
      type: 'boolean',
      const: true,
      description: 'The response is the image itself instead of JSON, recognized by its content-type and first bytes.',
    },
    size: {
      ...paths,
      description: 'Path of the size in an item: `1024x1024`, or two paths, to width and height.',
    },
    skip_if: { ...conditions, description: 'Items that are not images of the response, by paths within them.' },
    keep_if: { ...conditions, description: 'Only these items are images of the response.' },
    error: { ...path, description: 'Path in an item of the value that reports a failed image.' },
    text: {
      type: 'object',
      maxProperties: 8,
      additionalProperties: path,
      description: 'Members of the item to return, by the name that clients receive: revised_prompt.',
    },
  },
} as const satisfies Schema

const places = {
  ...place,
  type: ['object', 'array'],
  minItems: 1,
  maxItems: 8,
  items: place,
  description: 'Location of images in responses, or a list of locations.',
} as const satisfies Schema

const refusals = {
  type: 'array',
  maxItems: 32,
  description: 'Responses with status 200 and no image that are refusals.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['if'],
    properties: {
      if: {
        ...conditions,
        description: 'Conditions on such a response, by paths; header.NAME is a header, http_status the status.',
      },
      message: { ...paths, description: 'Path of the reason.' },
      code: { type: 'string', maxLength: 64, default: 'content_refused', description: 'Error code.' },
      status: { type: 'integer', minimum: 400, maximum: 599, default: 400, description: 'HTTP status of the error.' },
      charge: {
        type: 'string',
        minLength: 1,
        maxLength: 64,
        description: "Name of the model's price to charge for such a refusal. Absent: it is free.",
      },
    },
  },
} as const satisfies Schema

const usage = {
  type: 'object',
  maxProperties: 16,
  additionalProperties: path,
  description:
    'Paths of the reported usage, by the names that clients receive: input_tokens, output_tokens, input_tokens_details.text_tokens.',
} as const satisfies Schema

const metadata = {
  facts: {
    type: 'object',
    maxProperties: 32,
    additionalProperties: path,
    description:
      'Facts of the whole response that prices use: a name and its path; header.NAME is a header. Responses are held in memory until they are read.',
  },
  count: { ...path, description: 'Path of the number of images that the vendor reports.' },
  cost: {
    type: 'object',
    additionalProperties: false,
    required: ['at'],
    description: 'The cost that the vendor reports.',
    properties: {
      at: { ...path, description: 'Path of the cost; job.NAME is a value kept from the first response of a job.' },
      unit: {
        type: 'string',
        pattern: '^\\d{1,9}(\\.\\d{1,12})?$',
        default: '1',
        description: 'Value of one unit in the currency, as a quoted decimal: "0.01".',
      },
    },
  },
  usage,
} as const

const roles = ['partial', 'image', 'failed', 'done', 'error', 'ignore'] as const

const stream = {
  type: 'object',
  additionalProperties: false,
  description: 'How event streams are read.',
  properties: {
    each: {
      enum: ['answer'],
      description: 'answer: every event has the format of a response that is not streamed.',
    },
    type: { ...path, default: 'type', description: 'Path of the name of an event, in addition to its event line.' },
    events: {
      type: 'object',
      maxProperties: 64,
      additionalProperties: { enum: roles },
      description:
        'Role of an event, by its name: partial (a preview, never charged), image, failed (a failed image), done (the usage), error (the stream ends), ignore.',
    },
    at: { ...path, description: 'Path of the image in an event; absent: the event itself.' },
    picture: place.properties.picture,
    size: place.properties.size,
    error: { ...path, description: 'Path of the reason in failed events.' },
    index: {
      ...path,
      description: 'Path of the image number in an event. An image that is repeated is charged and forwarded once.',
    },
  },
} as const satisfies Schema

const anything = {
  type: ['string', 'number', 'boolean', 'object', 'array', 'null'],
  description: 'Any value; its strings can contain placeholders.',
} as const satisfies Schema

const duration = { type: 'string', format: 'duration' } as const satisfies Schema

const step = {
  type: 'object',
  additionalProperties: false,
  properties: {
    method: { enum: ['GET', 'POST'], default: 'GET', description: 'HTTP method.' },
    path: { ...path, description: 'Path, with {id}, {model} and the names under keep.' },
    url: {
      ...path,
      description:
        'A complete URL from a response, instead of path: "{poll_url}". Only on the upstream\\\'s own host and on hosts.',
    },
    hosts: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', format: 'host-pattern', maxLength: 200 },
      description: 'Hosts allowed in such a URL: "*.vendor.example".',
    },
    with_credential: {
      type: 'boolean',
      default: false,
      description:
        "Whether to send the upstream's credential to these hosts too. It is always sent to the upstream itself, and never unencrypted if the upstream uses encryption.",
    },
    body: {
      type: 'object',
      additionalProperties: anything,
      description: 'Request body, a template with the same names.',
    },
    headers: {
      type: 'object',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value' },
      description: 'Additional headers.',
    },
  },
} as const satisfies Schema

const job = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'poll', 'state', 'done'],
  description: 'The vendor returns a job, which the gateway polls until it is done.',
  properties: {
    id: { ...path, description: 'Path of the job ID in the first response.' },
    keep: {
      type: 'object',
      maxProperties: 8,
      additionalProperties: path,
      description:
        'Further values to keep from the first response, by name: {poll_url} in templates, job.NAME in facts and cost.',
    },
    poll: { ...step, description: 'How to poll it.' },
    result: { ...step, description: 'How to fetch the result, if the final poll does not contain it.' },
    state: { ...path, description: 'Path of the job state; `http_status` is the status of the response.' },
    running: { ...words, default: [], description: 'States of a running job.' },
    done: { ...words, description: 'States of a successful job.' },
    failed: { ...words, default: [], description: 'States of a failed job.' },
    every: { ...duration, default: '2s', description: 'Polling interval.' },
    within: { ...duration, default: '10m', description: 'Maximum duration of a job.' },
  },
} as const satisfies Schema

const links = {
  type: 'object',
  additionalProperties: false,
  description: 'Handling of links in responses.',
  properties: {
    do: {
      enum: ['pass', 'inline', 'as-asked', 'measure'],
      default: 'pass',
      description:
        'pass: forward links. inline: fetch the image and return base64. as-asked: as response_format requests, a link by default. measure: read the size from the first 64 KiB and forward the link.',
    },
    hosts: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', format: 'host-pattern', maxLength: 200 },
      default: [],
      description: 'Hosts to fetch from in addition to the upstream itself: "*.vendor.example".',
    },
    max: { type: 'string', format: 'bytes', default: '40MiB', description: 'Maximum size to fetch.' },
  },
} as const satisfies Schema

const shared = {
  body: { enum: ['json', 'form'], default: 'json', description: 'Request in the format of the vendor.' },
  request: {
    type: 'object',
    additionalProperties: anything,
    description:
      "Template of the vendor's body; absent: the body is sent unchanged. {name} is a field of the client request; {width}, {height}, {ratio}, {resolution} are its size; {image.data_url}, {image.base64}, {image.file} are its images.",
  },
  rest: {
    ...path,
    description:
      'Path for forwarded fields that the template does not use; `.` is the top level. Absent: they are dropped.',
  },
  values: {
    type: 'object',
    maxProperties: 32,
    description: 'By placeholder: the replacement of each value; otherwise for all other values.',
    additionalProperties: {
      type: 'object',
      minProperties: 1,
      maxProperties: 64,
      additionalProperties: { type: ['string', 'number', 'boolean'] },
    },
  },
  fan_out: {
    type: 'integer',
    minimum: 1,
    maximum: 16,
    description:
      'For vendors that make one image per request: n requests are sent, this many at the same time, and combined into one response.',
  },
  answer: places,
  ...metadata,
  refused: refusals,
  errors: {
    type: 'object',
    additionalProperties: false,
    description: 'Paths of the error details in responses with an error status, in addition to the usual paths.',
    properties: { message: paths, code: paths },
  },
  stream,
  links,
  job,
} as const

/** The section `translate` of a family. `inspect` checks what a schema cannot. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...shared,
    per_operation: {
      type: 'object',
      maxProperties: 8,
      description: 'Any of these keys for one operation; overrides the keys above.',
      additionalProperties: { type: 'object', additionalProperties: false, properties: withoutDefaults(shared) },
    },
  },
} as const satisfies Schema

/** A setting that is missing for one operation has the value for all. */
function withoutDefaults<S extends typeof shared>(of: S): S {
  const { default: _, ...body } = of.body
  return { ...of, body }
}

export type TranslateFacet = Admits<typeof facetSchema>
export type Section = Omit<TranslateFacet, 'per_operation'>
export type PlaceSettings = Exclude<NonNullable<Section['answer']>, readonly unknown[]>
export type StepSettings = NonNullable<NonNullable<Section['job']>['result']>
export type JobSettings = NonNullable<Section['job']>
