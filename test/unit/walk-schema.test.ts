import * as fc from 'fast-check'
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { builtins } from '../../plugins/index.ts'
import { compileSchema } from '../../src/config/compile-schema.ts'
import { composeSchema, type SchemaData } from '../../src/config/gateway-schema.ts'
import { isWalkable } from '../../src/config/is-walkable.ts'
import { walkSchema } from '../../src/config/walk-schema.ts'

/** What each of both makes of a value: its errors in their order, and the value with defaults. */
function both(schema: SchemaData, value: unknown) {
  const walked = structuredClone(value)
  const compiled = structuredClone(value)
  return {
    walked: { errors: walkSchema(schema, walked), value: walked },
    compiled: { errors: compileSchema(schema).validate(compiled), value: compiled },
  }
}

const odd = [0, -1, 1.5, 1e9, '', 'x', 'off', '30s', '🎈🎈', true, null, [], {}, ['x', 'x'], [1, 1], { x: 1 }]
const oddValue = fc.constantFrom<unknown>(...odd)

type Change = { readonly at: number; readonly to: unknown; readonly how: 'set' | 'delete' | 'add' | 'repeat' }
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(100_000),
  to: oddValue,
  how: fc.constantFrom('set', 'delete', 'add', 'repeat'),
})

type Mapping = { [key: string]: unknown }

/** Changes one place of a value. */
function apply(value: Mapping, { at, to, how }: Change): void {
  const places: [holder: Mapping, key: string][] = []
  const visit = (holder: Mapping): void => {
    for (const [key, inner] of Object.entries(holder)) {
      places.push([holder, key])
      if (typeof inner === 'object' && inner !== null) visit(inner as Mapping)
    }
  }
  visit(value)
  const [holder, key] = places[at % places.length] ?? [value, 'x']
  if (how === 'delete') delete holder[key]
  else if (how === 'set') holder[key] = to
  else if (how === 'add') holder[Array.isArray(holder) ? String(holder.length) : 'ad/d~ed'] = to
  else if (Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]))
}

const schema = composeSchema(new Map(builtins.map(plugin => [plugin.name, plugin])))

t.test('the schemas of all that comes with the gateway need no compiler', async t => {
  t.ok(isWalkable(schema))
  for (const plugin of builtins) t.ok(isWalkable(composeSchema(new Map([['step', plugin]]))), plugin.name)
})

t.test(
  'a walked schema tells what a compiled one does of the shipped configuration, however it is changed',
  async t => {
    const shipped = parse(await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8'), { merge: true })
    const compiled = compileSchema(schema)
    t.same(walkSchema(schema, structuredClone(shipped)), compiled.validate(structuredClone(shipped)), 'as it is')
    let unfit = 0
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), changes => {
        const walked = structuredClone(shipped) as Mapping
        for (const one of changes) apply(walked, structuredClone(one))
        const other = structuredClone(walked)
        const errors = walkSchema(schema, walked)
        if (errors.length > 0) unfit++
        return isDeepStrictEqual({ errors, walked }, { errors: compiled.validate(other), walked: other })
      }),
      { numRuns: 400, seed: 13 },
    )
    t.ok(unfit > 200, `most changes are told of (${unfit} of 400)`)
  },
)

const bound = fc.nat(3)
const scalarSchema: fc.Arbitrary<SchemaData> = fc.oneof(
  fc.record({ type: fc.constantFrom('integer', 'number'), minimum: bound, maximum: bound }, { requiredKeys: ['type'] }),
  fc.record({ exclusiveMinimum: bound, exclusiveMaximum: bound }, { requiredKeys: [] }),
  fc.record(
    { type: fc.constant('string'), minLength: bound, maxLength: bound, pattern: fc.constant('^.$') },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant(['string', 'integer']), format: fc.constantFrom('duration', 'duration-or-off') }),
  fc.record({ enum: fc.constant(['x', 1, null]), type: fc.constant('string') }, { requiredKeys: ['enum'] }),
  fc.record({ const: fc.constantFrom<unknown>('x', 0, true), default: oddValue }, { requiredKeys: ['const'] }),
  fc.record({ type: fc.constantFrom('boolean', 'null', 'object', 'array') }),
)

const { anySchema } = fc.letrec<{ anySchema: SchemaData }>(tie => ({
  anySchema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalarSchema,
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('x', 'a/b~ c', 'y'), tie('anySchema')),
        additionalProperties: fc.oneof(fc.constant(false), tie('anySchema')),
        required: fc.constant(['x', 'z']),
        propertyNames: fc.constant({ minLength: 2 }),
        minProperties: bound,
        maxProperties: bound,
      },
      { requiredKeys: ['properties'] },
    ),
    fc.record(
      { type: fc.constant('array'), items: tie('anySchema'), minItems: bound, maxItems: bound },
      { requiredKeys: ['items'] },
    ),
    fc.record(
      { items: fc.array(tie('anySchema')), additionalItems: fc.oneof(fc.constant(false), tie('anySchema')) },
      { requiredKeys: ['items'] },
    ),
    fc.record({ items: scalarSchema, uniqueItems: fc.boolean() }),
    fc.record({ anyOf: fc.array(tie('anySchema'), { minLength: 1, maxLength: 3 }) }),
  ),
}))

const anyValue = fc.letrec<{ any: unknown }>(tie => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    oddValue,
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('x', 'a/b~ c', 'y', 'q'), tie('any')),
  ),
})).any

t.test('of schemas that are walked no value is judged in another way than by a compiler', async t => {
  let tried = 0
  fc.assert(
    fc.property(anySchema, anyValue, (one, value) => {
      if (!isWalkable(one)) return true
      tried++
      const { walked, compiled } = both(one, value)
      return isDeepStrictEqual(walked, compiled)
    }),
    { numRuns: 600, seed: 13 },
  )
  t.ok(tried > 300, `schemas that are walked: ${tried} of 600`)
})

t.test('what a walk does not know, or would have to refuse, is left to the compiler', async t => {
  for (const [name, unknown] of Object.entries({
    'an unknown keyword': { properties: { x: { kind: 'string' } } },
    'no type': { type: 'strin' },
    'a keyword not known here': { properties: { x: { oneOf: [{ type: 'string' }] } } },
    'a reference': { definitions: { x: {} }, properties: { x: { $ref: '#/definitions/x' } } },
    'no pattern': { properties: { x: { pattern: '(' } } },
    'an unknown format': { properties: { x: { format: 'colour' } } },
    'a default that none would fill in': { anyOf: [{ properties: { x: { default: 1 } } }] },
    'a default of all': { default: {} },
    'mappings that may not repeat': { items: { type: 'object' }, uniqueItems: true },
    'what is no schema': 'string',
  }))
    t.notOk(isWalkable(unknown), name)
})
