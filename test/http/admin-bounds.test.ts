import t from 'tap'
import { keySettings } from '../../src/domain/shapes/key.ts'
import { start } from '../harness/start.ts'
import { type Answered, enterAsAdmin, enterAsUser, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const soon = '2098-01-01T00:00:00.000Z'
const later = '2099-01-01T00:00:00.000Z'
const [alpha, beta, chat] = ['alpha-image-2', 'beta-imagine-image', 'sim-chat']

/** Values of one setting for a key whose bounds (`most`) an administrator has set. */
type Row = {
  /** The body in which the administrator sets the bound, with the settings that it needs. */
  readonly most: object
  /** Values that are all lower or equal. */
  readonly lower: readonly object[]
  /** Values that are all higher. */
  readonly raise: readonly object[]
  /** The value without any bound, as for a key on which no administrator has set one. */
  readonly none: object
}

/** By setting, in the names of requests. A setting that is missing here fails the test. */
const rows: { readonly [setting: string]: Row | 'free' | 'never' } = {
  name: 'free',
  group: 'never',
  tags: 'never',
  cache: 'never',
  budget: {
    most: { budget: '10', budget_period: 'month' },
    lower: [{ budget: '9.999999' }, { budget: '0' }, { budget: '10' }, { budget: '10', budget_period: 'total' }],
    raise: [{ budget: null }, { budget: '10.000001' }, { budget: '1000' }, { budget: null, budget_period: 'day' }],
    none: { budget: null },
  },
  budget_period: {
    most: { budget: '10', budget_period: 'month' },
    lower: [{ budget_period: 'total' }, { budget_period: 'month' }],
    raise: [{ budget_period: 'day' }, { budget: '1', budget_period: 'day' }, { budget_period: 'week' }],
    none: { budget: null, budget_period: 'total' },
  },
  budget_soft: {
    most: { budget: '10', budget_period: 'day' },
    lower: [{ budget_soft: false }],
    raise: [{ budget_soft: true }, { budget: '1', budget_soft: true }],
    none: { budget: null, budget_soft: false },
  },
  budget_resets_on: {
    most: { budget: '10', budget_period: 'month', budget_resets_on: 15 },
    lower: [{ budget_period: 'month', budget_resets_on: 15 }, { budget_period: '31d' }, { budget_period: 'total' }],
    raise: [{ budget_period: 'month', budget_resets_on: 14 }, { budget_period: '30d' }],
    none: { budget: null, budget_period: 'total' },
  },
  limits: {
    most: { limits: { rpm: 10, tpm: 1000, concurrency: 2 } },
    lower: [
      { limits: { rpm: 1, tpm: 1000, concurrency: 2 } },
      { limits: { rpm: 10, tpm: 1, concurrency: 1 } },
      { limits: { rpm: 10, tpm: 1000, concurrency: 2 } },
    ],
    raise: [
      { limits: {} },
      { limits: { rpm: 11, tpm: 1000, concurrency: 2 } },
      { limits: { rpm: 10, tpm: 1001, concurrency: 2 } },
      { limits: { rpm: 10, tpm: 1000, concurrency: 3 } },
      { limits: { rpm: 1, tpm: 1 } },
    ],
    none: { limits: {} },
  },
  models: {
    most: { models: [alpha, 'beta-*'] },
    lower: [
      { models: [alpha] },
      { models: [beta] },
      { models: [beta, alpha] },
      { models: ['beta-*'] },
      { models: ['beta-imagine-*', alpha] },
    ],
    raise: [
      { models: null },
      { models: [chat] },
      { models: [alpha, beta, chat] },
      { models: [alpha, chat] },
      { models: ['*'] },
      { models: ['beta*'] },
      { models: [`${alpha}*`] },
      { models: ['alpha-*', 'beta-*'] },
    ],
    none: { models: null },
  },
  ips: {
    most: { ips: ['10.0.0.0/8', '2001:db8::/32'] },
    lower: [
      { ips: ['10.1.2.3'] },
      { ips: ['10.0.0.0/9', '2001:db8:1::/48'] },
      { ips: ['::ffff:10.4.0.0/110'] },
      { ips: ['::ffff:a00:0/104'] },
      { ips: ['2001:0db8:0::1', '10.0.0.0/8'] },
    ],
    raise: [
      { ips: null },
      { ips: ['10.0.0.0/7'] },
      { ips: ['10.0.0.1', '11.0.0.1'] },
      { ips: ['::ffff:10.0.0.0/103'] },
      { ips: ['::ffff:11.0.0.0/104'] },
      { ips: ['::/0'] },
      { ips: ['0.0.0.0/0'] },
      { ips: ['2001:db8::/31'] },
      { ips: ['a00::/8'] },
    ],
    none: { ips: null },
  },
  expires: {
    most: { expires: soon },
    lower: [{ expires: '2097-01-01T00:00:00Z' }, { expires: soon }],
    raise: [{ expires: null }, { expires: later }, { expires: '2098-01-01T00:00:00.001Z' }],
    none: { expires: null },
  },
  status: {
    most: { status: 'disabled' },
    lower: [{ status: 'disabled' }],
    raise: [{ status: 'active' }],
    none: { status: 'active' },
  },
}

const settings = [...Object.keys(keySettings), 'status']

t.test("field × role × direction: an administrator's bound can be lowered and never raised", async t => {
  const started = await start(t, { simulated: true })
  const root = await enterAsAdmin(started)
  const ann = await enterAsUser(started, root, 'ann')
  const others: { readonly [role: string]: Visitor } = {
    'another user': await enterAsUser(started, root, 'ben'),
    viewer: await enterAsUser(started, root, 'vic', 'viewer'),
    billing: await enterAsUser(started, root, 'bill', 'billing'),
  }
  t.same(Object.keys(rows).toSorted(), settings.toSorted(), 'every setting has its row')

  const make = async (more: object) => {
    const { status, ...given } = more as { status?: string }
    const made = await root.post('/api/keys', { name: 'made', user: 'ann', ...given })
    const { id } = (made.body as { key: { id: string } }).key
    if (status !== undefined) await root.ask('PATCH', `/api/keys/${id}`, { status })
    return id
  }
  const change = (visitor: Visitor, id: string, body: object) => visitor.ask('PATCH', `/api/keys/${id}`, body)
  const shown = async (id: string) => {
    const { last_used: _used, ...key } = (await root.get(`/api/keys/${id}`)).body as { last_used: unknown }
    return key
  }
  let tried = 0
  const refused = (answer: Answered, field: string, title: string) => {
    t.match([answer.status, answer.code], [403, 'out_of_bounds'], title)
    t.match(answer.body, { error: { field } })
    tried++
  }

  /** If an administrator sends a value that the holder has already set, the answer reports that, too. */
  const confirmed = async (setting: string, row: Row, field: string) => {
    const { status, ...given } = row.most as { status?: string }
    const made = await ann.post('/api/keys', { name: 'own', ...given })
    const { id } = (made.body as { key: { id: string } }).key
    if (status !== undefined) await change(ann, id, { status })
    t.same((await change(root, id, { name: 'renamed' })).body, { ...(await shown(id)), last_used: null })
    t.match(await shown(id), { name: 'renamed', bounds: {} }, `${setting}: what is not sent is not said`)
    t.match((await change(root, id, row.most)).body, { bounds: { [field]: { by: 'root' } } }, `${setting} confirmed`)
    for (const body of row.raise) refused(await change(ann, id, body), field, `${setting} up: ${JSON.stringify(body)}`)
    for (const body of row.lower) {
      t.equal((await change(ann, id, body)).status, 200, `${setting} down: ${JSON.stringify(body)}`)
      t.equal((await change(ann, id, row.most)).status, 200, `${setting} as far up as it was`)
    }
  }

  for (const setting of settings) {
    const row = rows[setting]
    if (row === undefined) continue
    if (row === 'free') {
      t.equal((await change(ann, await make({}), { [setting]: 'another' })).status, 200, `${setting} is the holder's`)
      continue
    }
    if (row === 'never') {
      const values: { readonly [setting: string]: readonly [unknown, unknown] } = {
        tags: [['web'], ['batch']],
        cache: ['on', 'off'],
      }
      const [own, other] = values[setting] ?? ['partner', 'default']
      const id = await make({ [setting]: own })
      for (const value of [other, null]) refused(await change(ann, id, { [setting]: value }), setting, setting)
      t.equal((await change(ann, id, { [setting]: own })).status, 200, 'the current value')
      t.equal((await change(root, id, { [setting]: other })).status, 200, caseName({ setting }))
      continue
    }
    const field = setting.startsWith('budget_') ? 'budget' : setting
    const id = await make(row.most)
    for (const body of row.raise) {
      const before = await shown(id)
      const answer = await change(ann, id, body)
      refused(answer, field, `${setting} up: ${JSON.stringify(body)}`)
      t.match(answer.text, /root set that/, 'the author of the bound is reported')
      t.same(await shown(id), before, 'nothing has changed')
    }
    for (const body of row.lower) {
      const answer = await change(ann, id, body)
      t.equal(answer.status, 200, `${setting} down: ${JSON.stringify(body)} ${answer.text}`)
      for (const raise of row.raise) refused(await change(ann, id, raise), field, `${setting} up again`)
      t.equal((await change(ann, id, row.most)).status, 200, `${setting} as far up as it was`)
      tried += 2
    }
    for (const [role, visitor] of Object.entries(others)) {
      const before = await shown(id)
      for (const body of [...row.lower, ...row.raise]) {
        t.ok([403, 404].includes((await change(visitor, id, body)).status), `${setting} by ${role}`)
        tried++
      }
      t.same(await shown(id), before, caseName({ role, visitor }))
    }
    // A new secret does not make a new key.
    t.equal((await ann.post(`/api/keys/${id}/rotate`)).status, 200, caseName({ setting }))
    for (const body of row.raise) refused(await change(ann, id, body), field, `${setting} up after a rotation`)
    for (const body of row.raise) {
      t.equal((await change(root, id, body)).status, 200, `${setting} up by an administrator`)
      tried++
    }
    await confirmed(setting, row, field)
    await change(root, id, row.none)
    for (const body of [...row.lower, ...row.raise].filter(() => setting !== 'status')) {
      t.equal((await change(ann, id, body)).status, 200, `${setting} is the holder's when nobody has set it`)
      tried++
    }
  }
  t.comment(`${tried} combinations`)
})

t.test('an administrator who disables a key that its holder had disabled binds it', async t => {
  const started = await start(t, { simulated: true })
  const root = await enterAsAdmin(started)
  const ann = await enterAsUser(started, root, 'ann')
  const { key } = (await ann.post('/api/keys', { name: 'own', budget: '5' })).body as { key: { id: string } }
  const own = (body: object) => ann.ask('PATCH', `/api/keys/${key.id}`, body)
  t.match((await own({ status: 'disabled' })).body, { status: 'disabled', bounds: {} })
  t.equal((await own({ status: 'active', budget: '500' })).status, 200, "a holder's own value is not a bound")
  await own({ status: 'disabled' })
  await root.ask('PATCH', `/api/keys/${key.id}`, { status: 'disabled' })
  t.equal((await own({ status: 'active' })).status, 403)
  await root.ask('PATCH', `/api/keys/${key.id}`, { name: 'renamed' })
  t.same((await own({ budget: '900' })).status, 200, 'a value that an administrator left unchanged is not a bound')
  await root.ask('PATCH', `/api/keys/${key.id}`, { budget: '900' })
  t.equal((await own({ budget: '901' })).status, 403, 'a value that they sent unchanged is')
  const [row] = ((await root.get('/api/audit?limit=1')).body as { rows: readonly object[] }).rows
  t.match(row, { action: 'key.change', actor: 'root', subject: key.id, before: {} }, 'and the audit log has it')
  t.same((row as { after: object }).after, {
    bounds: { budget: { to: { amount: '900.00', per: 'total', resets_on: null }, by: 'root' } },
  })
  t.match((await root.ask('PATCH', `/api/keys/${key.id}`, { status: 'active' })).body, { bounds: {} })
  t.equal((await own({ status: 'disabled' })).status, 200)
  t.equal((await own({ status: 'active' })).status, 200)
})

t.test("keys that a user creates stay within the user's bounds", async t => {
  const started = await start(t, {
    simulated: true,
    edit: [{ 'groups/partner/keys_max': 1 }],
  })
  const root = await enterAsAdmin(started)
  const ann = await enterAsUser(started, root, 'ann')
  const set = (body: object) => root.ask('PATCH', '/api/users/ann', body)
  const make = (body: object) => ann.post('/api/keys', { name: 'own', ...body })
  const early = ((await make({ budget: '100' })).body as { key: { id: string } }).key.id

  const most = {
    budget: '10',
    budget_period: 'day',
    limits: { rpm: 5 },
    models: [alpha],
    ips: ['10.0.0.0/8'],
    expires: soon,
  }
  t.match((await set({ keys_max: 4, key_bounds: most })).body, {
    keys_max: 4,
    key_bounds: { budget: { to: { amount: '10.00', per: 'day' }, by: 'root' }, models: { to: [alpha], by: 'root' } },
  })
  t.match((await make({})).body, { key: { ...most, budget: '10.00' } }, 'an omitted value is the maximum')
  t.match((await make({ budget: '2', models: null, limits: { tpm: 7 } })).body, {
    key: { budget: '2.00', budget_period: 'total', models: [alpha], limits: { rpm: 5, tpm: 7 } },
  })
  for (const [field, body] of [
    ['budget', { budget: '11', budget_period: 'day' }],
    ['models', { models: [beta] }],
    ['limits', { limits: { rpm: 6 } }],
    ['ips', { ips: ['11.0.0.1'] }],
    ['expires', { expires: later }],
    ['group', { group: 'partner' }],
  ] as const) {
    const answer = await make(body)
    t.match([answer.status, answer.body], [403, { error: { code: 'out_of_bounds', field } }], field)
  }
  t.equal((await ann.ask('PATCH', `/api/keys/${early}`, { budget: '50' })).status, 200, 'less, though above')
  t.equal((await ann.ask('PATCH', `/api/keys/${early}`, { budget: '51' })).status, 403)
  const play = (await ann.post('/api/playground/key')).body as { key: string }
  const request = { model: beta, prompt: 'a boat' }
  const used = await started.post('/v1/images/generations', request, { authorization: `Bearer ${play.key}` })
  t.equal(used.status, 403, 'the playground is bound too')

  const many = await Promise.all(Array.from({ length: 5 }, () => make({})))
  t.equal(many.filter(answer => answer.status === 201).length, 1, 'of many at once as many as may be')
  t.match(many.find(answer => answer.status === 403)?.body, { error: { field: 'keys_max' } })
  await ann.ask('DELETE', `/api/keys/${early}`)
  t.equal((await make({})).status, 201, 'a revoked one makes room')
  await set({ keys_max: null })
  t.equal((await make({})).status, 201, 'the group has no setting')
  await set({ group: 'partner' })
  t.match((await make({})).text, /at most 1 keys: group partner/)
  await set({ key_bounds: null, group: 'default' })
  t.match((await make({})).body, { key: { budget: null, models: null, ips: null, limits: {} } })
})

t.test('users can read their bounds, and a refusal has data for any language', async t => {
  const started = await start(t, {
    simulated: true,
    edit: [
      [
        'partner: {',
        'partner: { keys_max: 2, user_budget: { amount: "50", per: month }, limits_per_user: { rpm: 90 },',
      ],
    ],
  })
  const root = await enterAsAdmin(started)
  const ann = await enterAsUser(started, root, 'ann')
  const ben = await enterAsUser(started, root, 'ben')
  const own = async (visitor = ann) => (await visitor.get('/api/users/ann/ceilings')).body
  const set = (body: object) => root.ask('PATCH', '/api/users/ann', body)
  t.match(await own(), { keys: { have: 0, most: null, by: null }, key_bounds: {}, budget: null, limit_scope: 'key' })
  await set({ group: 'partner' })
  t.match(await own(), {
    group: 'partner',
    keys: { have: 0, most: 2, by: 'group' },
    budget: { amount: '50.00', per: 'month', by: 'group' },
    limits_per_user: { rpm: 90 },
  })
  const { groups } = (await root.get('/api/groups')).body as { groups: { name: string }[] }
  t.match(
    groups.find(({ name }) => name === 'partner'),
    { keys_max: 2, budget: null, user_budget: { amount: '50.00', per: 'month' }, limits_per_user: { rpm: 90 } },
  )
  const most = { budget: '9', budget_period: 'day', limits: { rpm: 5 }, models: [alpha], ips: ['10.0.0.0/8'] }
  await set({ keys_max: 1, budget: '20', budget_period: 'total', key_bounds: { ...most, expires: soon } })
  t.match(await own(), {
    keys: { have: 0, most: 1, by: 'user' },
    budget: { amount: '20.00', per: 'total', by: 'user' },
    key_bounds: { limits: { to: { rpm: 5 }, by: 'root' }, expires: { to: soon, by: 'root' } },
  })
  t.same(await own(root), await own(), 'an administrator sees the same')
  t.equal((await ben.get('/api/users/ann/ceilings')).status, 404, "another's are not there")
  const self = 'root'
  t.match(
    (await root.get(`/api/users/${self}/ceilings`)).body,
    { keys: { most: null }, key_bounds: {} },
    'nobody bounds them',
  )

  const make = (body: object) => ann.post('/api/keys', { name: 'own', ...body })
  for (const [body, values] of [
    [
      { budget: '10', budget_period: 'day' },
      { amount: '9.00', per: 'day', by: 'root' },
    ],
    [{ limits: { rpm: 6 } }, { rpm: 5, tpm: null, concurrency: null, by: 'root' }],
    [{ models: [beta] }, { names: alpha, by: 'root' }],
    [{ ips: ['11.0.0.1'] }, { names: '10.0.0.0/8', by: 'root' }],
    [{ expires: later }, { at: soon, by: 'root' }],
  ] as const)
    t.match((await make(body)).body, { error: { values } }, caseName({ body }))
  t.match((await make({})).body, { key: { expires: soon } }, 'without a value it ends at the latest time')
  t.match((await make({})).body, { error: { field: 'keys_max', values: { keys: 1, by: 'an administrator' } } })
  t.match(await own(), { keys: { have: 1 } })
})
