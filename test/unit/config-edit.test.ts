import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { applyEdits, type ConfigEdit } from '../../src/config/edit/apply-edits.ts'
import { SpliceBudget, Splicer } from '../../src/config/edit/splice.ts'
import { readComments } from '../../src/config/load.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, diceOf } from '../harness/seed.ts'

const root = resolve(import.meta.dirname, '../..')
const env = { ALPHA_API_KEY: 'sk-of-nobody-1234', PRICE: '0.5' }

type Data = { [key: string]: unknown }

/** Realistic configurations: the shipped one, a fleet's, and the recipes that are complete files. */
async function realTexts(): Promise<readonly string[]> {
  const texts = [
    await readFile(join(root, 'gateway.yaml'), 'utf8'),
    await readFile(join(root, 'test/fixtures/fleet/gateway.yaml'), 'utf8'),
  ]
  for (const file of await readdir(join(root, 'docs/recipes'))) {
    const page = await readFile(join(root, 'docs/recipes', file), 'utf8')
    for (const [, block = ''] of page.matchAll(/^```yaml\n(.*?)^```$/gms))
      if (/^models:/m.test(block)) texts.push(block.replace(/^include:.*\n/m, ''))
  }
  return texts
}

const hostile = [
  'plain',
  'a: b',
  'x # y',
  '"quoted"',
  "it's",
  'two\nlines\n',
  '- dash',
  '*alias',
  '&anchor',
  '!tag',
  '{brace}',
  '[list]',
  'yes',
  'null',
  '~',
  '0.04',
  '1e3',
  '0x10',
  '2026-11-23',
  ' blank ',
  '日本語',
  '\\n',
  'a,b',
  '% at',
  '|',
  '>',
  '',
  '\u0007bell',
  'tab\tin',
  '{',
  '}',
  '@x',
  '`x`',
  '#',
  ':',
  '?',
  '-',
  '---',
  'é\u2028x',
  '"',
  "''",
  '<<',
]

/** A random edit of an existing model or of a new one. */
function randomEdit(models: Data, random: (below: number) => number): ConfigEdit {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T
  const names = Object.keys(models)
  const name = pick(names)
  const own = models[name] as Data
  const text = () => pick(hostile)
  const price = () => `0.${random(900) + 100}`
  const prices = own['prices'] as Data | undefined
  const kinds: readonly (() => ConfigEdit)[] = [
    () => ({ path: ['models', name, 'enabled'], value: random(2) === 1 }),
    () => ({ path: ['models', name, 'send_as'], value: text() }),
    () => ({ path: ['models', name, 'limits'], value: { rpm: random(99), shadow: pick([[], ['rpm']]) } }),
    () => ({
      path: ['models', name, 'upstreams'],
      value: Array.from({ length: random(3) + 1 }, () => ({ upstream: text(), weight: random(9) })),
    }),
    () => ({
      path: ['models', name, 'prices', prices && !('from' in prices) ? pick(Object.keys(prices)) : 'input'],
      value: price(),
    }),
    () => ({ path: ['models', name, 'prices', `t-${text()}`.replaceAll('${', '')], value: price() }),
    () => ({ path: ['models', name, 'prices'], value: { input: price(), output: price() } }),
    () => ({ path: ['models', name, 'price'], value: 'free' }),
    () => ({
      path: ['models', `new-${random(99)}`],
      value: { family: text(), upstream: text(), prices: { [text() || 'x']: price() } },
    }),
    () => ({ path: ['models', name, pick(Object.keys(own))] }),
    () => ({ path: ['models', name] }),
  ]
  return pick(kinds)()
}

const rivals: { readonly [member: string]: readonly string[] } = {
  upstreams: ['upstream', 'routes'],
  prices: ['price'],
  price: ['prices'],
}

/** The expected data after an edit, computed independently. */
function expected(before: Data, { path, value }: ConfigEdit): Data {
  const after = structuredClone(before)
  let at = after
  for (const step of path.slice(0, -1)) at = (at[step] ??= {}) as Data
  const last = String(path.at(-1))
  if (value === undefined) delete at[last]
  else at[last] = structuredClone(value)
  const model = (after['models'] as Data)[String(path[1])] as Data | undefined
  if (value !== undefined && model) for (const rival of rivals[String(path[2])] ?? []) delete model[rival]
  return after
}

t.test('random edits of real configurations change only their target, and no comment', async t => {
  const texts = await realTexts()
  t.ok(texts.length > 8, `${texts.length} configurations`)
  t.comment(`SEED=${seed}`)
  const random = diceOf(seed)
  // Each run takes another twelve of them.
  const shuffled = texts.toSorted(() => random(3) - 1).slice(0, 12)
  let made = 0
  for (const original of [...texts.slice(0, 2), ...shuffled]) {
    let text = original
    for (let i = 0; i < 10; i++) {
      const before = parse(text) as Data
      const models = before['models']
      if (typeof models !== 'object' || models === null || Object.keys(models).length === 0) break
      const edit = randomEdit(models as Data, random)
      const about = caseName({ seed, edit })
      // An edit writes out a price that comes from a table or is missing; a test below covers its value.
      const own = (models as Data)[String(edit.path[1])] as Data | undefined
      const isOwn = edit.path.length < 4 || ('prices' in (own ?? {}) && !('from' in ((own?.['prices'] ?? {}) as Data)))
      if (!isOwn) continue
      const edited = await applyEdits({ file: 'gateway.yaml', text, parts: {} }, env, [edit])
      if (!edited.ok) {
        // Expected refusals: a mapping would become empty, or YAML reserves a name.
        if (!/cannot be read as it is|cannot be names/.test(edited.why)) t.fail(`${edited.why}: ${about}`)
        continue
      }
      made++
      const after = parse(edited.texts.text) as Data
      if (!isDeepStrictEqual(after, expected(before, edit))) t.same(after, expected(before, edit), about)
      if (edit.value !== undefined && edit.path[2] !== 'price' && edit.path[2] !== 'upstreams') {
        const comments = readComments(edited.texts.text)
        if (!isDeepStrictEqual(comments, readComments(text))) t.same(comments, readComments(text), about)
      }
      // Undoing: the inverse edit restores the meaning.
      const name = String(edit.path[1])
      const inverse: ConfigEdit = own
        ? { path: ['models', name], value: JSON.parse(JSON.stringify(own)) as NonNullable<ConfigEdit['value']> }
        : { path: ['models', name] }
      const back = await applyEdits(edited.texts, env, [inverse])
      if (!back.ok) {
        if (!/reference/.test(back.why)) t.fail(`${back.why}: back from ${about}`)
      } else if (!isDeepStrictEqual(parse(back.texts.text), before))
        t.same(parse(back.texts.text), before, `back from ${about}`)
      text = edited.texts.text
    }
  }
  t.ok(made > 60, `${made} edits`)
})

/** Comments and blanks at every place where people put them, in every style of mapping. */
const odd = `# head
version: 1   # one
models:      # all of them

  # the first
  a: { family: f, upstream: u, prices: { input: '0.1', output: "0.2" } }   # flow
  b:          # block
    family: f # its family

    upstreams:
      - upstream: u   # first
        weight: 3
      # between
      - { upstream: v }
    prices:
      # per million
      input: 0.5      # no quotes
      output: >-
        0.7
    send_as: |
      two
      lines
  c: {
    family: f, # why
    upstream: u,
    prices: { input: "1" }, # last
  }
  'd.e': { family: f, upstream: u, price: free }
# tail
groups:
  default:
  partner: {}
`

t.test('an edit is made in place, to the letter', async t => {
  const cases: readonly (readonly [edit: ConfigEdit, find: string, put: string])[] = [
    [{ path: ['models', 'a', 'prices', 'input'], value: '0.3' }, "'0.1'", "'0.3'"],
    [{ path: ['models', 'a', 'prices', 'cached'], value: '0.3' }, '"0.2" }', '"0.2", cached: "0.3" }'],
    [{ path: ['models', 'a', 'enabled'], value: false }, '"0.2" } }', '"0.2" }, enabled: false }'],
    [{ path: ['models', 'a', 'prices', 'output'] }, `, output: "0.2"`, ''],
    [{ path: ['models', 'a', 'prices', 'input'] }, `input: '0.1', `, ''],
    [{ path: ['models', 'b', 'prices', 'input'], value: '0.6' }, '0.5      #', '"0.6"      #'],
    [{ path: ['models', 'b', 'prices', 'output'], value: '0.8' }, '>-\n        0.7', '"0.8"'],
    [{ path: ['models', 'b', 'prices', '4K'], value: '1' }, '        0.7\n', '        0.7\n      4K: "1"\n'],
    [{ path: ['models', 'b', 'send_as'], value: 'x' }, '|\n      two\n      lines', 'x'],
    [{ path: ['models', 'b', 'enabled'], value: false }, '      lines\n', '      lines\n    enabled: false\n'],
    [{ path: ['models', 'b', 'upstreams', 0, 'weight'], value: 4 }, 'weight: 3', 'weight: 4'],
    [{ path: ['models', 'b', 'upstreams', 1, 'weight'], value: 4 }, '{ upstream: v }', '{ upstream: v, weight: 4 }'],
    [
      {
        path: ['models', 'b', 'upstreams'],
        value: [{ upstream: 'u', weight: 3 }, { upstream: 'v' }, { upstream: 'w' }],
      },
      '      - { upstream: v }\n',
      '      - { upstream: v }\n      - { upstream: w }\n',
    ],
    [{ path: ['models', 'b', 'upstreams'], value: [{ upstream: 'u', weight: 3 }] }, '      - { upstream: v }\n', ''],
    [{ path: ['models', 'c', 'enabled'], value: false }, '"1" }, # last', '"1" }, enabled: false, # last'],
    [{ path: ['models', 'c', 'upstream'] }, '    upstream: u,\n', '    \n'],
    [{ path: ['models', 'd.e', 'prices'], value: { input: '2' } }, 'price: free', 'prices: { input: "2" }'],
    [{ path: ['models', 'd.e'] }, `  'd.e': { family: f, upstream: u, price: free }\n`, ''],
    [
      { path: ['models', 'new one'], value: { family: 'f', upstream: 'u', price: 'free' } },
      'price: free }\n',
      'price: free }\n  "new one":\n    family: f\n    upstream: u\n    price: free\n',
    ],
    [{ path: ['groups', 'default', 'keys_max'], value: 3 }, '  default:\n', '  default:\n    keys_max: 3\n'],
    [
      { path: ['groups', 'partner', 'budget'], value: { amount: '5.00', per: 'day' } },
      'partner: {}',
      'partner: { budget: { amount: "5.00", per: day } }',
    ],
  ]
  for (const [edit, find, put] of cases)
    for (const eol of ['\n', '\r\n']) {
      const lined = (text: string) => text.replaceAll('\n', eol)
      const edited = await applyEdits({ file: 'gateway.yaml', text: `\uFEFF${lined(odd)}`, parts: {} }, env, [edit])
      t.equal(
        edited.ok ? edited.texts.text : edited.why,
        `\uFEFF${lined(odd.replace(find, () => put))}`,
        caseName({ edit, eol: JSON.stringify(eol) }),
      )
    }
})

t.test('a long list costs no more than its changes, and requests are bounded', async t => {
  const numbers = (count: number, first: number) => Array.from({ length: count }, (_, i) => i + first)
  const text = (count: number) =>
    `models:\n  a: { family: f, upstream: u, limits: { shadow: [${numbers(count, 0).join(', ')}] } }\n`
  const path = ['models', 'a', 'limits', 'shadow']
  const edit = (given: string, ...edits: readonly ConfigEdit[]) =>
    applyEdits({ file: 'gateway.yaml', text: given, parts: {} }, env, edits)
  const edited = await edit(text(3_000), { path, value: [...numbers(2_999, 0), -1] })
  t.match(edited.ok && edited.texts.text, '2998, -1]', 'the unchanged rest is visited, and parsed once')
  const tooMuch = { ok: false, why: /too many changes|too large/ }
  t.match(await edit(text(100), { path, value: numbers(100, 500) }), tooMuch)
  const some = (first: number): ConfigEdit => ({ path, value: numbers(25, first) })
  t.match(await edit(text(25), some(100), some(200)), { ok: true })
  t.match(await edit(text(25), some(100), some(200), some(300)), tooMuch, 'all edits are counted together')
  t.match(await edit(text(9_000), { path, value: numbers(9_000, 0).toReversed() }), tooMuch)
})

t.test('endless nesting and unusual paths and numbers are refused or written correctly', async t => {
  const text = 'models:\n  a: { family: f, upstream: u, prices: { input: "1" }, upstreams: [{ upstream: u }] }\n'
  const edit = (path: ConfigEdit['path'], value: unknown) =>
    applyEdits({ file: 'gateway.yaml', text, parts: {} }, env, [{ path, value: value as never }])
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`)
  t.match(await edit(['models', 'a', 'prices'], nested(100_000)), { ok: false, why: /are nested more than/ })
  t.match(await edit(['models', 'new'], { family: nested(33) }), { ok: false, why: /are nested more than/ })
  t.match(await edit(['models', 'a', 'limits'], nested(32)), { ok: true })
  for (const step of [-1, 1.5, 2, 2 ** 32, 2 ** 53, Number.MAX_VALUE, 'length', '1e9'])
    t.match(await edit(['models', 'a', 'upstreams', step], 'x'), { ok: false }, caseName({ step }))
  for (const value of [0, 2 ** 53, 1e21, Number.MAX_VALUE, Number.MIN_VALUE])
    t.match(await edit(['models', 'a', 'prices', 'input'], value), { ok: true }, caseName({ value }))
})

t.test('the text is parsed once for each change', async t => {
  const list = Array.from({ length: 400 }, (_, i) => i)
  const splicer = new Splicer(`a: [${list.join(', ')}]\n`, new SpliceBudget())
  const before = splicer.root
  splicer.set(['a'], [...list])
  t.equal(splicer.root, before)
  splicer.set(['a'], [...list.slice(0, -1), 7])
  t.not(splicer.root, before)
  t.equal(splicer.root, splicer.root)
})

const main = `version: 1
include: [models/*.yaml]
price_tables: [prices.yaml]
defaults: { models: { upstream: u, prices: { input: "9" } } }
model_lists:
  cheap: { family: f, upstream: u, models: { small: { input: "0.1" }, tiny: free } }
  plain: { family: f, upstream: u, models: [one, two] }   # both
models:
  own: { family: f }
  rowed: { family: f, prices: { from: row } }
  listed: { family: f, upstreams: [{ upstream: u }] }
`
const files = {
  '/etc/models/more.yaml': 'models:\n  far: { family: f, prices: { input: "3" } }   # elsewhere\n',
  '/etc/prices.yaml': 'version: 1\ncurrency: USD\nmodels:\n  row: { prices: { input: "7", output: "8" } }\n',
}

t.test('an edit lands in the declaring file, and removals from other files are reported', async t => {
  const file = '/etc/gateway.yaml'
  const edit = async (...edits: readonly ConfigEdit[]) => applyEdits({ file, text: main, parts: files }, env, edits)
  const price = (name: string, unit: string, value?: string): ConfigEdit => ({
    path: ['models', name, 'prices', unit],
    ...(value !== undefined && { value }),
  })
  const far = await edit(price('far', 'input', '4'))
  t.match(far, { ok: true, changed: ['/etc/models/more.yaml'], notes: [] })
  t.match(
    far.ok && far.texts.parts['/etc/models/more.yaml'],
    'far: { family: f, prices: { input: "4" } }   # elsewhere',
  )
  t.equal(far.ok && far.texts.text, main)

  const rowed = await edit(price('rowed', 'input', '1'))
  t.match(rowed.ok && rowed.texts.text, 'rowed: { family: f, prices: { input: "1", output: "8" } }')
  t.match(rowed, { changed: [file], notes: [/came from \/etc\/prices\.yaml:4/] }, 'a row of a table is spelt out')
  const own = await edit(price('own', 'output', '1'))
  t.match(own.ok && own.texts.text, 'own: { family: f, prices: { input: "9", output: "1" } }', 'so are defaults')
  t.match(own, { notes: [/came from \/etc\/gateway\.yaml:4/] })

  const small = await edit(price('small', 'input', '0.2'), price('small', 'output', '0.3'))
  t.match(small.ok && small.texts.text, 'small: { input: "0.2", output: "0.3" }')
  t.match(small, { notes: [/model_lists\.cheap/] })
  const tiny = await edit(price('tiny', 'input', '0.2'))
  t.match(tiny.ok && tiny.texts.text, 'tiny: { input: "0.2" }')
  const second = await edit({ path: ['models', 'listed', 'upstreams', 1], value: { upstream: 'v' } })
  t.match(second.ok && second.texts.text, 'upstreams: [{ upstream: u }, { upstream: v }] }')
  const two = await edit({ path: ['models', 'two'] })
  t.match(two.ok && two.texts.text, 'models: [one] }   # both')

  for (const [wrong, why] of [
    [{ path: ['models', 'one', 'enabled'], value: false }, /shares this setting with the list/],
    [{ path: ['models', 'own', 'upstream'] }, /comes from \/etc\/gateway\.yaml:4/],
    [{ path: ['models', 'own', 'limits'] }, /there is no models\.own\.limits/],
    [{ path: ['models', 'nobody', 'enabled'], value: true }, /there is no model 'nobody'/],
    [{ path: ['models', 'own', 'colour'], value: 'red' }, /no setting 'colour'/],
    [{ path: ['models', 'own', 'send_as'], value: '${ALPHA_API_KEY}' }, /could read a secret/],
    [{ path: ['models', 'own', 'limits'], value: { rpm: '${file:/etc/passwd}' } }, /could read a secret/],
    [{ path: ['models', '${HOME}'], value: { family: 'f' } }, /not a valid name/],
    [{ path: ['upstreams', 'u', 'url'], value: 'https://evil.example' }, /edit the rest in the file/],
    [{ path: ['models', 'listed', 'upstreams', 99, 'weight'], value: 2 }, /no entry 99/],
    [{ path: ['models', 'listed', 'upstreams', -1], value: { upstream: 'v' } }, /no entry -1/],
    [{ path: ['models', 'listed', 'upstreams', 1] }, /no entry 1/],
    [{ path: ['groups', 'default'] }, /can only be removed in the file/],
  ] as const)
    t.match(await edit(wrong), { ok: false, why, edit: wrong }, caseName({ wrong }))

  for (const text of [
    'models:\n  a: &x { family: f }\n',
    'models:\n  a: { <<: *x }\n',
    'models: [',
    'models:\n  a: !t { family: f }\n',
  ])
    t.match(
      await applyEdits({ file, text, parts: {} }, env, [{ path: ['models', 'a', 'enabled'], value: false }]),
      { ok: false, why: /configuration cannot be read|cannot be changed here/ },
      caseName({ text }),
    )
})
