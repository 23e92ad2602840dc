import t from 'tap'
import { applyEdits, listEditable } from '../../src/config/index.ts'
import { editOf, pathText, type Staged, type Value, valueAt } from '../../src/console/pages/config/edit/changes.ts'
import { fieldsOf } from '../../src/console/pages/config/edit/fields.ts'
import { readChanges } from '../../src/console/pages/config/edit/wanted.ts'
import { speakWith } from '../../src/console/words/index.ts'
import english from '../../src/console/words/en.json' with { type: 'json' }

const text = `version: 1
upstreams: { alpha: { url: "simulator:alpha" }, beta: { url: "simulator:beta" } }
families: { pictures: {}, words: {} }
groups:
  default: { rpm: 60 }   # everybody
  partner:
    multiplier: "0.9"
    budget: { amount: "100", per: month }
    limits_in_all: { rpm: 900 }
models:
  p-1: { family: pictures, upstream: alpha, prices: { 1K: "0.02", 2K: "0.04" } }   # the first
  "p.2": { family: pictures, upstreams: [{ upstream: alpha, weight: 3 }, { upstream: beta }], prices: { 1K: "\${ONE:-0.02}" } }
  w-1: { family: words, upstream: alpha, price: free, limits: { rpm: 5 } }
model_lists:
  more: { family: words, upstream: beta, models: { w-2: { input: "1.00" } } }
`
const texts = { file: '/config/gateway.yaml', text }
speakWith('en', english)

type Case = {
  readonly of: 'models' | 'groups'
  readonly name: string
  /** The typed text, by field of the entry. */
  readonly typed: { readonly [place: string]: string }
  readonly changes: readonly (readonly [path: string, value?: Value])[]
  /** The expected value of a member after the edit. */
  readonly becomes: readonly [member: string, value: Value | undefined]
}

const cases: readonly Case[] = [
  {
    of: 'models',
    name: 'p-1',
    typed: { 'prices.2K': ' 0.05 ', enabled: 'false' },
    changes: [
      ['models.p-1.prices.2K', '0.05'],
      ['models.p-1.enabled', false],
    ],
    becomes: ['prices', { '1K': '0.02', '2K': '0.05' }],
  },
  {
    of: 'models',
    name: 'p-1',
    typed: { 'prices.1K': '', 'prices.2K': '', price: 'free' },
    changes: [['models.p-1.price', 'free']],
    becomes: ['prices', undefined],
  },
  {
    of: 'models',
    name: 'p-1',
    typed: { 'prices.1K': '' },
    changes: [['models.p-1.prices.1K']],
    becomes: ['prices', { '2K': '0.04' }],
  },
  {
    of: 'models',
    name: 'p.2',
    typed: { upstream: 'beta' },
    changes: [['models["p.2"].upstream', 'beta']],
    becomes: ['upstreams', undefined],
  },
  {
    of: 'models',
    name: 'p.2',
    typed: { 'upstreams[0].weight': '1.5', 'upstreams[1].priority': '2', 'prices.2K': '0.04' },
    changes: [
      ['models["p.2"].prices.2K', '0.04'],
      ['models["p.2"].upstreams[0].weight', 1.5],
      ['models["p.2"].upstreams[1].priority', 2],
    ],
    becomes: [
      'upstreams',
      [
        { upstream: 'alpha', weight: 1.5 },
        { upstream: 'beta', priority: 2 },
      ],
    ],
  },
  {
    of: 'models',
    name: 'w-1',
    typed: { 'prices.input': '0.50', price: '', 'limits.rpm': '' },
    changes: [['models.w-1.prices.input', '0.50'], ['models.w-1.limits']],
    becomes: ['price', undefined],
  },
  {
    of: 'models',
    name: 'w-2',
    typed: { 'prices.input': '2.00' },
    changes: [['models.w-2.prices.input', '2.00']],
    becomes: ['prices', { input: '2.00' }],
  },
  {
    of: 'groups',
    name: 'default',
    typed: { 'budget.amount': '10', 'budget.per': 'day', keys_max: '0' },
    changes: [
      ['groups.default.budget.amount', '10'],
      ['groups.default.budget.per', 'day'],
      ['groups.default.keys_max', 0],
    ],
    becomes: ['budget', { amount: '10', per: 'day' }],
  },
  {
    of: 'groups',
    name: 'partner',
    typed: { 'budget.resets_on': '15', 'budget.soft': 'true' },
    changes: [
      ['groups.partner.budget.resets_on', 15],
      ['groups.partner.budget.soft', true],
    ],
    becomes: ['budget', { amount: '100', per: 'month', resets_on: 15, soft: true }],
  },
  {
    of: 'groups',
    name: 'default',
    typed: { 'user_budget.amount': '5', 'user_budget.per': 'week', 'user_budget.resets_on': 'sunday' },
    changes: [
      ['groups.default.user_budget.amount', '5'],
      ['groups.default.user_budget.per', 'week'],
      ['groups.default.user_budget.resets_on', 'sunday'],
    ],
    becomes: ['user_budget', { amount: '5', per: 'week', resets_on: 'sunday' }],
  },
  {
    of: 'groups',
    name: 'partner',
    typed: { 'budget.amount': '', 'limits_in_all.rpm': '', multiplier: '0.8' },
    changes: [['groups.partner.multiplier', '0.8'], ['groups.partner.limits_in_all'], ['groups.partner.budget']],
    becomes: ['budget', undefined],
  },
]

async function formOf(of: Case['of'], name: string, changes: readonly Staged[] = []) {
  const editable = await listEditable(texts, {})
  const entry = editable[of].find(one => one.name === name)
  if (!entry) throw new Error(`there is no ${name}`)
  const shown = entry as Parameters<typeof fieldsOf>[1]
  const list = { ...editable, base: '', writable: true, why_not: null } as Parameters<typeof fieldsOf>[2]
  return { entry: shown, fields: fieldsOf(of, shown, list, changes, 'USD').flatMap(({ fields }) => fields) }
}

for (const { of, name, typed, changes, becomes } of cases)
  t.test(`typing ${name} changes the file's value: ${JSON.stringify(typed)}`, async t => {
    const { entry, fields } = await formOf(of, name)
    const root = pathText([of, name])
    const textOf = (field: string) => {
      const place = field.slice(root.length).replace(/^\./, '')
      return typed[place] ?? fields.find(one => one.name === field)?.text ?? ''
    }
    for (const place of Object.keys(typed))
      t.ok(
        fields.some(one => one.name === root + (place.startsWith('[') ? place : `.${place}`)),
        place,
      )
    const read = readChanges(entry, fields, textOf)
    t.strictSame(
      read.map(({ path, value }) => (value === undefined ? [pathText(path)] : [pathText(path), value])),
      changes,
    )
    const edited = await applyEdits(texts, {}, read.map(editOf) as Parameters<typeof applyEdits>[2])
    if (!edited.ok) throw new Error(edited.why)
    t.match(edited.texts.text, /# everybody/)
    const after = (await listEditable(edited.texts, {}))[of].find(one => one.name === name)
    const [member, value] = becomes
    t.strictSame(valueAt(after?.whole as Value, [member]), value)
    const again = await formOf(of, name, read)
    for (const [place, typedText] of Object.entries(typed)) {
      const field = again.fields.find(one => one.name === `${root}.${place}`)
      if (read.some(one => pathText(one.path) === field?.name)) t.equal(field?.text, typedText.trim(), place)
    }
  })

t.test('an empty field changes nothing, and an invalid number is reported at its field', async t => {
  for (const [of, name] of [
    ['models', 'p.2'],
    ['groups', 'partner'],
  ] as const) {
    const { entry, fields } = await formOf(of, name)
    const own = (field: string) => fields.find(one => one.name === field)?.text ?? ''
    t.same(readChanges(entry, fields, own), [], name)
    for (const { name: field, kind } of fields) {
      if (kind === 'text' || kind === 'choice' || kind === 'day') continue
      const wrong = (one: string) => (one === field ? 'much' : own(one))
      let thrown: unknown
      try {
        readChanges(entry, fields, wrong)
      } catch (error) {
        thrown = error
      }
      t.match(thrown, { field }, field)
    }
  }
})
