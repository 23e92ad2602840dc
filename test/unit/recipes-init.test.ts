import { readFile, readdir, writeFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import { draftConfig, formatConfig, listRecipes, loadConfig, mergeRecipes, type Recipe } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFolder } from '../harness/folder.ts'
import { merge, readRecipes, type Tree } from '../harness/recipes.ts'
import { overlay, overlaps } from '../../src/tools/recipes/overlay.ts'
import { editShipped } from '../harness/project.ts'
import { pictureIn } from '../harness/vendors.ts'
import { start } from '../harness/start.ts'

const recipes = await listRecipes()
const shipped = await editShipped([])

function recipe(name: string): Recipe {
  const found = recipes.find(one => one.name === name)
  if (!found) throw new Error(`there is no recipe ${name}`)
  return found
}

/** The variables that a reader must set before a recipe is valid. */
function required({ variables }: Recipe): { readonly [name: string]: string } {
  const names = variables.filter(one => one.required).map(({ name }) => name)
  return Object.fromEntries(names.map(name => [name, /URL|ENDPOINT/.test(name) ? 'https://one.example' : 'k-1']))
}

async function load(text: string, env: { readonly [name: string]: string } = {}) {
  const loaded = await loadConfig({ file: 'gateway.yaml', text }, env)
  return { plan: loaded.ok ? loaded.plan : undefined, said: loaded.ok ? loaded.notes : loaded.findings }
}

/**
 * Vertex shares a family whose text prices count only if the family's own style is offered too; findings about what a
 * translation cannot carry are always there.
 */
function isUnexpected({ name }: Recipe): (one: { readonly code: string }) => boolean {
  return ({ code }) => !(name === 'gemini-image/on-vertex' && code === 'price_unused') && code !== 'accepts_losses'
}

for (const one of recipes)
  t.test(
    `[10] ${one.name} alone is a valid, formatted configuration, and adds to the shipped one byte for byte`,
    async t => {
      const { files } = await draftConfig(t.testdir(), { upstreams: new Map() }, [one])
      const text = files['gateway.yaml']
      const { plan, said } = await load(text, required(one))
      t.strictSame(said.filter(isUnexpected(one)), [])
      t.strictSame([...(plan?.models.keys() ?? [])].sort(), one.models.map(({ name }) => name).sort())
      const families = new Set([...(plan?.models.values() ?? [])].map(model => model.family.name))
      t.strictSame([...(plan?.families.keys() ?? [])].sort(), [...families].sort(), 'and no family is left over')
      const file = `${t.testdirName}/gateway.yaml`
      await writeFile(file, text)
      t.match(await formatConfig(file, required(one)), { ok: true, changed: false })
      const example = files['.env.example']
      const lines = example.split('\n')
      const unsaid = one.variables.filter(({ name, required: needed, means }) =>
        needed
          ? !lines.includes(`${name}=`) || (means !== null && !lines.includes(`# Required: ${means}`))
          : !lines.some(line => line.startsWith(`# ${name}=`)),
      )
      t.strictSame(unsaid, [], '.env.example has the optional and the required variables')

      const merged = await mergeRecipes(shipped, [one])
      const whole = await load(merged.text, required(one))
      t.strictSame(whole.said.filter(isUnexpected(one)), [])
      for (const { name } of one.models) t.ok(whole.plan?.models.has(name), name)
      const ours = shipped.split('\n').filter(line => !line.startsWith('pipeline:'))
      let at = 0
      const laid = merged.text.split('\n')
      t.ok(
        ours.every(line => (at = laid.indexOf(line, at) + 1) > 0),
        'every line that was there is there, in its order',
      )
      t.strictSame(
        await mergeRecipes(merged.text, [one]),
        { text: merged.text, added: [], left: merged.added.filter(path => !/ /.test(path)) },
        'added once',
      )
    },
  )

t.test('[10] a recipe of a simulated vendor makes pictures at once, without a key', async t => {
  const { files } = await draftConfig(t.testdir(), { upstreams: new Map() }, [recipe('fal'), recipe('seedream')])
  const started = await start(t, { yaml: files['gateway.yaml'], upstreams: [] })
  for (const [model, looks] of [
    ['fal-ai/flux/dev', '1024x1024 jpg'],
    ['seedream-4-0', '1024x1024 jpg'],
  ] as const) {
    const { data = [] } = await started.openai.images.generate({ model, prompt: 'a boat', size: '1024x1024' })
    const answer = await fetch(data[0]?.url ?? '')
    t.equal(pictureIn(Buffer.from(await answer.arrayBuffer())), looks, model)
  }
  const edit = await started.post('/v1/images/edits', {
    model: 'fal-ai/nano-banana-2',
    prompt: 'a boat',
    image: 'data:image/png;base64,aaaa',
  })
  t.not(edit.status, 415, 'pictures that are edited may come as JSON')
  await started.settled()
})

t.test('[10] the text models of a simulated vendor answer at once too', async t => {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const contents = [{ parts: [{ text: 'Say hello.' }] }]
  const called: string[] = []
  for (const names of [['gemini', 'gemini-image', 'openai-gpt-image', 'xai-grok-imagine'], ['azure-openai']]) {
    const chosen = names.map(recipe)
    const { files } = await draftConfig(t.testdir(), { upstreams: new Map() }, chosen)
    const started = await start(t, { yaml: files['gateway.yaml'], upstreams: [] })
    for (const { name, operations } of chosen.flatMap(({ models }) => models)) {
      if (/image|embed/.test(name)) continue
      const [path, body] = operations.includes('generate')
        ? [`/v1beta/models/${name}:generateContent`, { contents }]
        : ['/v1/chat/completions', { model: name, messages }]
      const { status } = await started.post(path, body)
      t.equal(status, 200, caseName({ name, path }))
      called.push(name)
    }
    await started.settled()
  }
  t.strictSame(called, ['gemini-2.5-flash', 'gemini-2.5-pro', 'gpt-5-mini', 'grok-4', 'gpt-5-mini'])
})

t.test('[10] recipes that reach a host with the same credential share one upstream', t => {
  const seen = new Map<string, Set<string>>()
  for (const { texts } of recipes)
    for (const text of texts) {
      const { upstreams = {} } = parse(text) as { readonly upstreams?: { readonly [name: string]: Tree } }
      for (const [name, { url, credential }] of Object.entries(upstreams)) {
        const reached = JSON.stringify([url, credential])
        seen.set(reached, (seen.get(reached) ?? new Set()).add(name))
      }
      const variables = [...text.matchAll(/^ {2}([\w-]+):.*\n {4}url: .*# (https:\S+)\n {4}(credential: .*)$/gm)]
      for (const [, name = '', host = '', credential = ''] of variables)
        seen.set(host + credential, (seen.get(host + credential) ?? new Set()).add(name))
    }
  t.ok(seen.size > recipes.length, 'of every recipe')
  t.strictSame(
    [...seen].filter(([, names]) => names.size > 1).map(([where, names]) => [where, ...names]),
    [],
  )
  t.end()
})

const minimal = `version: 1
groups: { default: {} }
upstreams: { mine: { url: "https://mine.example" } }
families:
    own: # four blanks, and no name like it
        forward: { chat: { all: true } }
        token-usage: {}

# about models
models: { m-1: { family: own, upstream: mine, price: free } }
pipeline:
  - auth
  - ratelimit: {}   # of my own
  - multipart-rewrite
  - size-normalize
  - image-tier-billing
  - token-usage
routes: [{ match: "POST /v1/chat/completions", operation: chat, dialect: openai }]
`

t.test('[10] an addition to a family is merged as if written that way', async t => {
  for (const { page, texts } of await readRecipes())
    for (const [i, text] of texts.entries())
      for (const base of texts.slice(0, i)) {
        if (!overlaps(base, text)) continue
        const laid = overlay(base, text)
        t.strictSame(parse(laid), merge(parse(base) as Tree, parse(text) as Tree), caseName({ page, i }))
        for (const comment of base.match(/# .*$/gm) ?? []) t.ok(laid.includes(comment), comment)
      }
  const both = [recipe('gemini-image'), recipe('gemini-image/in-google-s-own-style')]
  const { text, left } = await mergeRecipes(shipped, both)
  t.strictSame(left, [], 'it replaces the shorter version')
  t.match(text, /streams: \[image\.generate, image\.edit, generate\]/)
  const flow = overlay('a: { b: 1 } # one\nc: 2\n', 'a:\n  d:\n    e: 3 # two\nc: 4\n')
  t.strictSame(parse(flow), { a: { b: 1, d: { e: 3 } }, c: 4 })
})

t.test('[10] a file in another style than the shipped one accepts a recipe too', async t => {
  const merged = await mergeRecipes(minimal, [recipe('fal')])
  const { plan, said } = await load(merged.text)
  t.strictSame(said, [])
  t.strictSame([...(plan?.models.keys() ?? [])], ['m-1', 'fal-ai/nano-banana-2', 'fal-ai/flux/dev'])
  t.match(merged.text, /^ {4}own: # four blanks, and no name like it$/m)
  t.match(merged.text, /^ {4}fal-banana: {10,}# models that take/m, 'entries stand below their neighbours')
  t.match(merged.text, /- ratelimit: {}   # of my own\n/)
  t.match(merged.text, / {2}- token-usage\n {2}- translate\nroutes/)
  t.match(merged.text, /\n# about models\nmodels:\n {2}m-1: { family: own, upstream: mine, price: free }\n {2}fal-ai/)

  t.match(merged.text, /, { match: \[POST \/v1\/images\/edits, .*body: form-or-json/, 'and what leads to them')
  const chat = await mergeRecipes(minimal.replace('own:', 'chat:').replace('family: own', 'family: chat'), [
    recipe('openrouter-image'),
    recipe('anthropic'),
  ])
  t.match(
    chat.text,
    /^ {4}messages:\n {6}streams: \[messages\]$/m,
    'families of the shipped file that its models are of',
  )
  const both = await load(chat.text, required(recipe('anthropic')))
  t.strictSame(both.said, [])

  const windows = await mergeRecipes(shipped.replaceAll('\n', '\r\n'), [recipe('fal')])
  t.notMatch(windows.text, /[^\r]\n/, 'lines end as those around them do')
  const short = minimal.replace(/^upstreams.*\n/m, '')
  t.match((await mergeRecipes(short, [recipe('fal')])).text, /\nupstreams:\n {2}fal:\n/, 'a section is made')
  const empty = minimal.replace(/^models.*$/m, 'models:')
  t.match((await mergeRecipes(empty, [recipe('fal')])).text, /\nmodels:\n {2}fal-ai\/nano/)
})

t.test('[10] names that the file already has stay unchanged, and are reported', async t => {
  const own = minimal.replace('{ mine:', '{ fal: { url: "https://proxy.example" }, mine:')
  const merged = await mergeRecipes(own, [recipe('fal')])
  t.strictSame(merged.left, ['upstreams.fal'])
  t.strictSame(merged.added, [
    'families.fal-banana',
    'families.fal-flux',
    'models.fal-ai/nano-banana-2',
    'models.fal-ai/flux/dev',
    'pipeline answer-cache',
    'pipeline format-bridge',
    'pipeline translate',
    'routes of image.generate',
    'routes of image.edit',
  ])
  t.match(merged.text, 'fal: { url: "https://proxy.example" }')
})

t.test('[10] a file that cannot be extended is refused with the reason', async t => {
  await t.rejects(mergeRecipes('{ version: 1 }', [recipe('fal')]), {
    name: 'MergeError',
    message: /written in braces/,
  })
  await t.rejects(mergeRecipes('a: [', [recipe('fal')]), { name: 'MergeError', message: /cannot be read/ })
  const commented = minimal.replace('{ m-1:', '{ # mine\n  m-1:')
  await t.rejects(mergeRecipes(commented, [recipe('fal')]), {
    name: 'MergeError',
    message: /models is written in braces/,
  })
})

t.test('[10] a vendor with jobs gets the route that reports them', async t => {
  const job: Recipe = {
    ...recipe('fal'),
    texts: ['families:\n  j:\n    translate: { job: { id: id, state: s, done: d, poll: { path: /a } } }\n'],
  }
  const { text, added } = await mergeRecipes(minimal, [job])
  t.strictSame(added, ['families.j', 'routes of jobs.get'])
  t.match(text, /dialect: openai }, { match: "GET \/v1\/jobs\/\{id\}"/)
  t.strictSame((await mergeRecipes(shipped, [job])).added, ['families.j'], 'where there is none')
})

t.test('[10] init --vendor prepares a folder, or extends one and keeps the previous file', async t => {
  const place = await makeFolder(t)
  const first = await place.run('init', '--vendor', 'fal', '--vendor', 'gemini-image', '--currency', 'EUR')
  t.match(first, { code: 0, stdout: '', stderr: /npx tollgate serve\n[^]*FAL_URL: https:\/\/fal\.run \(simulated/ })
  const written = await readFile(place.path('gateway.yaml'), 'utf8')
  t.match(written, /^currency: EUR$/m)
  t.notMatch(written, /\balpha|sim-chat/, 'nothing that is made up')
  t.match(written, /operation: image\.edit.*body: form-or-json/)
  t.match(await place.run('check'), { code: 0, stderr: /valid: 4 models in 3 families/ })
  t.match(await place.run('fmt', '--check'), { code: 0 })

  const more = await place.run('init', '--vendor', 'seedream')
  t.match(more, { code: 0, stderr: /added {6}families\.seedream\n[^]*backup: gateway\.yaml\.bak\n/ })
  t.match(more.stderr, /missing {4}add [^\n]*ARK_[^\n]* to \S*\.env\.example/)
  t.notMatch(more.stderr, /missing {4}add [^\n]*FAL_/, 'its value is not shown')
  t.equal(await readFile(place.path('gateway.yaml.bak'), 'utf8'), written)
  const second = await place.run('init', '--vendor', 'qwen-image')
  t.match(second, { code: 0, stderr: /gateway\.yaml\.bak-2\n/ })
  t.equal(await readFile(place.path('gateway.yaml.bak'), 'utf8'), written, 'the first copy is not written over')
  t.match(await place.run('check'), { code: 0, stderr: /valid: 9 models in 5 families/ })

  const before = await readFile(place.path('gateway.yaml'), 'utf8')
  const again = await place.run('init', '--vendor', 'fal')
  t.match(again, { code: 0, stderr: /kept {7}upstreams\.fal: it already exists[^]*nothing was written/ })
  t.equal(await readFile(place.path('gateway.yaml'), 'utf8'), before)
  t.equal((await readdir(place.folder)).filter(name => name.includes('.bak')).length, 2)
})

t.test('[10] init --vendor refuses what it cannot do, and then writes nothing', async t => {
  const place = await makeFolder(t)
  for (const [args, says] of [
    [['--vendor', 'fol'], /unknown recipe 'fol'; expected one of anthropic, .*fal, /],
    [['--vendor', 'fal', '--upstream', 'fal=https://x.example'], /--upstream is only for the simulated vendors/],
    [['--vendor', 'fal', '--currency', 'dollars'], /currency/],
  ] as const)
    t.match(await place.run('init', ...args), { code: 2, stdout: '', stderr: says }, caseName({ args }))
  t.strictSame(await readdir(place.folder), [])

  await writeFile(place.path('gateway.yaml'), `${minimal}nonsense: 1\n`)
  t.match(await place.run('init', '--vendor', 'fal'), { code: 3, stderr: /nonsense[^]*it is invalid, so nothing/ })
  await writeFile(place.path('gateway.yaml'), minimal)
  t.match(await place.run('init', '--vendor', 'fal', '--currency', 'EUR'), {
    code: 2,
    stderr: /--currency is only for a new/,
  })
  const clash = minimal.replace('{ mine:', '{ fal: {}, mine:')
  await writeFile(place.path('gateway.yaml'), clash)
  t.match(await place.run('init', '--vendor', 'fal'), { code: 3, stderr: /nothing was written/ })
  t.strictSame(await readdir(place.folder), ['gateway.yaml'])
  t.equal(await readFile(place.path('gateway.yaml'), 'utf8'), clash)
})

t.test('[10] recipes lists all recipes and their needs, and prints the lines of one', async t => {
  const place = await makeFolder(t)
  const [list, json, one, none] = await Promise.all([
    place.run('recipes'),
    place.run('recipes', '--format', 'json'),
    place.run('recipes', 'fal'),
    place.run('recipes', 'nobody'),
  ])
  t.match(list, {
    code: 0,
    stdout: /^fal +fal-ai\/nano-banana-2 and 1 more +image\.generate image\.edit +FAL_URL FAL_KEY$/m,
  })
  t.match(list.stdout, /^gemini-image\/on-vertex /m)
  const listed = JSON.parse(json.stdout) as readonly { name: string }[]
  t.strictSame(
    listed.map(({ name }) => name),
    recipes.map(({ name }) => name),
  )
  t.match(
    listed.find(({ name }) => name === 'fal'),
    {
      page: 'docs/recipes/fal.md',
      models: [{ name: 'fal-ai/nano-banana-2', operations: ['image.generate', 'image.edit'] }, {}],
      needs: [{ name: 'FAL_URL', required: false, simulator: 'fal', means: 'https://fal.run' }, { name: 'FAL_KEY' }],
    },
  )
  const page = await readFile(new URL('../../docs/recipes/fal.md', import.meta.url), 'utf8')
  t.ok(page.includes(`\`\`\`yaml\n${one.stdout}\`\`\``), 'as they stand on its page')
  t.match(none, { code: 2, stdout: '', stderr: /unknown recipe 'nobody'/ })
})
