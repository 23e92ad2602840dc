import { readFile } from 'node:fs/promises'
import t from 'tap'
import { agents } from '../../src/cli/agents.ts'
import { findBillFaults } from '../agents/reconcile.ts'
import { programs } from '../agents/programs.ts'
import { start } from '../harness/start.ts'
import { makeFolder } from '../harness/folder.ts'

const page = await readFile(new URL('../../docs/agents.md', import.meta.url), 'utf8')

t.test(
  'init --agent prints the settings of docs/agents.md, for a model with the features that the agent needs',
  async t => {
    const place = await makeFolder(t)
    await place.run('init', '--yes')
    for (const { name, title } of agents) {
      const { code, stdout, stderr } = await place.run('init', '--agent', name)
      t.equal(code, 0, name)
      t.match(stderr, 'Set TOLLGATE_API_KEY to an API key', name)
      for (const line of stdout.trim().split('\n')) t.ok(page.includes(line), `${title}: ${line}`)
      t.ok(page.includes(`| ${title} | `), `${title} is in the table`)
    }
  },
)

t.test('docs/agents.md names the versions that npm run test:agents installs', async t => {
  for (const agent of agents) {
    const versions = programs.filter(program => program.agent === agent.name).map(({ version }) => version)
    t.ok(versions.length > 0, agent.name)
    t.ok(page.includes(`| ${agent.title} | \`${agent.operation}\` | ${versions.join(', ')} |`), agent.name)
  }
})

t.test('init --agent takes an address and a model, writes a file once, and refuses invalid combinations', async t => {
  const place = await makeFolder(t)
  const args = ['init', '--agent', 'opencode', '--url', 'https://gateway.example/v1/', '--model', 'm-1', '--write']
  t.match(await place.run(...args), { code: 0, stdout: '', stderr: /wrote opencode\.json/ })
  const written = await readFile(place.path('opencode.json'), 'utf8')
  t.match(JSON.parse(written), { provider: { tollgate: { options: { baseURL: 'https://gateway.example/v1' } } } })
  t.match(await place.run(...args), { code: 1, stderr: /opencode\.json exists\. .*--force/ })
  t.match(await place.run(...args, '--force'), { code: 0 })
  t.match(await place.run('init', '--agent', 'emacs'), {
    code: 2,
    stderr: /unknown agent 'emacs'\. Use one of: claude/,
  })
  const noAddress = ['init', '--agent', 'aider', '--model', 'm-1', '--url', 'gateway']
  t.match(await place.run(...noAddress), { code: 2, stderr: /--url 'gateway' is not an address/ })
  await place.run('init', '--yes')
  const wrong = await place.run('init', '--agent', 'codex', '--model', 'sim-messages')
  t.match(wrong, {
    code: 2,
    stderr: /'sim-messages' .* does not offer responses, which Codex needs\. Use one of: sim-chat/,
  })
})

t.test('the reconciliation of an agent finds a charge that is not the price of its counts', async t => {
  const { post, logs } = await start(t, { simulated: true })
  for (const content of ['one', 'one two three'])
    await (await post('/v1/chat/completions', { model: 'sim-chat', messages: [{ role: 'user', content }] })).text()
  const rows = await logs()
  t.same(findBillFaults(rows, 2), [])
  t.match(findBillFaults(rows, 3), [/2 requests of at least 3/])
  const [row] = rows
  if (!row?.billing) throw new Error('no charge')
  const { billing } = row
  const [line] = billing.lines
  if (!line) throw new Error('no charge item')
  const dearer = { ...billing, lines: [{ ...line, price: '1.00' }, ...billing.lines.slice(1)] }
  t.match(findBillFaults([{ ...row, billing: dearer }], 1), [/cost 1\.00, not/, /its lines sum to/])
  t.match(findBillFaults([{ ...row, billing: { ...billing, state: 'needs_review' } }], 1), [/charge needs_review/])
  t.match(findBillFaults([{ ...row, billing: null }], 1), [/no charge/])
  t.match(findBillFaults([{ ...row, status: 502 }], 1), [/status 502/])
  t.match(findBillFaults([{ ...row, usage: { ...row.usage, output_tokens: 1 } }], 1), [/output tokens of 1/])
})
