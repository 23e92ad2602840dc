import t from 'tap'
import { loadPlan } from '../../src/config/index.ts'
import { knownNames } from '../../src/gateway/known-names.ts'
import { pluginFinder } from '../../src/gateway/plugin-finder.ts'
import { caseName } from '../harness/case-name.ts'
import { editShipped } from '../harness/project.ts'
import { type Edits, start } from '../harness/start.ts'

const ending: Edits = [{ 'models/beta-imagine-image/ends': '2026-12-01' }]
const text = await editShipped(ending)

async function notesOn(day: string, of = text) {
  const file = 'gateway.yaml'
  const loaded = await loadPlan({
    file,
    text: of,
    env: {},
    ...pluginFinder(file),
    known: knownNames,
    now: Date.parse(day),
  })
  return loaded.ok
    ? loaded.notes.map(({ code, message, path, severity }) => ({ code, message, path, severity }))
    : loaded
}

t.test(
  '[10] check reports the end of a model 60 days in advance and also afterwards; no request is refused',
  async t => {
    const path = 'models.beta-imagine-image.ends'
    for (const [day, code, message] of [
      ['2026-10-02T00:00:00Z', 'model_ends', /ends in 60 days/],
      ['2026-11-29T13:00:00Z', 'model_ends', /ends in 2 days/],
      ['2026-11-30T23:59:59Z', 'model_ends', /ends in 1 day:/],
      ['2026-12-01T00:00:00Z', 'model_ended', /has ended/],
      ['2031-01-01T00:00:00Z', 'model_ended', /has ended/],
    ] as const)
      t.match(await notesOn(day), [{ code, message, path, severity: 'note' }], caseName({ day }))
    t.strictSame(await notesOn('2026-10-01T23:59:59Z'), [], 'before that it reports nothing')
    const hidden = await editShipped([...ending, { 'models/beta-imagine-image/enabled': false }])
    t.strictSame(await notesOn('2027-01-01T00:00:00Z', hidden), [], 'nor of a model that is not offered')
  },
)

t.test('[10] an invalid day is refused at its place', async t => {
  const wrong = text.replace('2026-12-01', '2026-02-30')
  t.match(await notesOn('2026-10-01', wrong), {
    findings: [{ path: 'models.beta-imagine-image.ends', message: /not a day/, remedy: /2026-12-01/ }],
  })
})

t.test('[10] clients of a model that ends get its date in a header, in lists and on the price page', async t => {
  const { post, get, url } = await start(t, { edit: ending, simulated: true })
  const ask = (model: string) => post('/v1/images/generations', { model, prompt: 'a boat', size: '1024x1024' })
  const answer = await ask('beta-imagine-image')
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('sunset'), 'Tue, 01 Dec 2026 00:00:00 GMT', 'RFC 8594')
  const refused = await post('/v1/images/generations', { model: 'beta-imagine-image', prompt: 'a boat', n: 1_000 })
  t.equal(refused.status, 400)
  t.equal(refused.headers.get('sunset'), 'Tue, 01 Dec 2026 00:00:00 GMT', 'refusals have it too')
  t.equal((await ask('alpha-image-2')).headers.get('sunset'), null, 'and other models have none')

  const { data } = (await (await get('/v1/models')).json()) as { data: readonly { id: string }[] }
  t.match(
    data.find(({ id }) => id === 'beta-imagine-image'),
    { deprecation_date: '2026-12-01' },
  )
  t.notOk(data.some(({ id, ...rest }) => id !== 'beta-imagine-image' && 'deprecation_date' in rest))
  t.match(await (await get('/v1/models/beta-imagine-image')).json(), { deprecation_date: '2026-12-01' })

  const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as { models: readonly { name: string }[] }
  const priced = models.find(({ name }) => name === 'beta-imagine-image')
  t.match(priced, { ends: '2026-12-01', notes: { en: [], zh: [] } })
  const en = await (await fetch(`${url}/pricing?lang=en`)).text()
  t.match(en, 'Its vendor ends it on 2026-12-01.')
})
