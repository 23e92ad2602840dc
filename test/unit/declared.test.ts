import t from 'tap'
import { scanObject } from '../../src/engine/fields.ts'
import { caseName } from '../harness/case-name.ts'
import { clientBodies, imageTools, vendorTools } from '../cases/client-tools.ts'

const declaredIn = (text: string) => scanObject(Buffer.from(text)).declared

t.test('a tool that makes images is found in any spelling and at any depth', t => {
  for (const text of imageTools)
    t.ok(
      declaredIn(text).tools.some(({ draws }) => draws),
      caseName({ text }),
    )
  t.end()
})

t.test('client-side tools and their output declare no image and name no model', t => {
  for (const bodies of Object.values(clientBodies))
    for (const body of bodies) {
      const { tools, models } = declaredIn(JSON.stringify(body))
      t.same(models, [], caseName({ body }))
      t.notOk(
        tools.some(({ draws }) => draws),
        caseName({ body }),
      )
    }
  t.end()
})

t.test('a tool that the upstream runs is found with its name and path', t => {
  for (const [body, name, place] of vendorTools)
    t.match(declaredIn(JSON.stringify(body)).tools, [{ name, place }], caseName({ body }))
  t.end()
})

t.test('models are found wherever a request names them, and not in schemas, arguments and results', t => {
  const rows: readonly (readonly [body: object, place: string, runs?: string])[] = [
    [{ models: ['m'] }, 'models[0]'],
    [{ Model: 'm' }, 'Model'],
    [{ fallbacks: ['m'] }, 'fallbacks[0]', 'instead'],
    [{ fallbacks: [{ model: 'm' }] }, 'fallbacks[0].model'],
    [{ fallbackModel: 'm' }, 'fallbackModel', 'instead'],
    [{ plugins: [{ id: 'fusion', analysis_models: ['m'] }] }, 'plugins[0].analysis_models[0]'],
    [{ plugins: [{ id: 'x', config: { judgeModel: 'm' } }] }, 'plugins[0].config.judgeModel'],
    [{ tools: [{ type: 'advisor_1', model: 'm' }] }, 'tools[0].model'],
    [{ tools: [{ type: 'function', name: 'f', model: 'm' }] }, 'tools[0].model'],
    [{ tools: [{ parameters: { model: 'm' }, type: 'x' }] }, 'tools[0].parameters.model'],
    [
      { tools: [{ type: 'x', parameters: { a: { analysis_models: ['m'] } } }] },
      'tools[0].parameters.a.analysis_models[0]',
    ],
    [
      { tools: [{ type: 'x', parameters: { tools: [{ type: 'y', parameters: { model: 'm' } }] } }] },
      'tools[0].parameters.tools[0].parameters.model',
    ],
    [{ requests: [{ model: 'm' }] }, 'requests[0].model'],
    [
      { generationConfig: { routingConfig: { manualMode: { modelName: 'm' } } } },
      'generationConfig.routingConfig.manualMode.modelName',
    ],
    [{ input: [{ tools: [{ type: 'x', model: 'm' }] }] }, 'input[0].tools[0].model'],
  ]
  for (const [body, place, runs = 'beside'] of rows)
    t.match(declaredIn(JSON.stringify(body)).models, [{ name: 'm', place, runs }], caseName({ body }))
  t.match(declaredIn('{"tools":[{"type":"x","mod\\u0065l":"m"}]}').models, [{ name: 'm', place: 'tools[0].model' }])
  t.match(declaredIn('{"a":{"model":"m","model":"n"}}').models, [{ name: 'm' }, { name: 'n' }], 'of two both')
  t.same(declaredIn('{"model":"m"}').models, [], 'the request itself is for this one')
  t.end()
})

t.test('a tool with two types is reported as such, but not in the schema of a function', t => {
  t.match(declaredIn('{"tools":[{"type":"a","type":"a"}]}').tools[0], { isDoubled: true, place: 'tools[0].type' })
  const schema = '{"tools":[{"type":"function","parameters":{"tools":{"type":"a","type":"b"}}}]}'
  t.same(declaredIn(schema).tools, [])
  t.end()
})

t.test('an excessive number of tools is refused, even in a readable body', t => {
  const many = `{"tools":[${Array.from({ length: 5000 }, () => '{"type":"x"}').join(',')}]}`
  t.throws(() => declaredIn(many), { code: 'body_too_complex' })
  const functions = `{"tools":[${Array.from({ length: 5000 }, () => '{"type":"function","name":"f"}').join(',')}]}`
  t.same(declaredIn(functions).tools, [])
  t.end()
})

t.test('changed or dropped fields declare nothing', t => {
  const json = scanObject(Buffer.from('{"tools":[{"type":"x","model":"m"}],"plugins":[{"id":"web"}]}'))
  t.equal(json.declared.tools.length, 2)
  t.match(json.pick(name => name === 'plugins').declared, { tools: [{ name: 'web' }], models: [] })
  t.match(json.with(new Map([['plugins', undefined]])).declared, { tools: [{ name: 'x' }], models: [{ name: 'm' }] })
  t.end()
})
