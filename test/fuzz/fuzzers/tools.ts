import * as fc from 'fast-check'
import { cuts, type Fuzzer } from '../fuzzer.ts'
import { type ImageCase, imageTrial } from './image-trial.ts'
import { blanks, dull, listOf, made, member, objectOf, plain, quoted } from './image-words.ts'

const result = fc.oneof(
  { weight: 7, arbitrary: member(['result'], quoted(made('P', 'P', 'P', 'E', 'D'))) },
  { weight: 1, arbitrary: member(['result'], listOf(quoted(made('P', 'L')), 2)) },
  {
    weight: 1,
    arbitrary: member(['result'], objectOf([member(['b64_json', 'url'], quoted(made('P', 'L')))], member(['x'], dull))),
  },
  { weight: 1, arbitrary: member(['image', 'b64_json', 'Result', 'partial_image_b64'], quoted(made('P'))) },
)
const id = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('"id":"ig_1"', '"id":"ig_1"', '"id":"ig_2"', '"id":""', '"id":null', '"id":7'),
  },
  { weight: 2, arbitrary: fc.constant('"status":"completed"') },
)
const type = fc.oneof(
  { weight: 7, arbitrary: fc.constant('"type":"image_generation_call"') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"type":"image_generation_call "', '"type":"image_gen"', '"type":"message"', '"x":1'),
  },
  { weight: 1, arbitrary: fc.constant('"type":"\\u0069mage_generation_call"') },
)
const odd = member(
  ['status', 'size', 'quality', 'output_format', 'revised_prompt', 'action', 'background', 'error', 'type'],
  dull,
)
const call = fc
  .tuple(type, id, result, fc.array(odd, { maxLength: 2 }), fc.nat(5), blanks)
  .map(([kind, word, one, more, turn, blank]) => {
    const all = [kind, word, one, ...more]
    const at = turn % all.length
    return `{${[...all.slice(at), ...all.slice(0, at)].join(`,${blank}`)}}`
  })
const message = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constant(
      '{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a \\"boat\\" https://other.example/x","annotations":[]}]}',
    ),
  },
  { weight: 2, arbitrary: fc.constant('{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"}') },
  {
    weight: 1,
    arbitrary: made('P', 'D', 'L').map(
      one => `{"type":"message","content":[{"type":"output_image","image_url":"${one}"}]}`,
    ),
  },
)
const item = fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: message })
const usage =
  '"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0},"output_tokens":20,"total_tokens":30}'
const responseOf = (output: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(output, fc.array(member(['output', 'tools', 'x', 'error', 'text'], dull), { maxLength: 1 }), fc.boolean())
    .map(([list, more, first]) => {
      const facts = [
        '"id":"resp_1","object":"response","status":"completed","instructions":"see https://other.example/y"',
        usage,
      ]
      const all = first ? [...facts, `"output":${list}`, ...more] : [...more, `"output":${list}`, ...facts]
      return `{${all.join(',')}}`
    })
const answer = fc.oneof(
  { weight: 6, arbitrary: responseOf(listOf(item, 4)) },
  { weight: 1, arbitrary: responseOf(item) },
  { weight: 1, arbitrary: listOf(item) },
)

const events = [
  'response.output_item.added',
  'response.output_item.done',
  'response.output_item.done',
  'response.completed',
  'response.image_generation_call.completed',
  'response.incomplete',
  'response.in_progress',
  'x',
  'response.output_item.done ',
]
const preview = plain.map(
  one => `"item_id":"ig_1","output_index":0,"partial_image_index":0,"partial_image_b64":"${one}"`,
)
const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...events), item)
      .map(([name, one]) => [name, `"output_index":0,"item":${one}`] as const),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom(...events), answer).map(([name, one]) => [name, `"response":${one}`] as const),
  },
  { weight: 1, arbitrary: preview.map(one => ['response.image_generation_call.partial_image', one] as const) },
  { weight: 1, arbitrary: result.map(one => ['response.image_generation_call.completed', one] as const) },
  { weight: 1, arbitrary: fc.constant(['response.output_text.delta', '"delta":"a \\"boat\\""'] as const) },
)
const record = fc
  .tuple(event, fc.constantFrom('both', 'both', 'event', 'type', 'none'), fc.constantFrom('\n', '\r\n'))
  .map(([[name, text], how, end]) => {
    const data = `{${how === 'both' || how === 'type' ? `"type":"${name}",` : ''}${text}}`.replaceAll(/[\r\n]+/g, ' ')
    return `${how === 'both' || how === 'event' ? `event: ${name}${end}` : ''}data: ${data}${end}${end}`
  })
const stream = fc
  .tuple(fc.array(record, { minLength: 1, maxLength: 5 }), fc.constantFrom('', '', 'data: [DONE]\n\n'))
  .map(([records, last]) => records.join('') + last)

const rest = fc.record({
  endUnknown: fc.boolean(),
  stop: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(60_000) }),
  cuts,
})
const common = { operation: 'responses', encoding: 'utf8', asUrl: false } as const

/** The vendor's output: calls with distinct ids, each as an item and again in the complete response. */
const known = fc
  .tuple(fc.array(plain, { minLength: 1, maxLength: 3 }), fc.boolean(), rest)
  .map(([pictures, isStream, more]): ImageCase => {
    const calls = pictures.map(
      (one, i) =>
        `{"id":"ig_${i}","type":"image_generation_call","status":"completed","output_format":"png","result":"${one}"}`,
    )
    const response = `{"id":"resp_1","object":"response","status":"completed","output":[${calls.join(',')}],${usage}}`
    const write = (name: string, text: string): string => `event: ${name}\ndata: {"type":"${name}",${text}}\n\n`
    const streamed = [
      ...pictures.map(one =>
        write('response.image_generation_call.partial_image', `"item_id":"ig_0","partial_image_b64":"${one}"`),
      ),
      ...calls.map((one, i) => write('response.output_item.done', `"output_index":${i},"item":${one}`)),
      write('response.completed', `"response":${response}`),
    ]
    const body = isStream ? streamed.join('') : response
    const type = isStream ? 'text/event-stream' : 'application/json'
    return { ...common, ...more, body, type, stream: isStream, images: pictures.length }
  })

export const tools: Fuzzer<ImageCase> = {
  name: 'tools',
  promise: 'whatever tools have made, each whole image that a caller holds has a line, and known responses pass whole',
  cases: fc.oneof(
    {
      weight: 2,
      arbitrary: fc
        .tuple(answer, rest)
        .map(([body, more]) => ({ ...common, ...more, body, type: 'application/json', stream: false, images: null })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(stream, rest)
        .map(([body, more]) => ({ ...common, ...more, body, type: 'text/event-stream', stream: true, images: null })),
    },
    { weight: 1, arbitrary: known },
  ),
  short: 500,
  change: { text: 'body', loosen: one => ({ ...one, images: null }) },
  open: options => Promise.resolve(imageTrial(options)),
}
