import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { runCli } from '../harness/cli.ts'
import { png } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

// Names that programs, spreadsheets and databases depend on: none may be renamed or removed.

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

const chargeItemMembers = words('index tier source width height size quantity price flags why at')
const billMembers =
  words(`state size quality count tier source actual_size currency amount held refunded flags warnings reason
  delivery vendor_cost facts lines text sum rule`)
const logMembers =
  words(`id time key_id user group model operation status outcome error duration_ms upstream config_revision
  forwarded dropped client_request_id billing usage marks error_values upstream_said attempts end_user tags cache saved alias
  use_billing`)
const keyMembers =
  words(`id name user group own_group hint status expires old_secret_until models models_barred ips tags cache limits group_limits
  budget budget_period budget_resets_on budget_soft budget_used tightest spent held currency bounds created last_used`)
const userMembers = words(
  'name role group status has_password created keys_max key_bounds budget budget_period budget_resets_on budget_soft',
)
const usageMembers = words('day user key_id model requests images input_tokens output_tokens currency amount refunded')

const csvHead =
  words(`id time key_id user group model operation status outcome error duration_ms upstream config_revision
  client_request_id input_tokens output_tokens state 大小 请求品质 生成数量 图片档位 来源 实际尺寸 currency amount refunded
  flags text vendor_cost counts service_tier speed region end_user tags cache saved alias use_amount
  use_refunded`)

/** The path of an endpoint, the position of a value in its answer, and the value's members in order. */
const answers: readonly { readonly path: string; readonly at: string; readonly members: readonly string[] }[] = [
  { path: '/api/keys', at: 'keys.0', members: keyMembers },
  { path: '/api/keys', at: 'keys.0.limits', members: words('rpm tpm concurrency') },
  { path: '/api/keys/KEY', at: '', members: keyMembers },
  { path: '/api/users', at: 'users.0', members: [...userMembers, 'last_used', 'spent'] },
  { path: '/api/session', at: 'user', members: userMembers },
  {
    path: '/api/session',
    at: 'gateway',
    members: words('base_url currency version revision simulated public_pricing'),
  },
  {
    path: '/api/groups',
    at: 'groups.0',
    members: words(
      'name limits multiplier limit_scope keys_max models budget user_budget end_user_budget limits_per_user limits_in_all users keys',
    ),
  },
  { path: '/api/logs', at: 'records.0', members: logMembers },
  { path: '/api/logs', at: 'records.0.usage', members: words('input_tokens output_tokens') },
  {
    path: '/api/logs',
    at: 'records.0.marks',
    members: words('received_ms asked_ms asked_again_ms first_byte_ms last_byte_ms committed_ms'),
  },
  { path: '/api/logs', at: 'records.0.billing', members: billMembers },
  { path: '/api/logs', at: 'records.0.billing.lines.0', members: chargeItemMembers },
  { path: '/api/logs', at: 'records.0.billing.rule', members: words('kind text rows multiplier') },
  {
    path: '/api/logs',
    at: 'records.0.billing.rule.rows.0',
    members: words('tier long_edge_max price per at'),
  },
  {
    path: '/api/logs/LOG',
    at: '',
    members: [...logMembers, 'key_name', 'user_agent', 'explanation', 'refund', 'refunds', 'use_refunds', 'timing'],
  },
  { path: '/api/logs/LOG', at: 'explanation', members: billMembers },
  { path: '/api/logs/LOG', at: 'timing', members: words('began ended duration_ms') },
  { path: '/api/usage', at: 'rows.0', members: usageMembers },
  {
    path: '/api/overview',
    at: '',
    members: words(`range since until requests errors input_tokens output_tokens p50_ms p95_ms spent images steps ever
      review`),
  },
  { path: '/api/overview', at: 'spent.0', members: words('currency amount') },
  { path: '/api/overview', at: 'images.0', members: words('tier count') },
  {
    path: '/api/models',
    at: 'models.0',
    members: words(
      'name family operations upstreams prices overrides times free limits ends notes streams enabled usable',
    ),
  },
  { path: '/api/models', at: 'models.0.prices.0', members: words('unit price currency per at') },
  { path: '/api/config', at: '', members: words('file revision loaded_at text origins last_reload') },
  { path: '/api/config', at: 'origins.0', members: words('path value file line from') },
  { path: '/api/audit', at: 'rows.0', members: words('id at actor action subject before after reason subject_name') },
  {
    path: '/api/system',
    at: '',
    members: words(`version node started uptime_s memory event_loop_p99_ms open_requests storage counters upstreams
      needs_review review_held disk_free disk_min connections bodies_memory connections_max bodies_memory_max places
      upstream_connections writes_waiting traffic webhooks gateways revision`),
  },
  { path: '/api/account/views', at: '', members: words('views') },
  { path: '/api/account/sessions', at: 'sessions.0', members: words('id created seen agent remote current') },
]

const columns: { readonly [table: string]: readonly string[] } = {
  key: words(`id name user_name group_name hash hint status expires_at models ips tags limits budget spent held created_at
    last_used_at kind old_hash old_until bounds budget_told day_start day_spent month_start month_spent budget_period budget_soft cache`),
  user: words(`name group_name role status password_hash created_at keys_max key_bounds budget balance
    erased_at booked_as late_until budget_period budget_soft`),
  log: words(`id time key_id user_name group_name model operation status outcome error_code duration_ms upstream
    config_revision forwarded dropped client_request_id input_tokens output_tokens`),
  charge:
    words(`id attribution key_id user_name group_name operation model family upstream config_revision currency size quality n rule vendor_cost
    state reason hold amount line_count delivery owner epoch lease_until idem_key idem_fingerprint created_at ended_at
    idem_until kept levels`),
  line: words('charge_id idx tier source width height price flags quantity told'),
}

/** A gateway with a key that has every setting, a user, and a charged request. */
async function furnish(t: Test) {
  const started = await start(t, { upstreams: ['alpha'] })
  const admin = await enterAsAdmin(started)
  const limits = { rpm: 5, tpm: 900, concurrency: 2 }
  const made = await admin.post('/api/keys', { name: 'storefront', limits, budget: '25', budget_period: 'day' })
  const { id } = (made.body as { key: { id: string } }).key
  started.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1254, 1254).toString('base64') }] })
  const sent = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
  await sent.arrayBuffer()
  await started.settled()
  await started.gateway.storage.flush()
  return { started, admin, made: made.body as object, key: id, log: sent.headers.get('x-request-id') ?? '' }
}

function membersAt(answer: unknown, at: string): readonly string[] {
  const steps = at === '' ? [] : at.split('.')
  const found = steps.reduce<unknown>((value, step) => (value as { [step: string]: unknown } | null)?.[step], answer)
  return typeof found === 'object' && found !== null ? Object.keys(found) : [`${at} is ${JSON.stringify(found)}`]
}

t.test('answers about keys, users, requests and charges keep their member names', async t => {
  const { started, admin, made, key, log } = await furnish(t)
  t.strictSame(membersAt(made, ''), ['key', 'secret'])
  t.strictSame(membersAt(made, 'key'), keyMembers)
  for (const { path, at, members } of answers) {
    const { body } = await admin.get(path.replace('KEY', key).replace('LOG', log))
    t.strictSame(membersAt(body, at), members, `${path} ${at}`)
  }
  t.strictSame(Object.keys((await (await started.get(`/v1/charges/${log}`)).json()) as object), billMembers)
  const head = async (path: string) =>
    (await admin.get(path)).text.replace('\uFEFF', '').split('\r\n', 1)[0]?.split(',')
  t.strictSame(await head('/api/logs/export'), csvHead)
  t.strictSame(await head('/api/usage?format=csv'), usageMembers)
})

t.test('the audit log uses the names and words of the key itself', async t => {
  const { admin, key } = await furnish(t)
  await admin.ask('PATCH', `/api/keys/${key}`, {
    expires: '2099-01-31T00:00:00Z',
    budget: '2.5',
    budget_period: 'month',
  })
  await admin.post(`/api/keys/${key}/rotate`, { overlap_seconds: 60 })
  const { rows } = (await admin.get(`/api/audit?subject=${key}`)).body as { rows: { after: object }[] }
  t.match(rows[0]?.after, { old_secret_until: /^20\d\d-/ })
  t.notMatch(rows[0]?.after, { oldUntil: Number }, 'no name of the code, no bare number')
  t.same(rows[1]?.after, { expires: '2099-01-31T00:00:00.000Z', budget: '2.50', budget_period: 'month' })
})

t.test('the audit log has the names of its targets', async t => {
  const { admin, key } = await furnish(t)
  const { body } = await admin.post('/api/invitations', { name: 'zoe', role: 'user' })
  const { id: invitation } = (body as { invitation: { id: string } }).invitation
  await admin.ask('DELETE', `/api/invitations/${invitation}`)
  const made = await admin.post('/api/admin-tokens', { name: 'terraform', role: 'viewer' })
  const { id: token } = (made.body as { admin_token: { id: string } }).admin_token
  await admin.ask('DELETE', `/api/admin-tokens/${token}`)
  await admin.post('/api/config/reload')
  const nameOf = async (filter: string): Promise<string | null | undefined> => {
    const { rows } = (await admin.get(`/api/audit?limit=1&${filter}`)).body as {
      rows: { subject: string; subject_name: string | null }[]
    }
    return rows[0]?.subject_name
  }
  const { name } = (await admin.get(`/api/keys/${key}`)).body as { name: string }
  t.equal(await nameOf(`subject=${key}`), name)
  t.equal(await nameOf('action=invitation.revoke'), 'zoe', 'of an invitation, from the row that created it')
  t.equal(await nameOf('action=admin_token.revoke'), 'terraform')
  t.equal(await nameOf('action=config.reload'), 'gateway.yaml', 'without its folder')
  t.equal(await nameOf('action=user.setup'), null, 'a user is its own name')
})

t.test('the command line keeps its member names of keys, users and requests', async t => {
  const { started, key, log } = await furnish(t)
  const keyLine =
    words(`id name user group hint status models ips tags cache limits expires old_key_until budget budget_period budget_resets_on budget_soft
    budget_used budget_renews spent held created last_used`)
  const run = async (...args: readonly string[]) => (await runCli(started, ...args)).stdout.trimEnd().split('\n')
  const members = async (...args: readonly string[]) =>
    Object.keys(JSON.parse((await run(...args, '--format', 'json'))[0] ?? '') as object)
  t.strictSame(await members('keys', 'show', key), keyLine)
  t.strictSame(await members('keys', 'list'), keyLine)
  t.strictSame(
    (await run('keys', 'show', key)).map(line => line.split(' ', 1)[0]),
    keyLine,
  )
  t.strictSame(await members('keys', 'rotate', key), ['id', 'key', ...keyLine.slice(1)])
  t.strictSame(
    await members('users', 'list'),
    words('name group role status hasPassword createdAt keysMax keyBounds budget budgetPeriod budgetSoft balance'),
  )
  t.strictSame(await members('logs'), logMembers)
  t.strictSame(await members('logs', 'show', log), logMembers)
  t.match((await run('keys', 'list'))[0], /^id +name +user +group +key +status +spent \(USD\) +budget$/)
  t.match((await run('users', 'list'))[0], /^name +group +role +status$/)
})

t.test('the tables keep their columns', async t => {
  const { started } = await furnish(t)
  const db = new DatabaseSync(`${started.folder}/tollgate.db`, { readOnly: true })
  t.teardown(() => db.close())
  for (const [table, wanted] of Object.entries(columns)) {
    const found = db.prepare(`SELECT name FROM pragma_table_info(?)`).all(table)
    t.strictSame(found.map(row => String(row['name'])).toSorted(), wanted.toSorted(), table)
  }
})
