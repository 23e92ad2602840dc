import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { replayCosts } from '../../src/gateway/what-if.ts'
import { type Charge, type CompiledConfig, showWhatIf } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { askAll, randomRequests, randomYaml } from '../harness/random-prices.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'
import { diceOf } from '../harness/seed.ts'

/** The end of a whole quarter hour, after all charges. */
const costsUntil = Math.ceil(Date.now() / 900_000 + 96) * 900_000
const ever = { since: 0, until: Date.now() + 86_400_000 }

/** The cost of one charge alone. */
function costOf(plan: CompiledConfig, charge: Charge) {
  return replayCosts(plan, { all: () => [charge] }, ever)
}

// Random prices, under which models, tiers, lines and units are added, removed or kept.
for (const seed of [1, 6])
  t.test(`the cost under other prices equals the charges of the same requests there, seed ${seed}`, async t => {
    const dice = diceOf(seed * 7_919)
    const requests = randomRequests(dice, 16)
    const [before, after] = [await askAll(t, randomYaml(dice), requests), await askAll(t, randomYaml(dice), requests)]
    const { storage } = before.started.gateway
    const own = await replayCosts(before.started.plan, storage.books, ever)
    const costs = await storage.journal.costs({ since: 0, until: costsUntil, bars: [0], by: null, where: {} })
    const booked = costs.rows.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0)
    t.same([own.before, own.after, own.notComparable], [booked, booked, []], 'under its own prices nothing changes')

    let compared = 0
    for (const [i, charge] of before.charges.entries()) {
      if (!charge || charge.state !== 'settled') continue
      const there = after.charges[i]
      const { charges, after: found, notComparable } = await costOf(after.started.plan, charge)
      const name = caseName({ seed, i, rule: charge.rule.kind, left: notComparable[0]?.reason ?? '' })
      if (charges === 1) {
        compared++
        // The rounding remainder of earlier requests of the key differs under the two prices.
        const rounding = charge.rule.kind === 'usage' ? 2 : 0
        t.ok(Math.abs(found - (there?.amount ?? 0)) <= rounding, `${name}: ${found}, ${there?.amount ?? 0}`)
      } else if (notComparable[0]?.reason === 'refused' || notComparable[0]?.reason === 'model_gone')
        t.equal(there, undefined, name)
      else t.match(notComparable, [{ reason: 'measure_not_kept' }], name)
    }
    t.ok(compared > 0, 'some are compared')
    const whole = await replayCosts(after.started.plan, storage.books, ever)
    t.equal(whole.charges, compared)
    const left = whole.notComparable.reduce((sum, { cost }) => sum + cost, 0)
    t.equal(whole.before + left, booked, 'omitted charges are reported, and none is lost')
    for (const rows of [whole.byModel, whole.byGroup, whole.byUser])
      t.same(
        [rows.reduce((sum, row) => sum + row.before, 0), rows.reduce((sum, row) => sum + row.after, 0)],
        [whole.before, whole.after],
        'parts are the whole',
      )
  })

t.test('a charge has no count for a price of each request that is new', async t => {
  const dice = diceOf(7_919)
  const requests = randomRequests(dice, 16).filter(({ body }) => body['model'] === 'c-1')
  const yaml = (prices: string): string =>
    randomYaml(diceOf(1)).replace(/c-1: .*/, `c-1: { family: words, upstream: alpha, prices: { ${prices} } }`)
  const tokens = 'input: "1.00", output: "2.00"'
  const { started, charges } = await askAll(t, yaml(tokens), requests)
  t.ok(charges.length > 0)
  const { storage } = started.gateway
  for (const prices of ['request: "0.01"', `${tokens}, request: "0.01"`]) {
    const other = await askAll(t, yaml(prices), [])
    const costs = await replayCosts(other.started.plan, storage.books, ever)
    t.match(costs, { charges: 0, notComparable: [{ reason: 'measure_not_kept', charges: charges.length }] }, prices)
  }
  const { started: same } = await askAll(t, yaml(`${tokens}, web_search: "10"`), [])
  t.match(await replayCosts(same.plan, storage.books, ever), { charges: charges.length, notComparable: [] })
})

t.test('the console and the command line compute the cost under a text, and store nothing of it', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  const admin = await enterAsAdmin(started)
  started.upstream.answer({ created: 1, data: [picture(1000, 1000), picture(2000, 1000)] })
  await (await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a', n: 2 })).arrayBuffer()
  await started.settled()
  const [since, until] = [new Date(Date.now() - 3_600_000).toISOString(), new Date(Date.now() + 60_000).toISOString()]
  const { text } = (await admin.get('/api/config')).body as { text: string }
  const ask = (changed: string, span: object = { since, until }) =>
    admin.post('/api/config/cost', { text: changed, ...span })
  const dearer = text.replace('alpha, prices: { 1K: "0.02", 2K: "0.04"', 'alpha, prices: { 1K: "0.03", 2K: "0.055"')
  const pair = { charges: 1, before: '0.06', after: '0.085', difference: '0.025' }
  t.match((await ask(dearer)).body, {
    ok: true,
    currency: 'USD',
    ...pair,
    by_model: [{ name: 'alpha-image-2', ...pair }],
    by_group: [{ name: 'default', ...pair }],
    by_user: [{ name: 'local', ...pair }],
    not_comparable: [],
    uncounted: [],
  })
  const edit = (value: string, name = 'alpha-image-2') => ({ path: ['models', name, 'prices', '2K'], value })
  const askEdits = (edits: object[], more = {}) => admin.post('/api/config/cost', { edits, since, until, ...more })
  t.match(
    (await askEdits([edit('0.05')])).body,
    { ok: true, charges: 1, before: '0.06', after: '0.07', by_model: [{ name: 'alpha-image-2' }] },
    'of a change as a proposal has it',
  )
  t.match((await askEdits([edit('a lot')])).body, { ok: false, findings: [{ severity: 'error' }] })
  t.match((await askEdits([edit('0.05', 'nobody')])).body, { error: { field: 'models.nobody.prices.2K' } })
  t.equal((await askEdits([edit('0.05')], { text })).status, 400, 'one of the two')
  t.equal((await admin.post('/api/config/cost', {})).status, 400)
  t.match((await ask(dearer, {})).body, { ok: true, charges: 0, since: /-01T/ }, 'last month by default')
  t.match((await ask(text.replace('alpha-image-2:', 'another:'))).body, {
    charges: 0,
    not_comparable: [{ reason: 'model_gone', model: 'alpha-image-2', charges: 1, cost: '0.06', currency: 'USD' }],
  })
  t.match((await ask(text.replace('version: 1', 'version: 9'))).body, { ok: false, findings: [{ path: 'version' }] })
  t.equal((await ask(text, { until: since, since: until })).status, 400, 'the wrong way round')
  t.equal((await ask(text, { zone: 'Mars/Base' })).status, 400)
  t.equal((await ask('x'.repeat(2_000_000))).status, 413)
  t.match((await admin.get('/api/config')).body, { text, last_reload: null }, 'nothing has changed')
  const viewer = await enterAsUser(started, admin, 'vera', 'viewer')
  t.equal((await viewer.post('/api/config/cost', { text })).status, 403)

  const then = join(started.folder, 'then.yaml')
  const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')
  await writeFile(then, shipped.replace('alpha, prices: { 1K: "0.02"', 'alpha, prices: { 1K: "0.01"'))
  const place = { folder: started.folder, storage: `sqlite:${join(started.folder, 'tollgate.db')}` }
  const result = await runCli(place, 'config', 'cost', then, '--since', '1h')
  t.match(result.stdout, /alpha-image-2 +1 +0\.06 +0\.05 +-0\.01\n/, result.stderr)
  t.match(result.stdout, '1 charge: 0.06 USD as charged, 0.05 by')
  const json = await runCli(place, 'config', 'cost', then, '--since', '1h', '--format', 'json')
  t.match(JSON.parse(json.stdout), { charges: 1, before: '0.06', after: '0.05', difference: '-0.01' })
  await writeFile(then, shipped.replace('alpha-image-2:', 'another:'))
  const lost = await runCli(place, 'config', 'cost', 'nosuch.yaml')
  t.match(lost, { code: 3, stderr: /^nosuch\.yaml does not exist\n$/ })
  const left = await runCli(place, 'config', 'cost', then, '--since', '1h')
  t.match(left.stdout, /not compared: 1 charge of alpha-image-2, 0\.06 USD: \S+ has no such model\n/)
})

t.test('uncomparable charges are listed up to a number of rows, and the rest in one row per reason', async t => {
  const left = Array.from({ length: 205 }, (_, i) => {
    return {
      reason: i % 2 === 0 ? 'model_gone' : 'open',
      model: `m${i}`,
      currency: 'USD',
      charges: 1,
      cost: 1_000,
    } as const
  })
  const none = { charges: 0, before: 0, after: 0, byModel: [], byGroup: [], byUser: [], uncounted: [] }
  const shown = showWhatIf({ ...none, since: 0, until: 1, currency: 'USD', notComparable: left }).not_comparable
  t.equal(shown.length, 202)
  t.same(shown.slice(200), [
    { reason: 'model_gone', model: null, currency: 'USD', charges: 3, cost: '0.003' },
    { reason: 'open', model: null, currency: 'USD', charges: 2, cost: '0.002' },
  ])
})

t.test('a cancelled computation ends, and uncomputable charges are reported as such', async t => {
  const { started, charges } = await askAll(t, randomYaml(diceOf(5)), randomRequests(diceOf(9), 6))
  const signal = AbortSignal.abort(new Error('left'))
  await t.rejects(replayCosts(started.plan, started.gateway.storage.books, ever, { signal }), { message: 'left' })
  const charge = charges.find(one => one?.state === 'settled' && one.amount > 1)
  if (!charge) throw new Error('nothing was charged')
  const [line] = charge.lines
  const plan = started.plan
  for (const [reason, changed] of [
    ['open', { ...charge, state: 'needs_review' as const }],
    ['other_currency', { ...charge, currency: 'EUR' }],
    ['decided', { ...charge, lines: [{ ...line, tier: 'decided' }] as Charge['lines'] }],
    ['refunded_in_part', { ...charge, refunded: 1 }],
    ['not_reproducible', { ...charge, lines: [{ ...line, price: 987_654_321 }] as Charge['lines'] }],
    ['group_gone', { ...charge, group: 'gone' }],
    ['model_gone', { ...charge, model: 'gone' }],
    ['charged_otherwise', { ...charge, model: charge.model === 'c-1' ? 'p-1' : 'c-1' }],
  ] as const)
    t.match((await costOf(plan, changed)).notComparable, [{ reason, charges: 1 }], reason)
  t.match(await costOf(plan, { ...charge, refunded: charge.amount }), { charges: 1, before: 0, after: 0 })
  t.match(await costOf(plan, { ...charge, state: 'voided' }), { charges: 0, notComparable: [] })
})
