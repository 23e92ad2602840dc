import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { builtins, signers } from '../../plugins/index.ts'
import { describeChanges, gatewaySchema, loadPlan } from '../../src/config/index.ts'
import type { OperationsByName, CompiledConfig, Route, Upstream } from '../../src/domain/index.ts'
import type { AnyPlugin } from '../../src/plugin-api/index.ts'
import { operationTraits } from '../../src/operations/index.ts'
import { readFileSync } from 'node:fs'
import { resolveSample, sampleText } from './config-sample.ts'
import { caseName } from '../harness/case-name.ts'

const key = 'k-1234567890'

async function planOf(
  text: string,
  env: { readonly [name: string]: string | undefined } = {},
  file = 'gateway.yaml',
): Promise<CompiledConfig> {
  const loaded = await loadPlan({ file, text, env: { ONE_KEY: key, ...env }, resolvePlugin: resolveSample })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings, null, 2))
  return loaded.plan
}

t.test('requests run between the steps of reading a configuration', async t => {
  await planOf(sampleText)
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  await planOf(sampleText)
  clearImmediate(next)
  t.ok(turns >= 7, `${turns} turns of other work`)
})

t.test('the compiled config has what the file says', async t => {
  const plan = await planOf(sampleText)
  const origin = (line: number, col: number) => ({ file: 'gateway.yaml', line, col })

  t.same(
    [...plan.groups.values()],
    [
      { name: 'default', limits: { rpm: 60 }, limitScope: 'key', multiplier: '1' },
      { name: 'partner', limits: { rpm: 600, tpm: 1000 }, limitScope: 'user', multiplier: '0.9' },
    ],
  )
  const { keys, outcomes, probePath, ...one } = plan.upstreams.get('one') as Upstream
  t.match(keys, [{ name: 'credential', isOnly: true, weight: 1 }], 'its only credential is a key as one of several')
  t.ok(outcomes && outcomes.length > 0)
  t.equal(probePath, '/v1/models')
  t.same(one, {
    name: 'one',
    url: 'simulator:one',
    credential: [{ kind: 'header', header: 'authorization', value: `Bearer ${key}` }],
    query: {},
    headers: {},
    timeouts: { connectMs: 5_000, firstByteMs: 600_000, idleMs: 120_000, totalMs: 900_000, afterLeaveMs: 120_000 },
    answerBytesMax: 268_435_456,
    reuse: undefined,
    cooldown: { failures: 3, forMs: 10_000 },
  })
  t.same(plan.pipeline, [
    { plugin: 'auth', options: { tries: 20 }, origin: origin(5, 12) },
    { plugin: 'ratelimit', options: {}, origin: origin(5, 18) },
    { plugin: 'tiers', options: {}, origin: origin(5, 29) },
  ])
  const family = plan.families.get('pictures')
  t.same(family?.streams, new Set(['image.generate']))
  t.equal(family?.nMax, 128)
  t.same(family?.forward.get('image.generate'), { kind: 'only', names: new Set(['model', 'prompt']) })
  t.same(family?.forward.get('image.edit'), { kind: 'all', except: new Set(['response_format']) })
  t.match(family?.facets.get('tiers'), { otherwise: '4K', on_caller_gone: 'bill' })
  const model = plan.models.get('alpha-image')
  t.equal(model?.family, family)
  t.same(model?.upstreams, [{ upstream: plan.upstreams.get('one'), weight: 1, priority: 1, sendAs: 'alpha-image' }])
  t.match(model, {
    free: false,
    enabled: true,
    limits: { rpm: 300, scope: 'gateway' },
    origin: origin(12, 3),
  })
  t.same(
    [...(model?.prices ?? [])],
    [
      ['1K', { micros: 20_000, origin: origin(12, 65) }],
      ['4K', { micros: 80_000, origin: origin(12, 77) }],
    ],
  )
  t.same(plan.routes, [
    route('POST', '/v1/images', 'image.generate', { body: 'json' }, origin(14, 5)),
    route('POST', '/v1/edits', 'image.edit', { body: 'form', bodyBytesMax: 8_388_608, reuse: false }, origin(15, 5)),
    route('GET', '/v1/models/{id}', 'models.get', { body: 'none', serve: 'model' }, origin(16, 5)),
  ])
})

function route(method: string, path: string, operation: string, more: object, origin: object) {
  const own = {
    upstreamPath: path,
    stream: 'field',
    bodyBytesMax: 33_554_432,
    reuse: undefined,
    serve: undefined,
    ...more,
  }
  return { method, path, operation, dialect: 'openai', origin, ...own }
}

t.test('settings that a file omits have the documented default', async t => {
  const plan = await planOf(sampleText.replace(/^groups.*$/m, ''))
  t.same(plan.server, {
    listen: { host: '127.0.0.1', port: 8080 },
    ops: undefined,
    bodyBytesMax: 33_554_432,
    logLevel: 'info',
    memoryBytesMax: 201_326_592,
    spoolBytesMax: 4_294_967_296,
    workers: 1,
    drainMs: 30_000,
    drainWaitMs: 0,
    heartbeatMs: 15_000,
    agentsAccepting102: [],
    corsOrigins: [],
    console: true,
  })
  t.equal(plan.currency, 'USD')
  t.equal(plan.storage, 'sqlite:./data/tollgate.db')
  t.equal(plan.counters, 'memory:')
  t.same([...plan.groups.keys()], ['default'])
})

t.test('a compiled config cannot be changed', async t => {
  const plan = await planOf(sampleText)
  t.ok(Object.isFrozen(plan))
  t.ok(Object.isFrozen(plan.server.listen))
  t.ok(Object.isFrozen(plan.routes))
  t.ok(Object.isFrozen(plan.models.get('alpha-image')?.prices.get('1K')))
  const tiers = plan.families.get('pictures')?.facets.get('tiers') as { readonly rows: readonly object[] }
  t.ok(Object.isFrozen(tiers.rows[0]))
})

t.test('server.body_max is the limit of every route without its own', async t => {
  const plan = await planOf(`${sampleText}server: { listen: "[::1]:0", ops: off, body_max: 64KiB }\n`)
  t.same(plan.server.listen, { host: '::1', port: 0 })
  t.equal(plan.server.ops, undefined)
  t.same(
    plan.routes.map(route => route.bodyBytesMax),
    [65_536, 8_388_608, 65_536],
  )
})

t.test('a model may be free, hidden, renamed', async t => {
  const text = sampleText.replace('prices: { 1K: "0.02", 4K: "0.08" }', 'price: free, enabled: false, send_as: a-2')
  const plan = await planOf(text)
  t.match(plan.models.get('alpha-image'), {
    free: true,
    enabled: false,
    upstreams: [{ sendAs: 'a-2' }],
    prices: new Map(),
  })
})

t.test(
  'a model may run on several upstreams, each with its weight, its priority and its own name for the model',
  async t => {
    const candidates = '[{ upstream: one, weight: 2.5 }, { upstream: two, priority: 2, send_as: x }]'
    const text = sampleText
      .replace('upstreams:', 'upstreams:\n  two: { url: simulator:two, cooldown: { failures: 1, for: 1m } }')
      .replace('upstream: one', `upstreams: ${candidates}, send_as: a-2`)
    const plan = await planOf(text)
    const two = plan.upstreams.get('two')
    t.same(two?.cooldown, { failures: 1, forMs: 60_000 })
    t.same(plan.models.get('alpha-image')?.upstreams, [
      { upstream: plan.upstreams.get('one'), weight: 2.5, priority: 1, sendAs: 'a-2' },
      { upstream: two, weight: 1, priority: 2, sendAs: 'x' },
    ])
    t.same(describeChanges(await planOf(sampleText), plan), [
      'models.alpha-image.upstreams: one → one weight 2.5 as a-2, two priority 2 as x',
      'upstreams.two.url: absent → simulator:two',
      'upstreams.two.timeouts.connect: absent → 5s',
      'upstreams.two.timeouts.first_byte: absent → 10m',
      'upstreams.two.timeouts.idle: absent → 2m',
      'upstreams.two.timeouts.total: absent → 15m',
      'upstreams.two.timeouts.after_leave: absent → 2m',
      'upstreams.two.answer_max: absent → 256MiB',
      'upstreams.two.cooldown.failures: absent → 1',
      'upstreams.two.cooldown.for: absent → 1m',
    ])
  },
)

t.test('every spelling of a route is its own route that calls upstreams at the first', async t => {
  const google = [
    '  - match:',
    '      - POST /v1beta/models/{model}:streamGenerateContent',
    '      - /v1/models/{model}:streamGenerateContent',
    '      - POST /v1/v1/models/{model}:streamGenerateContent',
    '    operation: image.edit',
    '    dialect: by-caller',
    '    stream: always',
    '    body_max: 1KiB',
  ].join('\n')
  const plan = await planOf(`${sampleText}${google}\n`)
  const routes = plan.routes.slice(3)
  const path = '/models/{model}:streamGenerateContent'
  t.same(
    routes.map(route => [route.path, route.origin.line, route.origin.col]),
    [
      [`/v1beta${path}`, 17, 5],
      [`/v1${path}`, 19, 9],
      [`/v1/v1${path}`, 20, 9],
    ],
  )
  for (const route of routes) {
    t.match(
      route,
      { method: 'POST', upstreamPath: `/v1beta${path}`, stream: 'always', dialect: 'by-caller' },
      caseName({ route }),
    )
    t.match(route, { body: 'json', bodyBytesMax: 1024 }, caseName({ route }))
  }
  t.match(
    describeChanges(await planOf(sampleText), plan).join('\n'),
    /^routes\["POST \/v1beta\/models.*"\]\.match: absent → POST \/v1beta\S+, \/v1\/models\S+, POST \/v1\/v1/m,
  )
})

t.test('a setting under its old name works, and a note gives the new one', async t => {
  const file = (name: string) => `${sampleText}server: { ${name}: [One/JS] }\n`
  const old = file('patient_agents')
  const plan = await planOf(old)
  t.same(plan.server.agentsAccepting102, ['One/JS'])
  t.equal(plan.revision, (await planOf(file('agents_accepting_102'))).revision, 'the same revision')
  const loaded = await loadPlan({
    file: 'gateway.yaml',
    text: old,
    env: { ONE_KEY: key },
    resolvePlugin: resolveSample,
  })
  t.match(loaded, { ok: true, notes: [{ severity: 'note', code: 'key_renamed', remedy: /agents_accepting_102/ }] })
  const schema = new Ajv({ strict: false }).compile(gatewaySchema(builtins))
  t.ok(schema(parse(readFileSync('gateway.yaml', 'utf8').replace('agents_accepting_102', 'patient_agents'))))
})

t.test('heartbeats, callers that accept a 102, and web pages', async t => {
  const server =
    'server: { heartbeat: 500ms, agents_accepting_102: [One/JS], cors: { origins: [https://app.example, "*"] } }'
  const plan = await planOf(`${sampleText}${server}\n`)
  t.match(plan.server, {
    heartbeatMs: 500,
    agentsAccepting102: ['One/JS'],
    corsOrigins: ['https://app.example', '*'],
  })
  const quiet = await planOf(`${sampleText}server: { heartbeat: off, cors: {} }\n`)
  t.match(quiet.server, { heartbeatMs: undefined, agentsAccepting102: [], corsOrigins: [] })
  t.same(describeChanges(quiet, plan), [
    'server.heartbeat: off → 500ms',
    'server.agents_accepting_102: none → One/JS',
    'server.cors.origins: none → https://app.example, *',
  ])
})

t.test('a name may equal a built-in member, or contain a slash', async t => {
  const names = ['constructor', 'toString', 'vendor/model~1']
  const models = names.map(name => `  ${name}: { family: pictures, upstream: one, price: free }\n`).join('')
  const plan = await planOf(sampleText.replace('models:\n', `models:\n${models}`))
  t.same([...plan.models.keys()], [...names, 'alpha-image'])
})

t.test('a hidden model needs no price', async t => {
  const plan = await planOf(
    sampleText
      .replace('prices: { 1K: "0.02", 4K: "0.08" }', 'enabled: false')

      .replace(/^ {4}tiers.*$/m, ''),
  )
  t.match(plan.models.get('alpha-image'), { free: false, enabled: false })
})

t.test('a literal path may accompany the pattern that covers it, and a narrow pattern precedes a wide one', async t => {
  const rest = [
    '/v1/models/{id}/versions',
    '/v1/models/{id}',
    '/v1/models',
    '/v1/models/list',
    '/v1/models/{m}/{v}:run',
  ]
  const routes = rest.map(path => `  - { match: "PUT ${path}", operation: x, dialect: openai }\n`)
  const [versions = '', one = '', ...literal] = routes
  const order = [versions, routes[4] ?? '', one, ...literal.slice(0, 2)].join('')
  // `versions` and `:run` end differently, so no path matches both.
  t.equal((await planOf(sampleText + order)).routes.length, 8)
})

t.test('interpolation', async t => {
  const storageOf = async (
    value: string,
    env: { readonly [name: string]: string | undefined } = {},
  ): Promise<string> => {
    return (await planOf(`${sampleText}storage: ${value}\n`, env)).storage
  }
  t.equal(await storageOf('sqlite:${DB}', { DB: 'a.db' }), 'sqlite:a.db', 'a variable')
  t.equal(await storageOf('sqlite:${DB:-b.db}'), 'sqlite:b.db', 'a default for one that is not set')
  t.equal(await storageOf('sqlite:${DB:-b.db}', { DB: '' }), 'sqlite:b.db', 'and for an empty one')
  t.equal(await storageOf('sqlite:x${DB:-}'), 'sqlite:x', 'an empty default')
  t.equal(await storageOf('sqlite:${DB:?say where}', { DB: 'c' }), 'sqlite:c', 'one that must be set')
  t.equal(await storageOf("'sqlite:${A}/${B}'", { A: '1', B: '2' }), 'sqlite:1/2', 'several, in single quotes')
  t.equal(await storageOf('sqlite:$$a$b$${c}', { c: 'no' }), 'sqlite:$a$b${c}', 'a dollar sign')
  t.equal(
    await storageOf('sqlite:${A}', { A: '${B}', B: 'no' }),
    'sqlite:${B}',
    'what a variable holds is not read again',
  )
  t.equal(
    await storageOf('sqlite:${A}', { A: 'x"\n- {#: y' }),
    'sqlite:x"\n- {#: y',
    'what a variable holds is never YAML',
  )
  t.equal(await storageOf('sqlite:x # ${NOT_SET}'), 'sqlite:x', 'a comment is a comment')
  t.equal(await storageOf('sqlite:${constructor:-x}'), 'sqlite:x', 'a name that every object has is not a variable')
})

t.test('a variable gives a number or a boolean if one is wanted, and otherwise text', async t => {
  const text = sampleText
    .replace('rpm: 300', 'rpm: "${RPM:-7}"')
    .replace('reuse: false', 'reuse: "${REUSE:-true}"')
    .replace('families:', 'families: # ${X}')
  const plan = await planOf(`${text}storage: sqlite:\${DB}\n`, { DB: '12', ONE_KEY: '4711' })
  t.equal(plan.models.get('alpha-image')?.limits.rpm, 7)
  t.equal(plan.routes[1]?.reuse, true)
  t.equal(plan.storage, 'sqlite:12')
  t.match(plan.upstreams.get('one')?.credential, [{ value: 'Bearer 4711' }])
})

t.test('a secret from a file loses its last line break, and its path is relative to the configuration', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'key'), 'from-a-file\n')
  const text = sampleText.replace('Bearer ${ONE_KEY}', 'Bearer ${file:key}')
  const plan = await planOf(text, {}, join(folder, 'gateway.yaml'))
  t.match(plan.upstreams.get('one')?.credential, [{ value: 'Bearer from-a-file' }])
})

t.test('the revision', async t => {
  const { revision } = await planOf(sampleText)
  t.match(revision, /^[0-9a-f]{12}$/)
  const moved = async (change: (text: string) => string, env = {}): Promise<boolean> => {
    return (await planOf(change(sampleText), env)).revision !== revision
  }
  t.equal(await moved(text => text), false, 'is the same for the same file')
  t.equal(
    await moved(text => `# a comment\n\n${text.replaceAll('{ ', '{   ')}`),
    false,
    'is not moved by comments and layout',
  )
  t.equal(
    await moved(text => text.replace('1K: "0.02", 4K: "0.08"', '4K: "0.080", 1K: "0.02"')),
    false,
    'nor by order or spelling',
  )
  t.equal(await moved(text => text, { ONE_KEY: 'another' }), false, 'nor by a secret')
  t.equal(await moved(text => text.replace('"0.08"', '"0.09"')), true, 'is moved by a price')
  t.equal(await moved(text => text.replace('rpm: 300', 'rpm: 301')), true, 'by a limit')
  t.equal(await moved(text => text.replace('long_edge_max: 1024', 'long_edge_max: 1025')), true, 'by a threshold')
  t.equal(
    await moved(text => text.replace('[auth, ratelimit, tiers]', '[auth, tiers, ratelimit]')),
    true,
    'by the order of plugins',
  )
  t.equal(await moved(text => text, { ONE_URL: 'https://one.example' }), true, 'by the value of a variable')
})

t.test('a password is redacted whole, even with characters that end it in an address', async t => {
  const before = await planOf(`${sampleText}storage: postgres://u:first@part/rest@h/db\n`)
  const after = await planOf(`${sampleText}storage: postgres://u:other@part/rest@h/db2\n`)
  t.same(describeChanges(before, after), ['storage: postgres://u:***@h/db → postgres://u:***@h/db2'])
})

t.test('a reload reports changes, prices first, without secrets', async t => {
  const before = await planOf(`${sampleText}storage: postgres://u:first-password@h/db\n`)
  const after = await planOf(
    `${sampleText}storage: postgres://u:other-password@h/db2\n`
      .replace('4K: "0.08"', '4K: "0.09"')
      .replace('rpm: 60 ', 'rpm: 90 ')
      .replace('long_edge_max: 1024', 'long_edge_max: 1000')
      .replace('body_max: 8MiB', 'body_max: 16MiB')
      .replace('models:', 'models:\n  new: { family: pictures, upstream: one, price: free }'),
    { ONE_KEY: 'another-key' },
  )
  t.same(describeChanges(before, after), [
    'price of alpha-image 4K: 0.08 USD → 0.09 USD',
    'model new added (free)',
    'storage: postgres://u:***@h/db → postgres://u:***@h/db2',
    'groups.default.rpm: 60 → 90',
    'families.pictures.tiers.rows[0].long_edge_max: 1024 → 1000',
    'routes["POST /v1/edits"].body_max: 8MiB → 16MiB',
    'upstreams.one.credential.value: changed',
  ])
  t.same(describeChanges(before, before), [])
  t.match(describeChanges(after, before), ['price of alpha-image 4K: 0.09 USD → 0.08 USD', 'model new removed'])
})

const shipped = new URL('../../gateway.yaml', import.meta.url)
const schemaFile = new URL('../../schemas/gateway.schema.json', import.meta.url)
const resolveBuiltin = async (name: string): Promise<AnyPlugin | undefined> =>
  builtins.find(plugin => plugin.name === name)

const known = { operations: operationTraits }

t.test('the shipped gateway.yaml', async t => {
  const text = readFileSync(shipped, 'utf8')
  const loaded = await loadPlan({ file: 'gateway.yaml', text, env: {}, resolvePlugin: resolveBuiltin, known })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings, null, 2))
  const { plan } = loaded
  t.same(
    [...plan.groups.values()].map(group => [group.name, group.limits.rpm]),
    [
      ['default', 60],
      ['partner', 600],
    ],
  )
  t.same(
    [...plan.upstreams.values()].map(upstream => upstream.url),
    ['simulator:alpha', 'simulator:beta', 'simulator:text'],
  )
  t.same(plan.models.get('alpha-image-2')?.limits, { scope: 'gateway' }, 'family A has no own limit')
  const lines = text.split('\n')
  for (const model of plan.models.values()) {
    for (const price of model.prices.values()) t.equal(price.origin.line, model.origin.line, 'its price is on its line')
    t.match(lines[model.origin.line - 1], model.name, caseName({ model }))
  }
  const { server } = plan
  t.match(server, { heartbeatMs: 15_000, agentsAccepting102: ['OpenAI/JS', 'Anthropic/JS'], corsOrigins: [] })
  const describe = (route: Route): readonly unknown[] => [
    `${route.method} ${route.path}`,
    route.operation,
    route.dialect,
    route.serve ?? route.body,
  ]
  t.same(plan.routes.filter(route => route.path === route.upstreamPath).map(describe), [
    ['POST /v1/images/generations', 'image.generate', 'openai', 'json'],
    ['POST /v1/images/edits', 'image.edit', 'openai', 'form'],
    ['POST /v1/chat/completions', 'chat', 'openai', 'json'],
    ['POST /v1/responses', 'responses', 'openai', 'json'],
    ['GET /v1/responses', 'responses', 'openai', 'none'],
    ['POST /v1/embeddings', 'embeddings', 'openai', 'json'],
    ['POST /v1/moderations', 'moderations', 'openai', 'json'],
    ['POST /v1/audio/speech', 'audio.speech', 'openai', 'json'],
    ['POST /v1/audio/transcriptions', 'audio.transcribe', 'openai', 'form'],
    ['GET /v1/realtime', 'realtime', 'openai', 'none'],
    [
      'GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
      'generate.live',
      'google',
      'none',
    ],
    [
      'GET /ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent',
      'generate.live',
      'google',
      'none',
    ],
    [
      'GET /ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent',
      'generate.live',
      'google',
      'none',
    ],
    ['GET /v1/realtime?intent=transcription', 'realtime.transcribe', 'openai', 'none'],
    ['POST /v1/realtime/client_secrets', 'realtime.secrets', 'openai', 'client-secret'],
    ['POST /v1/messages', 'messages', 'anthropic', 'json'],
    ['POST /v1/messages/count_tokens', 'messages.count', 'anthropic', 'json'],
    ['POST /v1/rerank', 'rerank', 'cohere', 'json'],
    ['POST /v2/rerank', 'rerank', 'cohere', 'json'],
    ['POST /v1beta/models/{model}:generateContent', 'generate', 'google', 'json'],
    ['POST /v1beta/models/{model}:streamGenerateContent', 'generate', 'google', 'json'],
    ['POST /v1beta/models/{model}:countTokens', 'generate.count', 'google', 'json'],
    ['POST /v1beta/models/{model}:embedContent', 'generate.embed', 'google', 'json'],
    ['POST /v1beta/models/{model}:batchEmbedContents', 'generate.embed', 'google', 'json'],
    ['GET /v1/models', 'models.list', 'by-caller', 'models'],
    ['GET /v1/models/{id}', 'models.get', 'by-caller', 'model'],
    ['GET /v1beta/models', 'models.list', 'by-caller', 'models'],
    ['GET /v1beta/models/{id}', 'models.get', 'by-caller', 'model'],
    ['GET /v1/charges/{id}', 'charges.get', 'openai', 'charge'],
    ['GET /v1/jobs/{id}', 'jobs.get', 'openai', 'job'],
    ['POST /v1/responses/input_tokens', 'responses.tokens', 'openai', 'json'],
    ['POST /v1/responses/compact', 'responses.compact', 'openai', 'json'],
    ['POST /v1/responses/{id}/cancel', 'responses.cancel', 'openai', 'none'],
    ['GET /v1/responses/{id}/input_items', 'responses.items', 'openai', 'none'],
    ['GET /v1/responses/{id}', 'responses.get', 'openai', 'none'],
    ['DELETE /v1/responses/{id}', 'responses.delete', 'openai', 'none'],
    ['POST /v1/conversations', 'conversations.create', 'openai', 'json'],
    ['GET /v1/conversations/{id}/items', 'conversations.items', 'openai', 'none'],
    ['POST /v1/conversations/{id}/items', 'conversations.add', 'openai', 'json'],
    ['GET /v1/conversations/{id}/items/{item}', 'conversations.items.get', 'openai', 'none'],
    ['DELETE /v1/conversations/{id}/items/{item}', 'conversations.items.delete', 'openai', 'none'],
    ['GET /v1/conversations/{id}', 'conversations.get', 'openai', 'none'],
    ['POST /v1/conversations/{id}', 'conversations.update', 'openai', 'json'],
    ['DELETE /v1/conversations/{id}', 'conversations.delete', 'openai', 'none'],
    ['POST /v1/files', 'files.create', 'openai', 'form'],
    ['GET /v1/files', 'files.list', 'openai', 'objects'],
    ['GET /v1/files/{id}/content', 'files.content', 'openai', 'none'],
    ['GET /v1/files/{id}/content', 'messages-files.content', 'anthropic', 'none'],
    ['GET /v1/files/{id}', 'files.get', 'openai', 'none'],
    ['DELETE /v1/files/{id}', 'files.delete', 'openai', 'none'],
    ['POST /v1/files', 'messages-files.create', 'anthropic', 'form'],
    ['GET /v1/files', 'messages-files.list', 'anthropic', 'objects'],
    ['GET /v1/files/{id}', 'messages-files.get', 'anthropic', 'none'],
    ['DELETE /v1/files/{id}', 'messages-files.delete', 'anthropic', 'none'],
    ['POST /upload/v1beta/files', 'generate-files.create', 'google', 'any'],
    ['GET /v1beta/files', 'generate-files.list', 'google', 'objects'],
    ['GET /v1beta/files/{id}', 'generate-files.get', 'google', 'none'],
    ['DELETE /v1beta/files/{id}', 'generate-files.delete', 'google', 'any'],
    ['POST /v1beta/cachedContents', 'caches.create', 'google', 'json'],
    ['GET /v1beta/cachedContents', 'caches.list', 'google', 'objects'],
    ['GET /v1beta/cachedContents/{id}', 'caches.get', 'google', 'none'],
    ['PATCH /v1beta/cachedContents/{id}', 'caches.update', 'google', 'json'],
    ['DELETE /v1beta/cachedContents/{id}', 'caches.delete', 'google', 'any'],
    ['POST /v1/batches', 'batches.create', 'openai', 'json'],
    ['GET /v1/batches', 'batches.list', 'openai', 'objects'],
    ['POST /v1/batches/{id}/cancel', 'batches.cancel', 'openai', 'none'],
    ['GET /v1/batches/{id}', 'batches.get', 'openai', 'none'],
    ['POST /v1/messages/batches', 'messages.batches.create', 'anthropic', 'json'],
    ['GET /v1/messages/batches', 'messages.batches.list', 'anthropic', 'objects'],
    ['GET /v1/messages/batches/{id}/results', 'messages.batches.results', 'anthropic', 'none'],
    ['POST /v1/messages/batches/{id}/cancel', 'messages.batches.cancel', 'anthropic', 'none'],
    ['GET /v1/messages/batches/{id}', 'messages.batches.get', 'anthropic', 'none'],
    ['DELETE /v1/messages/batches/{id}', 'messages.batches.delete', 'anthropic', 'none'],
    ['POST /v1/completions', 'completions', 'openai', 'json'],
    ['POST /v1/audio/translations', 'audio.translate', 'openai', 'form'],
    ['POST /v2/embed', 'embed', 'cohere', 'json'],
    ['POST /v1/text-to-speech/{voice}', 'text-to-speech', 'elevenlabs', 'json'],
    ['POST /v1/text-to-speech/{voice}/stream', 'text-to-speech', 'elevenlabs', 'json'],
    ['POST /v1/speech-to-text', 'speech-to-text', 'elevenlabs', 'form'],
  ])
  const byImages = plan.routes.filter(route => route.operation.startsWith('image.'))
  t.ok(
    byImages.every(route => route.reuse === false),
    'an image request has a connection of its own',
  )
  const streams = plan.routes.filter(route => route.stream === 'always').map(route => route.path)
  t.ok(streams.length > 0 && streams.every(path => path.endsWith(':streamGenerateContent')))
  for (const { path, method } of plan.routes.filter(route => /^\/v1(beta)?\//.test(route.upstreamPath))) {
    if (/^\/v1\/(charges|jobs)/.test(path) || !/^\/v1(beta)?\/(?!v[12])/.test(path)) continue
    const again = plan.routes.some(route => route.method === method && route.path === `/v1${path}`)
    t.ok(again, `${path} is found by clients that put /v1 before it once more`)
  }
})

t.test('every model of the shipped gateway.yaml serves exactly what the contract says', async t => {
  const text = readFileSync(shipped, 'utf8')
  const loaded = await loadPlan({ file: 'gateway.yaml', text, env: {}, resolvePlugin: resolveBuiltin, known })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings, null, 2))
  const { models, routes } = loaded.plan
  t.same(
    [...models.values()].map(model => [model.name, [...model.family.forward.keys()], [...model.prices.keys()]]),
    [
      ['alpha-image-2', ['image.generate', 'image.edit'], ['1K', '2K', '4K']],
      ['beta-imagine-image', ['image.generate', 'image.edit'], ['1K', '2K', '4K']],
      [
        'sim-chat',
        [
          'chat',
          'completions',
          'responses',
          'responses.get',
          'responses.items',
          'responses.delete',
          'responses.cancel',
          'responses.compact',
          'responses.tokens',
          'conversations.create',
          'conversations.get',
          'conversations.update',
          'conversations.delete',
          'conversations.items',
          'conversations.items.get',
          'conversations.items.delete',
          'conversations.add',
          'files.create',
          'files.get',
          'files.content',
          'files.delete',
          'batches.create',
          'batches.get',
          'batches.cancel',
        ],
        ['input', 'cached_input', 'output', 'web_search'],
      ],
      [
        'sim-messages',
        [
          'messages',
          'messages.count',
          'messages-files.create',
          'messages-files.get',
          'messages-files.content',
          'messages-files.delete',
          'messages.batches.create',
          'messages.batches.get',
          'messages.batches.cancel',
          'messages.batches.delete',
          'messages.batches.results',
        ],
        ['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output', 'web_search'],
      ],
      [
        'sim-generative',
        [
          'generate',
          'generate.count',
          'generate.embed',
          'generate-files.create',
          'generate-files.get',
          'generate-files.delete',
          'caches.create',
          'caches.get',
          'caches.update',
          'caches.delete',
        ],
        ['input', 'cached_input', 'input_audio', 'output', 'grounding', 'cache_storage'],
      ],
      ['sim-embedding', ['embeddings', 'embed'], ['input']],
      ['sim-speech', ['audio.speech'], ['character']],
      ['sim-text-to-speech', ['text-to-speech'], ['character']],
      ['sim-speech-to-text', ['speech-to-text'], ['minute']],
      ['sim-transcription', ['audio.transcribe', 'audio.translate', 'realtime.transcribe'], ['request']],
      [
        'sim-realtime',
        ['realtime'],
        ['input', 'cached_input', 'input_audio', 'cached_input_audio', 'output', 'output_audio'],
      ],
      [
        'sim-live',
        ['generate.live'],
        ['input', 'input_audio', 'input_image', 'input_video', 'output', 'output_audio', 'grounding'],
      ],
      ['sim-rerank', ['rerank'], ['search_unit']],
      ['sim-moderation', ['moderations'], []],
    ],
  )
  const served = new Set([...models.values()].flatMap(model => [...model.family.forward.keys()]))
  const upstream = routes.filter(route => route.serve === undefined)
  t.same(new Set(upstream.map(route => route.operation)), served, 'every route has a model, every model a route')
})

t.test('a model needs no price if its family serves only free operations', async t => {
  const text = readFileSync(shipped, 'utf8').replace(/(sim-rerank: \{.*), prices: \{.*\} \}/, '$1 }')
  const load = (operations: OperationsByName) =>
    loadPlan({ file: 'gateway.yaml', text, env: {}, resolvePlugin: resolveBuiltin, known: { operations } })
  const priced = await load(operationTraits)
  t.match(priced, { ok: false, findings: [{ code: 'price_missing', message: "the model 'sim-rerank' has no price" }] })
  const freed = await load(new Map([...operationTraits, ['rerank', { free: true }]]))
  t.ok(freed.ok && freed.plan.models.get('sim-rerank')?.free)
  t.notOk(freed.ok && freed.plan.models.get('sim-chat')?.free)
})

t.test('reads the environment of the shipped gateway.yaml', async t => {
  const env = {
    TOLLGATE_LISTEN: '0.0.0.0:80',
    TOLLGATE_OPS: 'off',
    TOLLGATE_STORAGE: 'postgres://h/db',
    TOLLGATE_COUNTERS: 'redis://h',
    ALPHA_URL: 'https://alpha.example',
    ALPHA_API_KEY: 'a-key',
    BETA_URL: 'https://beta.example/api',
    BETA_API_KEY: 'b-key',
    TEXT_URL: 'http://127.0.0.1:9',
    TEXT_API_KEY: 't-key',
  }
  const loaded = await loadPlan({
    file: 'gateway.yaml',
    text: readFileSync(shipped, 'utf8'),
    env,
    resolvePlugin: resolveBuiltin,
    known,
  })
  t.match(loaded, {
    ok: true,
    plan: {
      server: { listen: { host: '0.0.0.0', port: 80 }, ops: undefined },
      storage: 'postgres://h/db',
      counters: 'redis://h',
    },
  })
  if (!loaded.ok) return
  const targets = [...loaded.plan.upstreams.values()].map(({ url, credential }) => [
    url,
    ...credential.flatMap(one => (one.kind === 'header' ? [one.header, one.value] : [])),
  ])
  t.same(targets, [
    ['https://alpha.example', 'authorization', 'Bearer a-key'],
    ['https://beta.example/api', 'authorization', 'Bearer b-key'],
    ['http://127.0.0.1:9', 'authorization', 'Bearer t-key'],
  ])
})

t.test('the schema for editors', async t => {
  const schema = gatewaySchema(builtins, await Promise.all(Object.values(signers).map(load => load())))
  t.same(
    JSON.parse(readFileSync(schemaFile, 'utf8')),
    JSON.parse(JSON.stringify(schema)),
    'is fresh: node src/tools/emit-schema.ts',
  )
  const validate = new Ajv({ strict: false }).compile(schema)
  t.ok(validate(parse(readFileSync(shipped, 'utf8'))), JSON.stringify(validate.errors))
  t.notOk(validate({ ...(parse(readFileSync(shipped, 'utf8')) as object), extra: 1 }), 'refuses an unknown key')
  t.same(undescribed(schema, '#'), [], 'describes every key')
})

type Node = { readonly [keyword: string]: unknown }

/** Paths of the properties for which an editor has no description. */
function undescribed(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  if (Array.isArray(schema)) return schema.flatMap((inner, i) => undescribed(inner, `${path}/${i}`))
  return Object.entries(schema as Node).flatMap(([keyword, value]) => {
    if (keyword !== 'properties') return undescribed(value, `${path}/${keyword}`)
    return Object.entries(value as Node).flatMap(([name, inner]) => [
      ...((inner as Node)['description'] === undefined ? [`${path}/${name}`] : []),
      ...undescribed(inner, `${path}/${name}`),
    ])
  })
}
