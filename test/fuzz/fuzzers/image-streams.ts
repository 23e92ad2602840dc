import * as fc from 'fast-check'
import { cuts, type Fuzzer } from '../fuzzer.ts'
import { type ImageCase, imageTrial } from './image-trial.ts'
import { anywhere, blanks, dull, listOf, made, member, objectOf, plain, quoted } from './image-words.ts'

const finals = ['image_generation.completed', 'image_edit.completed']
const previews = ['image_generation.partial_image', 'image_edit.partial_image']
const others = [
  'image_generation.partial_succeeded',
  'image_edit.partial_succeeded',
  'image_generation.partial_failed',
  'message',
  'image_generation.generating',
  'image.completed',
  'IMAGE_GENERATION.COMPLETED',
  'image_generation.completed2',
  'x',
]
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...finals) },
  { weight: 2, arbitrary: fc.constantFrom(...previews) },
  { weight: 2, arbitrary: fc.constantFrom(...others) },
  { weight: 1, arbitrary: fc.constantFrom(...finals, ...previews).map(one => `${one} `) },
)
const oddNames = [
  'b64_json',
  'url',
  'image_url',
  'data',
  'images',
  'result',
  'usage',
  'size',
  'error',
  'x',
  'partial_image_index',
]

const picture = fc.oneof(
  { weight: 6, arbitrary: member(['b64_json'], quoted(made('P', 'P', 'E', 'D'))) },
  { weight: 1, arbitrary: member(['url'], quoted(made('L', 'K', 'D'))) },
  { weight: 1, arbitrary: member(['image_url', 'data', 'image', 'result', 'B64_JSON'], quoted(anywhere)) },
  {
    weight: 1,
    arbitrary: member(
      ['data', 'images', 'x'],
      listOf(objectOf([member(['b64_json', 'url'], quoted(anywhere))], member(oddNames, dull))),
    ),
  },
  {
    weight: 1,
    arbitrary: made('P').map(
      one =>
        `"candidates":[{"content":{"parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"${one}"}}]}}]`,
    ),
  },
)
const index = fc
  .tuple(fc.constantFrom('index', 'image_index'), fc.constantFrom(0, 0, 1, 2))
  .map(([word, at]) => `"${word}":${at}`)
const type = name.map(one => `"type":"${one}"`)
const odd = fc.oneof(member(oddNames, dull), index, member(oddNames, quoted(anywhere)))

const whole = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(type, picture, index).map(([a, b, c]) => [a, b, c]) },
  { weight: 2, arbitrary: fc.tuple(type, picture).map(([a, b]) => [b, a]) },
  { weight: 1, arbitrary: fc.tuple(picture).map(([a]) => [a]) },
  { weight: 1, arbitrary: fc.tuple(type, picture, type).map(parts => [...parts]) },
  { weight: 1, arbitrary: fc.tuple(type, picture, picture, index).map(parts => [...parts]) },
)
const event = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .tuple(whole, fc.array(odd, { maxLength: 1 }), blanks)
      .map(([own, more, blank]) => `{${[...own, ...more].join(`,${blank}`)}}`),
  },
  { weight: 1, arbitrary: listOf(objectOf([picture], odd)).map(list => `{"created":1,"data":${list}}`) },
  { weight: 1, arbitrary: fc.oneof(listOf(objectOf([picture], odd)), quoted(anywhere), plain, dull) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('[DONE]', '{"error":{"message":"no"}}', '{"type":"error","code":"x"}', '{}', ''),
  },
)

const line = fc.constantFrom('data: ', 'data: ', 'data:', 'data:  ', 'data : ', 'Data: ')
const eventLine = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 5, arbitrary: name.map(one => [`event: ${one}`]) },
  { weight: 1, arbitrary: name.map(one => [`event:${one}`, ': keepalive', 'id: 1', 'retry: 10']) },
  { weight: 1, arbitrary: fc.tuple(name, name).map(([a, b]) => [`event: ${a}`, `event: ${b}`]) },
)
const record = fc
  .tuple(eventLine, line, event, fc.constantFrom('one', 'one', 'one', 'lines', 'late'))
  .map(([head, field, data, how]) => {
    const flat = data.replaceAll(/[\r\n]+/g, ' ')
    const lines = how === 'lines' ? flat.split(/(?<=,)/).map(part => field + part) : [field + flat]
    return how === 'late' ? [...lines, ...head] : [...head, ...lines]
  })
const ends = fc.constantFrom('\n', '\n', '\r\n', '\r')
const noise = fc.constantFrom('', '', '', '\ufeff', ': keepalive\n\n', '\n\n', 'retry: 1\n\n')
const stream = fc
  .tuple(
    noise,
    fc.array(record, { minLength: 1, maxLength: 4 }),
    ends,
    fc.constantFrom('both', 'both', 'both', 'one', 'none'),
  )
  .map(([before, records, end, last]) => {
    const text = before + records.map(lines => lines.join(end)).join(end + end)
    return text + (last === 'none' ? '' : last === 'one' ? end : end + end)
  })

const rest = fc.record({
  operation: fc.constantFrom('image.generate' as const, 'image.edit' as const),
  endUnknown: fc.boolean(),
  stop: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(60_000) }),
  cuts,
})
const unknown: fc.Arbitrary<ImageCase> = fc
  .tuple(
    stream,
    rest,
    fc.constantFrom('text/event-stream', 'text/event-stream', 'text/event-stream; charset=utf-8', null, 'text/plain'),
  )
  .map(([body, more, type_]) => ({
    ...more,
    body,
    type: type_,
    encoding: 'utf8',
    stream: true,
    asUrl: false,
    images: null,
  }))

const usage =
  '"usage":{"total_tokens":100,"input_tokens":50,"output_tokens":50,"input_tokens_details":{"text_tokens":10,"image_tokens":40}}'
const facts = '"created_at":1620000000,"size":"1024x1024","quality":"high","background":"opaque","output_format":"png"'
/** Streams as vendors write them: some previews, then each complete picture. */
const known: fc.Arbitrary<ImageCase> = fc
  .tuple(
    fc.array(fc.tuple(plain, fc.array(plain, { maxLength: 2 })), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('image_generation', 'image_edit'),
    fc.constantFrom('\n', '\r\n'),
    fc.record({ named: fc.boolean(), done: fc.boolean(), alive: fc.boolean(), indexed: fc.boolean() }),
    rest,
  )
  .map(([pictures, word, end, how, more]) => {
    const write = (event_: string, text: string): string =>
      `${how.named ? `event: ${event_}${end}` : ''}data: {"type":"${event_}",${text}}${end}${end}${how.alive ? `: keepalive${end}${end}` : ''}`
    const records = pictures.map(([final, partial], at) => {
      const place = how.indexed ? `,"index":${at}` : ''
      const early = partial.map((one, i) =>
        write(`${word}.partial_image`, `"b64_json":"${one}","partial_image_index":${i},${facts}${place}`),
      )
      return `${early.join('')}${write(`${word}.completed`, `"b64_json":"${final}",${facts},${usage}${place}`)}`
    })
    const body = `${records.join('')}${how.done ? `data: [DONE]${end}${end}` : ''}`
    return {
      ...more,
      body,
      type: 'text/event-stream',
      encoding: 'utf8',
      stream: true,
      asUrl: false,
      images: pictures.length,
    }
  })

export const imageStreams: Fuzzer<ImageCase> = {
  name: 'image-streams',
  promise:
    'whatever events an answer has, each whole image that a caller holds has a line, and known streams pass whole',
  cases: fc.oneof({ weight: 4, arbitrary: unknown }, { weight: 1, arbitrary: known }),
  short: 500,
  change: { text: 'body', loosen: one => ({ ...one, images: null }) },
  open: options => Promise.resolve(imageTrial(options)),
}
