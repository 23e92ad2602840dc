import t from 'tap'
import { parseJson } from '../../src/wire/index.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { imageToolOf } from '../../src/plugin-api/index.ts'

const asksForImages = (text: string): boolean =>
  imageToolOf({ kind: 'json', json: scanObject(Buffer.from(text)) }) !== undefined

t.test('an escaped name is its decoded text, whatever was read before it [6.2]', async t => {
  for (const [before, name] of [
    ['typ\\\\', 'typ\\u0065'],
    ['\\\\u00', '\\u0074ype'],
    ['ty\\\\u', 'ty\\u0070e'],
  ] as const) {
    asksForImages(`{"tools":[{"x":1,"${before}":0}]}`)
    t.equal(asksForImages(`{"tools":[{"x":1,"${name}":"image_generation"}]}`), true, name)
  }
})

t.test('with escaped names the rest is read like JSON.parse', async t => {
  const rows: [text: string, value: unknown][] = [
    ['{"\\n":1}', { '\n': 1 }],
    [' { "a" : [ ] , "\\u0062" : { } } ', { a: [], b: {} }],
    ['[{"\\"":-1.5e3},"a\\\\",null,[true,[false]],"\\\\\\""]', [{ '"': -1500 }, 'a\\', null, [true, [false]], '\\"']],
    ['{"\\u0061":1,"a":2}', { a: 2 }],
    ['"\\\\"', '\\'],
    ['{"a":"\\"b\\":"}', { a: '"b":' }],
  ]
  for (const [text, value] of rows) t.same(parseJson(text), value, text)
  const own = parseJson('{"__proto__":{"\\t":1}}') as object
  t.equal(Object.getPrototypeOf(own), Object.prototype, 'a name is never a prototype')
  t.same(Object.keys(own), ['__proto__'])
})

t.test('a text with escaped names may have any depth', async t => {
  const depth = 100_000
  const value = parseJson(`{"\\u0061":${'['.repeat(depth)}${']'.repeat(depth)}}`) as { a: unknown }
  let levels = 0
  for (let inner: unknown = value.a; Array.isArray(inner); inner = inner[0]) levels++
  t.equal(levels, depth)
})
