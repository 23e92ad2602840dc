import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { scanObject } from '../../../src/engine/fields.ts'
import { Failure, type Json, type JsonObjectView } from '../../../src/domain/index.ts'
import { depthMax, structuralTokensMax } from '../../../src/wire/index.ts'
import { Disagreement, type Fuzzer, insist } from '../fuzzer.ts'
import { readJson, valueOf } from '../readers/read-json.ts'

/** Bytes, one character per byte, and members to set in the result. */
type JsonCase = { readonly bytes: string; readonly change: readonly (readonly [name: string, value: Json | null])[] }

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }).map(text => JSON.stringify(text).slice(1, -1)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '\\"',
      '\\\\',
      '\\/',
      '\\b',
      '\\n',
      '\\u0041',
      '\\uD83D\\uDE00',
      '\\ud800',
      '\\udc00x',
      '\\u0000',
      'é',
      '船',
      '😀',
      '\u007f',
      '\u2028',
      '/',
      "'",
      '{',
      ']',
      ',',
      ':',
      '\\u005c',
      '\\u0022',
      '\\t',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('x', '船', '\\n', '\\\\', '\\u00e9', ' ', '\\"'), fc.integer({ min: 20, max: 400 }))
      .map(([unit, count]) => unit.repeat(count)),
  },
)
const string = fc.array(piece, { maxLength: 6 }).map(parts => `"${parts.join('')}"`)
const name = fc.oneof(
  { weight: 3, arbitrary: string },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '"model"',
      '"prompt"',
      '"n"',
      '"\\u006dodel"',
      '"__proto__"',
      '"toString"',
      '""',
      '"0"',
      '"1"',
    ),
  },
)
const blank = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '  \n    ')
const number = fc.oneof(
  fc.double().map(one => JSON.stringify(one)),
  fc.integer().map(String),
  fc.constantFrom('0', '-0', '1e5', '1E-2', '0.10', '1e999', '-1.5E+3', '12345678901234567890', '0.1e1'),
)
const { value } = fc.letrec<{ value: string; list: string; object: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    string,
    number,
    fc.constantFrom('true', 'false', 'null'),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .array(fc.tuple(blank, tie('value'), blank), { maxLength: 4 })
    .map(list => `[${list.map(parts => parts.join('')).join(',')}]`),
  object: fc.array(fc.tuple(blank, name, blank, blank, tie('value'), blank), { maxLength: 4 }).map(braced),
}))

function braced(members: readonly (readonly [string, string, string, string, string, string])[]): string {
  return `{${members.map(([a, key, b, c, one, d]) => `${a}${key}${b}:${c}${one}${d}`).join(',')}}`
}

const deep = fc
  .tuple(fc.integer({ min: depthMax - 4, max: depthMax + 3 }), fc.constantFrom('[]', '{}'), value)
  .map(([depth, [open = '', close = ''], core]) => {
    const before = open === '[' ? '[' : '{"a":'
    return `{"deep":${before.repeat(depth)}${core}${close.repeat(depth)}}`
  })
const top = fc
  .tuple(blank, fc.array(fc.tuple(blank, name, blank, blank, value, blank), { maxLength: 6 }).map(braced), blank)
  .map(parts => parts.join(''))
const text = fc.oneof(
  { weight: 20, arbitrary: top },
  { weight: 1, arbitrary: value },
  { weight: 1, arbitrary: deep },
  {
    weight: 1,
    arbitrary: fc
      .tuple(top, fc.constantFrom('\u0000', ',', 'x', '{}', '\ufeff', '//'))
      .map(([one, tail]) => one + tail),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('\ufeff', '\u00a0', '\v'), top).map(parts => parts.join('')) },
)
const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\ \n\u0000-.eEtu+09\x7f')), fc.nat(255))
const slip = fc.record({ at: fc.nat(1_000_000), how: fc.constantFrom('drop', 'put', 'set', 'repeat', 'cut'), byte })
const bytes = fc
  .tuple(
    text,
    fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(slip, { maxLength: 3 }) }),
  )
  .map(([one, slips]) => slips.reduce(slipInto, Buffer.from(one)).toString('latin1'))

function slipInto(from: Buffer, { at: far, how, byte: one }: { at: number; how: string; byte: number }): Buffer {
  const at = from.length === 0 ? 0 : far % from.length
  if (how === 'cut') return from.subarray(0, at)
  const put = how === 'repeat' ? from.subarray(at, at + 9) : Buffer.from(how === 'drop' ? [] : [one])
  return Buffer.concat([from.subarray(0, at), put, from.subarray(how === 'drop' || how === 'set' ? at + 1 : at)])
}

const change = fc.uniqueArray(
  fc.tuple(
    fc.constantFrom('model', 'n', 'zz', '', '__proto__x'),
    fc.constantFrom<Json | null>(null, 'a"b', 7, [1], { a: {} }),
  ),
  { maxLength: 2, selector: ([key]) => key },
)

export const json: Fuzzer<JsonCase> = {
  name: 'json',
  promise: 'a body is read as JSON.parse reads it, or refused for what the errors say',
  cases: fc.record({ bytes, change }),
  short: 2_000,
  change: { text: 'bytes' },
  open: ({ planted, meter }) =>
    Promise.resolve({
      try(one) {
        const given = Buffer.from(one.bytes, 'latin1')
        judge(given, one, () => meter.turn(() => (planted ? forgetful(scanObject(given)) : scanObject(given))))
        return given.length
      },
      close: () => Promise.resolve(),
    }),
}

/** The planted fault: escapes in names are not decoded. */
function forgetful(view: JsonObjectView): JsonObjectView {
  return {
    bytes: view.bytes,
    declared: view.declared,
    names: () => view.names().map(one => JSON.stringify(one).slice(1, -1)),
    has: one => view.has(one),
    get: one => view.get(one),
    raw: one => view.raw(one),
    elements: one => view.elements(one),
    with: changes => view.with(changes),
    pick: keep => view.pick(keep),
    prune: drops => view.prune(drops),
  }
}

function judge(given: Buffer, { change: changes }: JsonCase, scan: () => JsonObjectView): void {
  const truth = parse(given)
  const names = truth === undefined ? [] : topNames(given.toString())
  let view: JsonObjectView
  try {
    view = scan()
  } catch (error) {
    return judgeRefusal(error, given, truth, names)
  }
  insist(truth !== undefined, () => 'accepts what JSON.parse refuses, or what is no object')
  insist(new Set(names).size === names.length, () => 'accepts a member that is sent twice')
  compare(view, truth, 'read')
  const changed = Object.fromEntries(changes)
  const wanted = { ...truth, ...changed }
  for (const key of names) insist(view.has(key), () => `does not have ${JSON.stringify(key)}`)
  const after = view.with(new Map(changes.map(([key, one]) => [key, one ?? undefined])))
  for (const [key, one] of changes) if (one === null) delete wanted[key]
  compare(after, wanted, 'with()')
  const kept = (key: string): boolean => key.length % 2 === 0
  compare(view.pick(kept), Object.fromEntries(Object.entries(truth).filter(([key]) => kept(key))), 'pick()')
}

type Truth = { [name: string]: unknown }

/** The object as the platform's own readers parse it; undefined when the bytes are not an object. */
function parse(given: Buffer): Truth | undefined {
  try {
    const whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(given)
    const parsed: unknown = JSON.parse(whole)
    const tree = readJson(whole)
    const found = tree ? valueOf(tree) : parsed
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Truth) : undefined
  } catch {
    return undefined
  }
}

/** The bytes that the view would send have the same meaning as its members. */
function compare(view: JsonObjectView, truth: Truth, how: string): void {
  const sent = parse(view.bytes)
  insist(sent !== undefined, () => `${how} gives bytes that are no object`)
  const keys = Object.keys(truth)
  insist(
    isDeepStrictEqual([...view.names()].toSorted(), keys.toSorted()),
    () => `${how} has the names ${JSON.stringify(view.names())}, not ${JSON.stringify(keys)}`,
  )
  for (const key of keys) {
    const want = JSON.stringify(truth[key])
    insist(JSON.stringify(view.get(key)) === want, () => `${how} has another value for ${JSON.stringify(key)}`)
    insist(JSON.stringify(sent[key]) === want, () => `${how} sends another value for ${JSON.stringify(key)}`)
  }
}

function judgeRefusal(error: unknown, given: Buffer, truth: Truth | undefined, names: readonly string[]): void {
  if (!(error instanceof Failure)) throw error
  if (error.code === 'body_too_complex') {
    const { depth, tokens } = measure(given)
    return insist(
      depth > depthMax || tokens > structuralTokensMax,
      () => `too complex with ${depth} levels, ${tokens} tokens`,
    )
  }
  if (error.code === 'duplicate_field')
    return insist(truth === undefined || new Set(names).size < names.length, () => 'refuses as doubled what is not')
  if (error.code !== 'invalid_json') throw new Disagreement(`refused as ${error.code}`)
  insist(truth === undefined, () => 'refuses what JSON.parse takes')
}

/** Names at the top of a valid object, with repetitions. */
function topNames(given: string): readonly string[] {
  const names: string[] = []
  let depth = 0
  let last = ''
  for (const [token] of given.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/gs)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (token === ':' && depth === 1) names.push(JSON.parse(last) as string)
    else last = token
  }
  return names
}

/** The depth of brackets and the number of structural characters before the first fault, counted generously. */
function measure(given: Buffer): { depth: number; tokens: number } {
  let depth = 0
  let deepest = 0
  let tokens = 0
  for (const [token] of given.toString('latin1').matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs)) {
    if (token.startsWith('"')) continue
    tokens++
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++depth)
    if (token === '}' || token === ']') depth--
  }
  return { depth: deepest, tokens }
}
