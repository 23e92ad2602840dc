import type { Admits, Schema } from '../../src/plugin-api/index.ts'

/** No options on the pipeline's line. */
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
    description: 'The value there, or a list of values; any for any value, none for no value.',
  },
} as const satisfies Schema

const place = {
  type: 'object',
  additionalProperties: false,
  properties: {
    at: {
      ...path,
      default: '.',
      description:
        'Path of the items: names with dots between them, lists on the way are gone through; `.` is the whole answer.',
    },
    picture: {
      ...paths,
      description:
        'Path within an item to the picture: base64, a data: URL or a link, distinguished by the first characters; `.` is the item itself. Of several the first with a value.',
    },
    bytes: {
      type: 'boolean',
      const: true,
      description:
        'The answer is the picture itself instead of JSON, recognized by its content-type and its first bytes.',
    },
    size: {
      ...paths,
      description: 'Path within an item of its pixels: `1024x1024`, or two paths, of width and height.',
    },
    skip_if: { ...conditions, description: 'Items that are no picture of the answer, by paths within them.' },
    keep_if: { ...conditions, description: 'Only such items are pictures of the answer.' },
    error: { ...path, description: 'Path within an item of what says that this picture failed.' },
    text: {
      type: 'object',
      maxProperties: 8,
      additionalProperties: path,
      description: 'Members of the item that are handed on, by the name that callers read: revised_prompt.',
    },
  },
} as const satisfies Schema

const places = {
  ...place,
  type: ['object', 'array'],
  minItems: 1,
  maxItems: 8,
  items: place,
  description: 'Where to find pictures in answers; one place or a list of them.',
} as const satisfies Schema

const refusals = {
  type: 'array',
  maxItems: 32,
  description: 'Answers of status 200 that are refusals, where no picture is in them.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['if'],
    properties: {
      if: {
        ...conditions,
        description: 'What such an answer says, by paths; header.NAME is a header of it, http_status its status.',
      },
      message: { ...paths, description: 'Where it says why.' },
      code: { type: 'string', maxLength: 64, default: 'content_refused', description: 'Code of the error.' },
      status: { type: 'integer', minimum: 400, maximum: 599, default: 400, description: 'Status of the error.' },
      charge: {
        type: 'string',
        minLength: 1,
        maxLength: 64,
        description: "A name among the model's prices: such a refusal costs it. Absent: nothing.",
      },
    },
  },
} as const satisfies Schema

const usage = {
  type: 'object',
  maxProperties: 16,
  additionalProperties: path,
  description:
    'Paths of what the answer says was used, by the names that callers read: input_tokens, output_tokens, input_tokens_details.text_tokens.',
} as const satisfies Schema

const told = {
  facts: {
    type: 'object',
    maxProperties: 32,
    additionalProperties: path,
    description:
      'What the answer as a whole says of itself, for prices: a name, and its path; header.NAME is a header. Answers wait in memory until it has been read.',
  },
  count: { ...path, description: 'How many pictures the vendor says that it made.' },
  cost: {
    type: 'object',
    additionalProperties: false,
    required: ['at'],
    description: 'What the vendor says that it charges.',
    properties: {
      at: { ...path, description: 'Its path; job.NAME is something kept of the first answer of a job.' },
      unit: {
        type: 'string',
        pattern: '^\\d{1,9}(\\.\\d{1,12})?$',
        default: '1',
        description: 'How much of the currency one of them is, as a quoted decimal: "0.01".',
      },
    },
  },
  usage,
} as const

const roles = ['partial', 'image', 'failed', 'done', 'error', 'ignore'] as const

const stream = {
  type: 'object',
  additionalProperties: false,
  description: 'How streams of events are read.',
  properties: {
    each: {
      enum: ['answer'],
      description: 'answer: every event is an answer like one that is no stream.',
    },
    type: { ...path, default: 'type', description: 'Where an event says what it is; its event line says it too.' },
    events: {
      type: 'object',
      maxProperties: 64,
      additionalProperties: { enum: roles },
      description:
        'What an event is, by its name: partial (a preview, never charged), image (a picture), failed (one that failed), done (what was used), error (the stream is over), ignore.',
    },
    at: { ...path, description: 'Path of the picture in an event; the event itself when absent.' },
    picture: place.properties.picture,
    size: place.properties.size,
    error: { ...path, description: 'Path of what says why, in events that failed.' },
    index: {
      ...path,
      description: 'Path of what numbers the picture of an event: one that comes again is charged and handed on once.',
    },
  },
} as const satisfies Schema

const anything = {
  type: ['string', 'number', 'boolean', 'object', 'array', 'null'],
  description: 'Any value; texts in it may have placeholders.',
} as const satisfies Schema

const duration = { type: 'string', format: 'duration' } as const satisfies Schema

const step = {
  type: 'object',
  additionalProperties: false,
  properties: {
    method: { enum: ['GET', 'POST'], default: 'GET', description: 'Its method.' },
    path: { ...path, description: 'Its path, with {id}, {model} and the names under keep.' },
    url: {
      ...path,
      description:
        'A whole address instead, as an answer named it: "{poll_url}". Only the upstream\'s own host and hosts.',
    },
    hosts: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', format: 'host-pattern', maxLength: 200 },
      description: 'Hosts that such an address may name: "*.vendor.example".',
    },
    with_credential: {
      type: 'boolean',
      default: false,
      description:
        "Whether the upstream's credential goes to these hosts too; always to the upstream's own, and never unencrypted where its own is encrypted.",
    },
    body: { type: 'object', additionalProperties: anything, description: 'Its body, a template with the same names.' },
    headers: {
      type: 'object',
      propertyNames: { type: 'string', format: 'header-name' },
      additionalProperties: { type: 'string', format: 'header-value' },
      description: 'More headers.',
    },
  },
} as const satisfies Schema

const job = {
  type: 'object',
  additionalProperties: false,
  required: ['id', 'poll', 'state', 'done'],
  description: 'The vendor answers with a job, which the gateway polls until it is done.',
  properties: {
    id: { ...path, description: 'Path of its id in the first answer.' },
    keep: {
      type: 'object',
      maxProperties: 8,
      additionalProperties: path,
      description:
        'More of the first answer that is kept, by names: for templates as {poll_url}, for facts and cost as job.NAME.',
    },
    poll: { ...step, description: 'How to poll it.' },
    result: { ...step, description: 'Where the result is fetched, where it is not in the answer that says done.' },
    state: { ...path, description: 'Path of its state; `http_status` is that of the answer.' },
    running: { ...words, default: [], description: 'States in which it goes on.' },
    done: { ...words, description: 'States in which it has succeeded.' },
    failed: { ...words, default: [], description: 'States in which it has failed.' },
    every: { ...duration, default: '2s', description: 'How often to poll it.' },
    within: { ...duration, default: '10m', description: 'How long it is waited for at most.' },
  },
} as const satisfies Schema

const links = {
  type: 'object',
  additionalProperties: false,
  description: 'What becomes of links in answers.',
  properties: {
    do: {
      enum: ['pass', 'inline', 'as-asked', 'measure'],
      default: 'pass',
      description:
        'pass: forward links. inline: fetch the picture and return base64. as-asked: as response_format says, a link by default. measure: read the pixels from the first 64 KiB and forward the link.',
    },
    hosts: {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', format: 'host-pattern', maxLength: 200 },
      default: [],
      description: 'Hosts to fetch from in addition to the upstream itself: "*.vendor.example".',
    },
    max: { type: 'string', format: 'bytes', default: '40MiB', description: 'The largest that is fetched.' },
  },
} as const satisfies Schema

const shared = {
  body: { enum: ['json', 'form'], default: 'json', description: 'What the vendor takes.' },
  request: {
    type: 'object',
    additionalProperties: anything,
    description:
      "Template of the vendor's body; absent: the body goes on as it is. {name} is a field of the caller; {width}, {height}, {ratio}, {resolution} its size; {image.data_url}, {image.base64}, {image.file} the pictures it sent.",
  },
  rest: {
    ...path,
    description: 'Where forwarded fields go that the template does not name; `.` is the top. Absent: nowhere.',
  },
  values: {
    type: 'object',
    maxProperties: 32,
    description: 'By name of a placeholder: the replacement of each value; otherwise for the others.',
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
    description: 'The vendor makes one at a time: n requests are sent, so many at once, and answered as one.',
  },
  answer: places,
  ...told,
  refused: refusals,
  errors: {
    type: 'object',
    additionalProperties: false,
    description: 'Where answers with an error status say what is wrong, in addition to the usual places.',
    properties: { message: paths, code: paths },
  },
  stream,
  links,
  job,
} as const

/** The section `translate` of a family. What the schema cannot say is checked by `inspect`. */
export const facetSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...shared,
    per_operation: {
      type: 'object',
      maxProperties: 8,
      description: 'Any of these keys for one operation, in place of what is said above.',
      additionalProperties: { type: 'object', additionalProperties: false, properties: withoutDefaults(shared) },
    },
  },
} as const satisfies Schema

/** What is not said for one operation is as it is said for all. */
function withoutDefaults<S extends typeof shared>(of: S): S {
  const { default: _, ...body } = of.body
  return { ...of, body }
}

export type TranslateFacet = Admits<typeof facetSchema>
export type Section = Omit<TranslateFacet, 'per_operation'>
export type PlaceSettings = Exclude<NonNullable<Section['answer']>, readonly unknown[]>
export type StepSettings = NonNullable<NonNullable<Section['job']>['result']>
export type JobSettings = NonNullable<Section['job']>
