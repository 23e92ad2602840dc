import t, { type Test } from 'tap'
import { scanObject } from '../../src/engine/fields.ts'
import { findCuts } from '../../src/wire/index.ts'
import type { Json, JsonObjectView } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

/** Removes members with these names with a plain reader. */
function without(value: Json, names: ReadonlySet<string>): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one: Json) => without(one, names))
  const members = Object.entries(value).filter(([name]) => !names.has(name))
  return Object.fromEntries(members.map(([name, one]) => [name, without(one, names)]))
}

function check(t: Test, view: JsonObjectView, expected: Json, about: string): void {
  const text = view.bytes.toString()
  t.same(JSON.parse(text), expected, about)
  const object = expected as { readonly [name: string]: Json }
  t.same(view.names(), Object.keys(object), `${about}: names`)
  for (const name of view.names()) t.same(view.get(name), object[name], `${about}: ${name}`)
}

t.test('[6.4] members are removed at any depth, and every other byte stays', async t => {
  const rows: [text: string, left: string][] = [
    ['{"a":1}', '{"a":1}'],
    ['{"n":1}', '{}'],
    ['{ "n" : 1 , "a" : 2 }', '{  "a" : 2 }'],
    ['{"a":1,"n":2,"b":3}', '{"a":1,"b":3}'],
    ['{"a":1,"n":2,"m":3}', '{"a":1}'],
    ['{"n":1,"m":2}', '{}'],
    ['{"n":{"a":[1,{"n":2}]},"b":"n"}', '{"b":"n"}'],
    ['{"o":{"n":1,"a":"\\"n\\":"},"l":[{"n":2},{"a":1,"n":"}]"}]}', '{"o":{"a":"\\"n\\":"},"l":[{},{"a":1}]}'],
    ['{"o":{"\\u006e":1}}', '{"o":{}}'],
    ['{"l":["n",1,["n"]],"o":{"a":{"n":null}}}', '{"l":["n",1,["n"]],"o":{"a":{}}}'],
  ]
  for (const [text, left] of rows) {
    const view = scanObject(Buffer.from(text)).prune(name => name === 'n' || name === 'm')
    t.equal(view.bytes.toString(), left, text)
    check(t, view, JSON.parse(left) as Json, text)
    t.equal(view.with(new Map([['z', 1]])).has('z'), true, caseName({ text, left }))
  }
})

t.test('[6.4] a path is names separated by dots, and brackets for an element', async t => {
  const paths: string[] = []
  scanObject(Buffer.from('{"a":{"b":[{"n":1},[{"n":2}]],"n":3},"n":4}')).prune((name, path) => {
    if (name === 'n') paths.push(path())
    return false
  })
  t.same(paths, ['a.b[].n', 'a.b[][].n', 'a.n', 'n'])
})

t.test("[6.4] random objects: the rest equals a plain reader's", async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const some = (depth: number): Json => {
    if (depth === 0 || random() < 0.4)
      return pick<Json>(1, null, '', 'n', '"n":', '\\', 'a\nb', '}', true, -1.5e3, '"\\')
    const count = Math.floor(random() * 4)
    if (random() < 0.4) return Array.from({ length: count }, () => some(depth - 1))
    return Object.fromEntries(
      Array.from({ length: count }, () => [pick('a', 'n', 'max', '\\"', 'b c', 'é'), some(depth - 1)]),
    )
  }
  const names = new Set(['n', 'max'])
  for (let i = 0; i < 3_000; i++) {
    const value = { x: some(5), n: some(2), y: some(3) }
    const text = JSON.stringify(value, null, pick(0, 1, 4))
    const view = scanObject(Buffer.from(text)).prune(name => names.has(name))
    const expected = without(value, names)
    if (JSON.stringify(JSON.parse(view.bytes.toString())) !== JSON.stringify(expected)) t.fail(`round ${i}: ${text}`)
    if (i < 200) check(t, view, expected, `round ${i}`)
  }
})

t.test('[6.4] the cost is linear in the length, whatever the strings contain', async t => {
  const kinds: [string, string][] = [
    ['plain', 'x'.repeat(64)],
    ['escaped quotes', '\\"'.repeat(32)],
    ['one escape in forty', `${'x'.repeat(38)}\\n`],
    ['backslashes', '\\\\'.repeat(32)],
    ['a quote after 300', `${'x'.repeat(300)}\\"`],
  ]
  for (const [name, unit] of kinds) {
    const bodyOf = (bytes: number) => Buffer.from(`{"o":{"a":"${unit.repeat(bytes / unit.length)}","n":1}}`)
    const [small, large] = [bodyOf(500_000), bodyOf(2_000_000)]
    const timeOf = (bytes: Buffer): number => {
      const began = process.hrtime.bigint()
      findCuts(bytes, member => member === 'n')
      return Number(process.hrtime.bigint() - began)
    }
    // The fastest of several runs: other work on the machine only adds time.
    const best = (bytes: Buffer): number => Math.min(...Array.from({ length: 9 }, () => timeOf(bytes)))
    const ratio = best(large) / best(small)
    t.ok(ratio < 12, `${name}: four times the bytes cost ${ratio.toFixed(1)} times as much`)
  }
})
