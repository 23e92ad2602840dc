import * as fc from 'fast-check'
import { cuts, type Fuzzer } from '../fuzzer.ts'
import type { Encoding } from '../readers/render.ts'
import { type ImageCase, imageTrial } from './image-trial.ts'
import { anywhere, blanks, coded, dull, listOf, made, member, objectOf, plain, quoted } from './image-words.ts'
import { knownAnswers } from './known-answers.ts'

const pictureNames = [
  'b64_json',
  'url',
  'image_url',
  'image',
  'b64_image',
  'bytesBase64Encoded',
  'data',
  'inlineData',
  'inline_data',
  'result',
  'base64',
  'image_base64',
  'uri',
  'sample',
  'B64_JSON',
  'b64_json ',
  'x',
  '',
  '__proto__',
  'src',
]
const holderNames = [
  'data',
  'images',
  'image',
  'output',
  'predictions',
  'artifacts',
  'result',
  'results',
  'candidates',
  'Data',
  'data ',
  'generated_images',
  'image_urls',
  'content',
  'parts',
  'choices',
  'message',
  'Response',
  'x',
  'error',
  'usage',
]
const oddNames = [...holderNames, ...pictureNames, 'created', 'error', 'usage', 'revised_prompt', 'model', 'status']

const { value } = fc.letrec<{ value: string; list: string; object: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: quoted(anywhere) },
    { weight: 2, arbitrary: dull },
    { weight: 1, arbitrary: tie('list') },
    { weight: 3, arbitrary: tie('object') },
  ),
  list: listOf(tie('value')),
  object: objectOf([], member([...pictureNames, ...holderNames], tie('value')), 3),
}))

const odd = fc.oneof(
  { weight: 3, arbitrary: member(oddNames, dull) },
  { weight: 1, arbitrary: member(oddNames, value) },
)
const element = fc.oneof(
  { weight: 5, arbitrary: objectOf([member(['b64_json', 'url'], quoted(anywhere))], odd) },
  { weight: 2, arbitrary: objectOf([member(pictureNames, quoted(anywhere))], odd) },
  {
    weight: 1,
    arbitrary: objectOf([member(['b64_json'], quoted(plain)), member(['b64_json', 'url'], quoted(anywhere))], odd),
  },
  {
    weight: 1,
    arbitrary: objectOf([member(holderNames, objectOf([member(pictureNames, quoted(anywhere))], odd))], odd),
  },
  { weight: 1, arbitrary: quoted(anywhere) },
  { weight: 1, arbitrary: value },
)
const error = member(['error'], fc.constantFrom('null', '{}', '""', '{"message":"no","code":"x"}', '"no"'))
const holder = fc.oneof(
  { weight: 4, arbitrary: member(['data'], listOf(element)) },
  { weight: 3, arbitrary: member(holderNames, listOf(element)) },
  { weight: 2, arbitrary: member(holderNames, element) },
  { weight: 1, arbitrary: member(['data'], fc.constant('[]')) },
  { weight: 1, arbitrary: error },
)
const document = fc.oneof(
  { weight: 8, arbitrary: objectOf([holder], fc.oneof(odd, holder), 3) },
  { weight: 1, arbitrary: listOf(element) },
  { weight: 1, arbitrary: element },
)

const pages = fc.oneof(
  coded,
  made('R'),
  made('D', 'L').map(src => `<!doctype html><img alt='a "boat"' src="${src}">`),
  made('D', 'L').map(src => `Here it is: ![a boat](${src})\n`),
  fc
    .tuple(made('R'), fc.constantFrom('', '\r\n'))
    .map(([raw, end]) => `--x\r\nContent-Type: image/png\r\n\r\n${raw}\r\n--x--${end}`),
)
const several = fc
  .tuple(fc.array(document, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '\n', '\r\n', ',', '\u001e', '\0'))
  .map(([documents, between]) => documents.join(between))

const body = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(blanks, document, blanks).map(parts => parts.join('')) },
  { weight: 2, arbitrary: several },
  { weight: 1, arbitrary: pages },
  { weight: 1, arbitrary: document.map(one => `data: ${one.replaceAll(/[\r\n]/g, ' ')}\n\n`) },
)

const types = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/json') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      null,
      '',
      'application/json; charset=utf-16',
      'text/plain',
      'text/html; charset=utf-8',
      'image/png',
      'application/x-ndjson',
      'application/vnd.x+json',
      'text/event-stream',
      'application/octet-stream',
      'TEXT/PLAIN;',
    ),
  },
)
const encodings = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Encoding>('utf8') },
  { weight: 1, arbitrary: fc.constantFrom<Encoding>('utf8-bom', 'utf16le', 'utf16le-bom', 'utf16be') },
)
const stop = fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(60_000) })
const operation = fc.constantFrom('image.generate' as const, 'image.edit' as const)

const unknown: fc.Arbitrary<ImageCase> = fc
  .record({
    operation,
    body,
    encoding: encodings,
    type: types,
    stream: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    asUrl: fc.boolean(),
    endUnknown: fc.boolean(),
    stop,
    cuts,
    images: fc.constant(null),
  })
  // A request for both links and a stream is refused before any upstream call.
  .map(one => ({ ...one, asUrl: one.asUrl && !one.stream }))
const known: fc.Arbitrary<ImageCase> = fc
  .tuple(knownAnswers, operation, fc.boolean(), fc.boolean(), stop, cuts)
  .map(([{ body: text, images: count }, operation, asUrl, endUnknown, end, lengths]) => ({
    operation: operation,
    body: text,
    encoding: 'utf8',
    type: 'application/json',
    stream: false,
    asUrl,
    endUnknown,
    stop: end,
    cuts: lengths,
    images: count,
  }))

export const images: Fuzzer<ImageCase> = {
  name: 'images',
  promise:
    'whatever a JSON answer looks like, each whole image that a caller holds has a line, and known answers pass whole',
  cases: fc.oneof({ weight: 3, arbitrary: unknown }, { weight: 1, arbitrary: known }),
  short: 600,
  change: { text: 'body', loosen: one => ({ ...one, images: null }) },
  open: options => Promise.resolve(imageTrial(options)),
}
