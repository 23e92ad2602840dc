import type { OperationName } from './table.ts'

/** A way in which image vendors mislead gateways, and the proof that this gateway handles it. */
export type Trap = {
  readonly number: number
  readonly trap: string
  /** Files and titles of tests. */
  readonly by?: readonly (readonly [file: string, title: string])[]
  /** Rows of the table of recipes. */
  readonly rows?: readonly (readonly [vendor: string, operation: OperationName])[]
  /** Why there is no test. */
  readonly why?: string
}

const here = 'test/vendors/traps.test.ts'
const translate = 'test/http/translate.test.ts'
const prices = 'test/unit/image-prices.test.ts'

export const traps: readonly Trap[] = [
  {
    number: 1,
    trap: 'the same word of an event means opposite things',
    by: [[translate, 'events are what their family says they are, whatever their names say elsewhere']],
    rows: [
      ['OpenAI', 'stream'],
      ['Seedream', 'stream'],
      ['MiniMax H3', 'stream'],
    ],
  },
  {
    number: 2,
    trap: 'previews are pictures too',
    by: [['test/unit/image-tier-billing-scan.test.ts', 'only a completed event is an image; partial ones never are']],
    rows: [
      ['OpenAI', 'stream'],
      ['OpenRouter', 'stream'],
    ],
  },
  {
    number: 3,
    trap: 'one picture arrives in two or three events',
    by: [
      ['test/http/image-tools.test.ts', 'a stream is billed by its finished images; previews and repetitions are free'],
    ],
  },
  {
    number: 4,
    trap: 'previews are no pieces of the final picture, which comes last',
    by: [['test/unit/image-tool-scan.test.ts', 'each event is held whole if there is memory for it']],
    rows: [['OpenAI', 'stream']],
  },
  {
    number: 5,
    trap: 'pictures of thoughts stand among the others',
    by: [[translate, 'pictures of a thought are none']],
    rows: [
      ['Gemini', 'several'],
      ['Gemini', 'stream'],
    ],
  },
  {
    number: 6,
    trap: 'the same picture twice in other bytes',
    by: [[here, 'the same picture twice in different bytes is charged once']],
  },
  {
    number: 7,
    trap: 'words or nothing under status 200',
    by: [[here, 'words instead of a picture are a refusal in those words']],
    rows: [
      ['Gemini', 'refusal'],
      ['Vertex', 'refusal'],
      ['OpenRouter, by chat', 'refusal'],
    ],
  },
  {
    number: 8,
    trap: 'several are several requests, of which one may fail',
    by: [[translate, 'a part that failed takes nothing from those that came']],
    rows: [['Gemini', 'several']],
  },
  {
    number: 9,
    trap: 'an endpoint gives no usage at all',
    by: [[here, 'an answer without created and usage is charged by the image']],
  },
  {
    number: 10,
    trap: "billing by the caller's name of a model fails with aliases",
    rows: [
      ['Vertex', 'generation'],
      ['Seedream', 'generation'],
    ],
  },
  {
    number: 11,
    trap: 'two rates of output in one usage',
    by: [[prices, 'steps, seconds, tokens and requests, by the count of the request or answer']],
  },
  {
    number: 12,
    trap: 'a price does not rise with the pixels',
    by: [[prices, 'a price depends on several fields of the request, in any case']],
    rows: [['OpenAI', 'price']],
  },
  {
    number: 13,
    trap: 'the bound of a tier is an area',
    by: [[prices, 'a tier may end by pixels, inclusive, whatever the shape']],
    rows: [['Seedream Pro', 'price']],
  },
  {
    number: 14,
    trap: 'the size asked is not the size given',
    by: [
      [here, 'the returned pixels decide, whatever was requested'],
      [prices, 'the size that the answer reports may come first, and is stored with the item'],
    ],
  },
  {
    number: 15,
    trap: 'a size left out is dear',
    rows: [['Qwen-Image', 'several']],
  },
  {
    number: 16,
    trap: 'a number left out is dear',
    rows: [['Seedream', 'generation']],
  },
  {
    number: 17,
    trap: 'a quality left out is not the cheapest',
    rows: [['xAI', 'generation']],
  },
  {
    number: 18,
    trap: 'the number asked is a bound at most',
    rows: [
      ['OpenRouter', 'several'],
      ['Seedream', 'several'],
    ],
  },
  {
    number: 19,
    trap: 'a number is capped or refused by the model',
    rows: [
      ['Stability', 'several'],
      ['Bedrock', 'several'],
    ],
  },
  {
    number: 20,
    trap: 'status 200 with an error in the body',
    rows: [
      ['Gemini', 'refusal'],
      ['Qwen-Image', 'refusal'],
      ['xAI', 'refusal'],
      ['Stability', 'refusal'],
      ['Ideogram', 'refusal'],
      ['MiniMax image-01', 'refusal'],
      ['Bedrock', 'refusal'],
    ],
  },
  {
    number: 21,
    trap: 'counters are strings',
    rows: [['MiniMax image-01', 'refusal']],
  },
  {
    number: 22,
    trap: 'an item among the pictures may be an error',
    rows: [
      ['Seedream', 'several'],
      ['Seedream', 'stream'],
    ],
  },
  {
    number: 23,
    trap: 'one key, two types',
    by: [[here, 'one link and a list of links are read the same']],
    rows: [['Replicate', 'several']],
  },
  {
    number: 24,
    trap: 'base64 with and without data:',
    rows: [
      ['OpenRouter, by chat', 'generation'],
      ['Gemini', 'generation'],
      ['MiniMax image-01', 'several'],
    ],
  },
  {
    number: 25,
    trap: 'no type beside base64, and another than was asked',
    by: [
      [
        'test/unit/image-tier-billing.test.ts',
        'a header is accepted without decoding; impossible and non-images are undecodable',
      ],
    ],
    rows: [['Bedrock', 'generation']],
  },
  {
    number: 26,
    trap: 'a page of status 200 where bytes of a picture are expected',
    by: [
      [translate, 'a page of status 200 is no picture, and a head that says no is a refusal'],
      [here, 'a page instead of a picture does not count, and costs nothing'],
    ],
  },
  {
    number: 27,
    trap: 'links end after minutes',
    by: [[translate, 'a link is followed for whoever asks for base64']],
    rows: [['FLUX', 'generation']],
  },
  {
    number: 28,
    trap: 'an address of an answer leads to another host',
    by: [
      [here, 'a job is polled at no other origin, and no credential is sent there'],
      ['test/http/foreign-jobs.test.ts', 'a job at an unnamed host is not polled, with or without a key'],
      [translate, 'a link to a host that nobody has named is not followed'],
    ],
  },
  {
    number: 29,
    trap: 'the sub path of a model belongs to the submit alone',
    rows: [['fal, by its queue', 'edit']],
  },
  {
    number: 30,
    trap: 'done is no success, unknown is final, and a status may be the state',
    by: [
      [here, 'done is not success if the answer reports a failure'],
      [here, 'a forgotten job is over, and free'],
      [here, 'a moderation stop after the work is a refusal'],
    ],
    rows: [['Stability, upscaling', 'job']],
  },
  {
    number: 31,
    trap: 'a request that waits turns into a job',
    rows: [
      ['Replicate', 'generation'],
      ['Replicate', 'job'],
    ],
  },
  {
    number: 32,
    trap: 'charged though the caller has gone',
    by: [[translate, 'who leaves is charged for what was made']],
  },
  {
    number: 33,
    trap: 'a retry repeats the charge',
    by: [
      ['test/http/billing-retries.test.ts', 'an unknown outcome keeps the Idempotency-Key'],
      ['test/http/billing-retries.test.ts', 'no second picture'],
    ],
  },
  {
    number: 34,
    trap: 'the first byte is late, with comments before it',
    by: [['test/http/streams.test.ts', 'a silent stream gets heartbeats, never inside an event']],
    rows: [
      ['OpenRouter', 'stream'],
      ['MiniMax H3', 'stream'],
    ],
  },
  {
    number: 35,
    trap: 'a stream that was asked is refused in JSON',
    by: [[here, 'a JSON refusal of a requested stream is an error, and free']],
  },
  {
    number: 36,
    trap: 'marks in pictures are on when nothing is said',
    why: 'The recipes say `watermark: false` or `LogoAdd: 0` in a line of their own: whether that is allowed is for the operator to know.',
  },
  {
    number: 37,
    trap: 'seeds are ignored, changed or refused',
    why: 'Nothing is kept by seed: an answer is told again only for the same Idempotency-Key and the same body.',
  },
  {
    number: 38,
    trap: 'words for sizes: 1024*1024, 16x9, 1k and 1K',
    rows: [
      ['Qwen-Image', 'generation'],
      ['Ideogram', 'generation'],
      ['Gemini', 'price'],
      ['xAI', 'price'],
      ['Hunyuan', 'generation'],
    ],
  },
  {
    number: 39,
    trap: 'pictures that are sent cost',
    by: [[prices, 'input pictures are charged, except free ones']],
    rows: [
      ['xAI', 'edit'],
      ['FLUX', 'edit'],
    ],
  },
  {
    number: 40,
    trap: 'one file is several pictures, or none that has pixels',
    by: [
      [here, 'each layer of a picture is a picture, at half the price'],
      ['test/unit/image-tier-billing.test.ts', "['SVG', Buffer.from("],
    ],
  },
  {
    number: 41,
    trap: 'names of models end',
    by: [
      [
        'test/http/model-ends.test.ts',
        'check reports the end of a model 60 days in advance and also afterwards; no request is refused',
      ],
    ],
  },
  {
    number: 42,
    trap: 'price lists disagree',
    by: [['test/house/house.test.ts', 'no code contains a price']],
  },
  {
    number: 43,
    trap: 'an answer in parts of a form, or a list at its top',
    by: [[here, 'a list at the top of an answer is undescribed, and not delivered']],
  },
  {
    number: 44,
    trap: 'ids of endpoints hide the family',
    by: [[here, 'an id that names no family is charged by its model entry']],
    rows: [['Azure OpenAI', 'generation']],
  },
]
