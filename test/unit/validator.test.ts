import * as fc from 'fast-check'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import { builtins } from '../../plugins/index.ts'
import { createFileValidator } from '../../src/config/file-validator.ts'
import { composeSchema, coreSchema, optionsSchema } from '../../src/config/gateway-schema.ts'
import { Report } from '../../src/config/report.ts'
import { Source } from '../../src/config/source.ts'
import { compile, compiledAhead, createValidator, digestOf, type SchemaError } from '../../src/config/validator.ts'
import { seed } from '../harness/seed.ts'

const odd = [0, -1, 1.5, 1e9, '', 'x', 'off', '30s', '🎈🎈', true, null, [], {}, ['x', 'x'], [1, 1], { x: 1 }]

type Mapping = { [key: string]: unknown }
type Change = { readonly at: number; readonly to: unknown; readonly how: 'set' | 'delete' | 'add' | 'repeat' }
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(100_000),
  to: fc.constantFrom<unknown>(...odd),
  how: fc.constantFrom('set', 'delete', 'add', 'repeat'),
})

/** Changes one member of a value. */
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

t.test('the build compiles every built-in schema', async t => {
  const ahead = compiledAhead()
  t.type(ahead[digestOf(coreSchema)], 'function', 'the core')
  for (const plugin of builtins)
    for (const schema of [optionsSchema(plugin), plugin.facet])
      if (schema) t.type(ahead[digestOf(schema)], 'function', plugin.name)
})

t.test('validation by parts of a schema equals validation by the complete schema', async t => {
  const plugins = new Map(builtins.map(plugin => [plugin.name, plugin]))
  const steps = builtins.map((plugin, i) => ({ name: plugin.name, path: ['pipeline', i], plugin }))
  const report = new Report(new Source('gateway.yaml', ''))
  const { validate } = createFileValidator({ steps, plugins, unopened: [] }, report)
  const whole = compile(composeSchema(plugins))
  const shipped = parse(await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8'), { merge: true })
  const inOrder = (errors: readonly Omit<SchemaError, 'schema' | 'key'>[]): readonly string[] =>
    errors
      .map(({ path, keyword, params, schemaPath }) =>
        JSON.stringify([path, keyword, params, decodeURIComponent(schemaPath)]),
      )
      .toSorted()
  const unchanged = inOrder(validate(structuredClone(shipped)))
  let unfit = 0
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), changes => {
      const inParts = structuredClone(shipped) as Mapping
      for (const one of changes) apply(inParts, structuredClone(one))
      const atOnce = structuredClone(inParts)
      const errors = inOrder(validate(inParts))
      whole(atOnce)
      const expected = (whole.errors ?? []).map(error => ({
        ...error,
        path: error.instancePath
          .split('/')
          .slice(1)
          .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~')),
      }))
      if (errors.join() !== unchanged.join()) unfit++
      t.same(errors, inOrder(expected), 'the errors')
      t.same(inParts, atOnce, 'the value with its defaults')
    }),
    { numRuns: 200, seed },
  )
  t.ok(unfit > 100, `most changes cause other errors (${unfit} of 200)`)
})

t.test('an error in a recursive schema names its schema', async t => {
  const node = { type: 'object', properties: { kind: { enum: ['leaf'] }, next: { $ref: '#/definitions/node' } } }
  const whole = { type: 'object', properties: { tree: { $ref: '#/definitions/node' } }, definitions: { node } }
  t.match(createValidator(whole)({ tree: { next: { kind: 'tree' } } }), [
    { path: ['tree', 'next', 'kind'], keyword: 'enum', schema: { enum: ['leaf'] } },
  ])
})

t.test('a repeated pipeline step is validated once', async t => {
  const plugin = builtins.find(({ name }) => name === 'ratelimit') as (typeof builtins)[number]
  const steps = [0, 1].map(i => ({ name: plugin.name, path: ['pipeline', i], plugin }))
  const report = new Report(new Source('gateway.yaml', ''))
  const { validate } = createFileValidator({ steps, plugins: new Map([[plugin.name, plugin]]), unopened: [] }, report)
  const errors = validate({ pipeline: [{ ratelimit: { nothing: 1 } }] }).filter(({ path }) => path.length > 1)
  t.match(errors, [{ path: ['pipeline', '0', 'ratelimit'], params: { additionalProperty: 'nothing' } }])
  t.equal(errors.length, 1)
})
