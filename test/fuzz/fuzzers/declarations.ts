import * as fc from 'fast-check'
import { scanObjectInTurns } from '../../../src/engine/fields.ts'
import { checkTools } from '../../../src/engine/check-tools.ts'
import { Failure, type JsonObjectView, type Model } from '../../../src/domain/index.ts'
import { imageToolOf } from '../../../src/plugin-api/index.ts'
import { clientBodies } from '../../cases/client-tools.ts'
import { Disagreement, type Fuzzer } from '../fuzzer.ts'

/**
 * A request that asks for an image by a tool in a form that some upstream may accept, and requests in which every
 * mention of images and models is the client's own. The generator sets `asks`, independently of the gateway's readers.
 */
type DeclarationCase = { readonly text: string; readonly asks: boolean }

const sized = (word: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
    .map(flags => word.replaceAll(/./g, (one, i: number) => (flags[i] ? one.toUpperCase() : one)))
const escaped = (word: string): string =>
  word.replaceAll(/./g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
const invisible = fc.constantFrom(
  '',
  '',
  '',
  ' ',
  '\\u0000',
  '\\n',
  '\\t',
  '\\u200b',
  '\\ufeff',
  '\u00a0',
  '\u200d',
  '\\r',
)
/** A spelling of a word that a lenient reader may accept. */
const loosely = (word: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(word) },
    { weight: 2, arbitrary: sized(word) },
    { weight: 1, arbitrary: fc.constant(escaped(word)) },
    { weight: 2, arbitrary: fc.tuple(invisible, sized(word), invisible).map(parts => parts.join('')) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.nat(word.length), invisible)
        .map(([at, mark]) => `${word.slice(0, at)}${mark}${word.slice(at)}`),
    },
  )
const blank = fc.constantFrom('', '', '', ' ', '\n')
const kinds = [
  'image_generation',
  'openrouter:image_generation',
  'image_gen',
  'imageGeneration',
  'generate_image',
  'image-generation',
]
const kind = fc.constantFrom(...kinds).chain(loosely)
const key = (name: string): fc.Arbitrary<string> =>
  fc.tuple(loosely(name), blank).map(([text, mark]) => `"${text}"${mark}:`)
const noise = fc.constantFrom(
  '"name":"draw"',
  '"description":"an image"',
  '"parameters":{"size":"1024x1024"}',
  '"parameters":{"a":[1,{"b":null}]}',
  '"quality":"high"',
  '"n":1',
  '"x":[]',
  '"strict":true',
)
const around = (member: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(noise, { maxLength: 2 }), member, fc.array(noise, { maxLength: 2 }))
    .map(([before, one, behind]) => `{${[...before, one, ...behind].join(',')}}`)
const typed = fc.tuple(key('type'), kind).map(([name, one]) => `${name}"${one}"`)
const plainTool = fc.constantFrom(
  '{"type":"function","function":{"name":"image_generation","parameters":{"tools":[{"type":"image_generation"}]}}}',
  '{"name":"image_generation","input_schema":{"properties":{"tools":{"type":"image_generation"}}}}',
  '{"functionDeclarations":[{"name":"x","parameters":{"properties":{"type":{"type":"image_generation"}}}}]}',
)
const { tools: toolList } = fc.letrec<{ tool: string; tools: string }>(tie => ({
  tool: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    around(typed),
    fc.constantFrom('{"image_generation":{}}', '{"imageGeneration":{"n":1}}', '"image_generation"'),
    around(fc.tuple(typed, fc.constantFrom('"type":"function"', '"Type":"custom"')).map(list => list.join(','))),
    around(fc.tuple(fc.constantFrom('"type":"function"'), typed).map(list => list.join(','))),
    // A server's tool that runs others, with its own name before or after them.
    fc
      .tuple(fc.constantFrom('"type":"vendor:agent"', '"type":"namespace"'), key('tools'), tie('tools'), fc.boolean())
      .map(([own, name, list, first]) => (first ? `{${own},${name}${list}}` : `{${name}${list},${own}}`)),
    fc
      .tuple(key('tools'), tie('tools'), fc.boolean())
      .map(([name, list, first]) =>
        first
          ? `{"type":"vendor:agent","parameters":{${name}${list}}}`
          : `{"parameters":{"deep":[{${name}${list}}]},"name":"x","type":"vendor:agent"}`,
      ),
  ),
  tools: fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.array(plainTool, { maxLength: 2 }), tie('tool'), fc.array(plainTool, { maxLength: 2 }))
        .map(([before, one, behind]) => `[${[...before, one, ...behind].join(',')}]`),
    },
    { weight: 1, arbitrary: tie('tool').filter(one => one.startsWith('{')) },
    { weight: 1, arbitrary: tie('tool').map(one => `[[${one}]]`) },
  ),
}))
const choice = around(typed)
const chosen = fc.oneof(
  choice,
  toolList.map(list => `{"type":"allowed_tools","mode":"auto","tools":${list}}`),
  toolList.map(list => `{"type":"allowed_tools","allowed_tools":{"tools":${list}}}`),
)
const declaration = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(key('tools'), toolList).map(parts => parts.join('')) },
  { weight: 2, arbitrary: fc.tuple(key('tool_choice'), chosen).map(parts => parts.join('')) },
)
const place = fc.oneof(
  { weight: 3, arbitrary: declaration },
  { weight: 1, arbitrary: declaration.map(one => `"input":[{"type":"message"},{"type":"tool_search_output",${one}}]`) },
  { weight: 1, arbitrary: declaration.map(one => `"messages":[{"role":"user","content":[{"type":"x",${one}}]}]`) },
  { weight: 1, arbitrary: declaration.map(one => `"extra_body":{"a":{${one}}}`) },
  // If a member occurs twice, either may count.
  { weight: 1, arbitrary: declaration.map(one => `"a":{"tools":[],${one},"tool_choice":"auto"}`) },
)
const asking = place.map((one): DeclarationCase => ({ text: `{"model":"m",${one}}`, asks: true }))
const harmless = fc
  .constantFrom(...Object.values(clientBodies).flat())
  .map((body): DeclarationCase => ({ text: JSON.stringify({ model: 'm', ...body }), asks: false }))

const family = (vendorTools?: readonly string[]) =>
  ({
    name: 'm',
    family: { name: 'f', ...(vendorTools && { vendorTools }) },
  }) as unknown as Model
/** A family without tools, and one that allows a vendor's agent. */
const old = family()
const listing = family([
  'vendor:agent',
  'web_search',
  'web_search_*',
  'tool_search',
  'tool_search_tool_*',
  'googleSearch',
  'urlContext',
])

function isRefused(model: Model, json: JsonObjectView): boolean {
  const body = { kind: 'json', json } as const
  try {
    checkTools(model, body, undefined)
  } catch (error) {
    if (error instanceof Failure && error.status === 400) return true
    throw error
  }
  return imageToolOf(body) !== undefined
}

export const declarations: Fuzzer<DeclarationCase> = {
  name: 'declarations',
  promise: 'no tool that makes images is let through, wherever and however it is declared, and what clients run passes',
  cases: fc.oneof({ weight: 5, arbitrary: asking }, { weight: 1, arbitrary: harmless }),
  short: 2_000,
  open: ({ planted, meter }) =>
    Promise.resolve({
      async try({ text, asks }) {
        const bytes = Buffer.from(text)
        const json = await meter.turn(() => scanObjectInTurns(bytes, slice => slice()))
        // The planted fault: only top-level tools are checked, by their type exactly as written.
        const seen: JsonObjectView = planted
          ? { ...json, declared: { models: [], objects: [], tools: json.declared.tools.filter(isPlain) } }
          : json
        for (const model of [old, listing])
          if (isRefused(model, seen) !== asks)
            throw new Disagreement(asks ? 'a tool that makes images is let through' : 'what a client runs is refused')
        return bytes.length
      },
      close: () => Promise.resolve(),
    }),
}

function isPlain({ name, place: where }: { readonly name: string; readonly place: string }): boolean {
  return name === 'image_generation' && where === 'tools[0].type'
}
