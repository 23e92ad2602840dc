import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { isConsolePath } from '../../src/gateway/console-listener.ts'
import { drawCaret } from '../../src/config/draw-caret.ts'
import { type Finding, formatFindings, loadPlan } from '../../src/config/index.ts'
import { Source } from '../../src/config/source.ts'
import { caseName } from '../harness/case-name.ts'
import { resolveSample, sampleNames, sampleText } from './config-sample.ts'

const folder = new URL('../cases/config-errors/', import.meta.url)

async function findingsOf(text: string, env: { readonly [name: string]: string } = {}): Promise<readonly Finding[]> {
  const loaded = await loadPlan({
    file: 'gateway.yaml',
    text,
    env,
    resolvePlugin: resolveSample,
    knownPlugins: sampleNames,
    known: {
      dialects: ['openai', 'hybrid'],
      answers: ['models', 'model', 'charge'],
      simulators: ['one'],
      storages: ['sqlite'],
      counters: ['memory'],
      isConsolePath,
    },
  })
  return loaded.ok ? loaded.notes : loaded.findings
}

/** The first lines of each file give its expected findings: `# expect LINE:COL code | remedy`. */
t.test('every error is listed at its position in an editor, with the remedy', async t => {
  for (const name of readdirSync(folder).sort()) {
    const text = readFileSync(new URL(name, folder), 'utf8')
    const expected = [...text.matchAll(/^# expect (.+)$/gm)].map(match => match[1])
    const found = (await findingsOf(text)).map(({ line, col, code, remedy }) => {
      return `${line}:${col} ${code}${remedy === undefined ? '' : ` | ${remedy}`}`
    })
    t.same(found, expected, name)
  }
})

t.test('an endlessly nested text is refused with a position, for every kind of nesting', async t => {
  const units = ['b: ', '- ', '? ', '[', '{a: ', '- a: ', '? - ', '[{']
  for (const depth of [50, 300, 1_400, 5_461])
    for (const unit of units) {
      const found = await findingsOf(`version: 1\nx:\n  ${unit.repeat(depth)}`)
      t.ok(found.length > 0 && found.every(({ line, col }) => line > 0 && col > 0), `${depth} times '${unit}'`)
      for (const { message } of found) t.notMatch(message, /stack/, `${depth} times '${unit}'`)
    }
  for (const depth of [120, 840, 1_400]) {
    const names = Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}a:`).join('\n')
    const [deep] = (await findingsOf(`version: 1\n${names}`)).filter(({ code }) => code === 'yaml_deep')
    t.match(deep, { line: Number, message: /more than 100 levels/, remedy: /remove them/ }, `${depth} names`)
    t.ok(deep && deep.line > 100, `${depth} names: where they are too deep`)
  }
})

t.test('a file that is not UTF-8 is refused, and a replaced byte is a warning', async t => {
  const valid = sampleText.replace('version: 1', 'version: 1 # café')
  const env = { ONE_KEY: 'k' }
  for (const [name, text] of [
    ['UTF-16', Buffer.from(`\uFEFF${valid}`, 'utf16le').toString('utf8')],
    ['a zero byte', `${valid}\0`],
  ] as const) {
    const found = await findingsOf(text, env)
    t.match(found, [{ severity: 'error', code: 'file_encoding', remedy: 'save it as UTF-8' }], caseName({ name }))
    t.equal(found.length, 1, caseName({ name, what: 'number' }))
  }
  const bytes = await findingsOf(Buffer.from(valid, 'latin1').toString('utf8'), env)
  t.match(
    bytes.filter(({ code }) => code === 'file_encoding'),
    [{ severity: 'warning', line: valid.slice(0, valid.indexOf('é')).split('\n').length }],
  )
  t.notMatch(await findingsOf(valid, env), [{ code: 'file_encoding' }])
})

t.test('a finding shows its line, with a caret under the position', async t => {
  const [finding] = await findingsOf(readFileSync(new URL('not-a-whole-number.yaml', folder), 'utf8'))
  t.equal(finding?.path, 'groups.default.rpm')
  t.equal(finding?.message, "found 'sixty', which is not a whole number")
  t.equal(finding?.caret, 'groups: { default: { rpm: sixty } }\n                          ^~~~~')
})

t.test('a caret is at the right position after wide characters and tabs', async t => {
  const text = sampleText.replace('rpm: 60 }', 'rpm: 60, "大小\t": 1 }')
  const [finding] = await findingsOf(text, { ONE_KEY: 'k' })
  const [line = '', mark = ''] = finding?.caret.split('\n') ?? []
  t.equal(line.slice(0, 40), 'groups: { default: { rpm: 60, "大小 ": 1 }')
  t.equal(mark, `${' '.repeat(30)}^~~~~~~`)
})

t.test('a long line is cut to the part around the caret', async t => {
  const text = `${'#'.repeat(10)}\nversion: 1\nbackground: ["${'x'.repeat(400)}"]\n`
  const [finding] = (await findingsOf(text)).filter(found => found.path === 'background')
  const [line = '', mark = ''] = finding?.caret.split('\n') ?? []
  t.ok(line.length <= 142, `${line.length} characters`)
  t.equal(line.slice(mark.indexOf('^'), mark.indexOf('^') + 10), 'background')
})

t.test('a finding in a file without line breaks reads only the part of the line that it shows', t => {
  const text = `{ ${'"a": 1, '.repeat(10_000)} }`
  let reads = 0
  const secret = {
    get start() {
      reads++
      return 40_010
    },
    end: 40_014,
  }
  const shown = drawCaret(new Source('gateway.yaml', text), { start: 40_002, end: 40_005 }, [secret])
  t.match(shown, /^….*\n +\^~~$/)
  t.match(shown, /\*{4}/)
  t.ok(reads < 200, `${reads} reads`)
  t.end()
})

t.test('a file with very many faults has a finding for each', async t => {
  const findings = await findingsOf('a: 1\n'.repeat(120_000))
  t.ok(findings.length > 119_000, `${findings.length} findings`)
})

t.test('findings on a terminal: position, path, found value, line, caret, remedy', async t => {
  const findings = await findingsOf(readFileSync(new URL('family-unknown.yaml', folder), 'utf8'))
  t.equal(
    formatFindings(findings, { color: false }),
    [
      "gateway.yaml:13:20  models.alpha.family  there is no family 'picturs'",
      '      alpha: { family: picturs, upstream: one, prices: { 1K: "0.02", 4K: "0.08" } }',
      '                       ^~~~~~~',
      "    did you mean 'pictures'?",
    ].join('\n'),
  )
  t.match(formatFindings(findings, { color: true }), '\u001b[31m')
})

t.test('a missing file is one finding', async t => {
  const loaded = await loadPlan({ file: 'no/such/gateway.yaml', env: {}, resolvePlugin: resolveSample })
  t.match(loaded, { ok: false, findings: [{ code: 'file_unreadable', line: 1, col: 1, message: /ENOENT/ }] })
})

t.test('a note is not an error', async t => {
  const text = sampleText.replace('otherwise: 4K', 'otherwise: never').replace('default: { rpm: 60 }, ', '')
  const findings = await findingsOf(text, { ONE_KEY: 'k', ONE_URL: 'https://one.example' })
  t.match(findings, [
    { severity: 'note', code: 'group_default_missing', line: 2, col: 1 },
    { severity: 'note', code: 'tier_unreachable', line: 10 },
  ])
  t.equal(findings.length, 2)
})

t.test('a group may name existing models, or prefixes', async t => {
  const withModels = (models: string) => sampleText.replace('rpm: 60', `rpm: 60, models: [${models}]`)
  const [name = ''] = /(?<=^models:\n  )[\w-]+/m.exec(sampleText) ?? []
  t.ok(name.length > 2)
  t.same(await findingsOf(withModels(`${name}, "${name.slice(0, 2)}*"`), { ONE_KEY: '' }), [])
  t.match(await findingsOf(withModels(`${name}x`), { ONE_KEY: '' }), [{ code: 'group_model_unknown', line: 2 }])
})

t.test('an empty credential of a real upstream is noted, of a simulated one not', async t => {
  t.match(await findingsOf(sampleText, { ONE_KEY: '', ONE_URL: 'https://one.example' }), [{ code: 'credential_empty' }])
  t.same(await findingsOf(sampleText, { ONE_KEY: '' }), [])
})

t.test('a secret never appears in a finding', async t => {
  const secret = 'hunter2-hunter2-hunter2'
  const faults = [
    // The secret is in the file itself, next to every kind of fault.
    sampleText.replace('"Bearer ${ONE_KEY}"', `"Bearer ${secret}", extra: 1`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `"Bearer ${secret}`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `${secret}: ${secret}`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `["Bearer ${secret}"]`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `&key "${secret}"`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `"Bearer \${ONE_KEY:-${secret}}", extra: 1`),
    sampleText.replace('"Bearer ${ONE_KEY}"', `"Bearer \${ONE_KEY:?x", extra: "Bearer ${secret}"`),
    sampleText.replace('credential:', `api_key: ${secret}, credential:`),
    sampleText.replace('credential:', `headers: { x-key: "${secret}", "bad name": "1" }, credential:`),
    sampleText.replace('version: 1', `version: 1\nstorage: mysql://user:${secret}@host/db`),
    sampleText.replace('simulator:one', `https://user:${secret}@host`),
    // The secret comes from the environment and appears where it does not belong.
    sampleText.replace('family: pictures', 'family: "${ONE_KEY}"'),
    sampleText.replace('rpm: 300', 'rpm: "${ONE_KEY}"'),
    sampleText.replace('"${ONE_URL:-simulator:one}"', '"${ONE_KEY}"'),
  ]
  for (const [i, text] of faults.entries()) {
    const findings = await findingsOf(text, { ONE_KEY: secret })
    t.ok(findings.length > 0, `case ${i} is refused`)
    t.notMatch(JSON.stringify(findings), secret, `case ${i}`)
  }
})

t.test('a suggestion needs a known name of four letters within a distance of a third of its length', async t => {
  const remedyFor = async (key: string): Promise<string | undefined> => {
    const [finding] = await findingsOf(sampleText.replace('rpm: 600', `${key}: 1`), { ONE_KEY: 'k' })
    return finding?.remedy
  }
  t.equal(await remedyFor('multiplyer'), "did you mean 'multiplier'?")
  t.equal(await remedyFor('limit_skop'), "did you mean 'limit_scope'?")
  t.equal(await remedyFor('LIMIT_SCOPE'), "did you mean 'limit_scope'?")
  t.equal(
    await remedyFor('rmp'),
    'known here: rpm, tpm, concurrency, shadow, limit_scope, keys_max, stored_objects, jobs, models, aliases, multiplier, limits_per_user, limits_per_end_user, limits_in_all, budget, user_budget, end_user_budget, end_user_budgets',
  )
  t.equal(
    await remedyFor('something'),
    'known here: rpm, tpm, concurrency, shadow, limit_scope, keys_max, stored_objects, jobs, models, aliases, multiplier, limits_per_user, limits_per_end_user, limits_in_all, budget, user_budget, end_user_budget, end_user_budgets',
  )
})

t.test('a plugin that fails while it inspects a family is a finding, not a crash', async t => {
  const loaded = await loadPlan({
    file: 'gateway.yaml',
    text: sampleText,
    env: { ONE_KEY: 'k' },
    resolvePlugin: async name => {
      const plugin = await resolveSample(name)
      if (name !== 'tiers' || !plugin) return plugin
      return { ...plugin, inspect: () => raise('cannot look') }
    },
  })
  t.match(loaded, {
    ok: false,
    findings: [{ code: 'plugin_failed', line: 5, message: /'tiers'.*'pictures'.*cannot look/ }],
  })
})

t.test("a plugin with an invalid schema is a finding at the plugin's place", async t => {
  const loaded = await loadPlan({
    file: 'gateway.yaml',
    text: sampleText,
    env: { ONE_KEY: 'k' },
    resolvePlugin: async name => {
      const plugin = await resolveSample(name)
      return name === 'tiers' && plugin ? { ...plugin, facet: { type: 'object', propertees: {} } as object } : plugin
    },
  })
  t.match(loaded, { ok: false, findings: [{ code: 'plugin_failed', line: 5, col: 29, message: /propertees/ }] })
})

function raise(message: string): never {
  throw new Error(message)
}

t.test('a route at a console path is refused with its line, unless the console is off [6.8]', async t => {
  const text = readFileSync(new URL('route-shadowed.yaml', folder), 'utf8')
  t.match(await findingsOf(text), [
    { line: 18, code: 'route_shadowed', message: "'GET /api/{name}' is never reached: the console uses this path" },
    { line: 19 },
    { line: 20 },
  ])
  t.strictSame(await findingsOf(text.replace('upstreams:', 'server: { console: off }\nupstreams:')), [])
})
