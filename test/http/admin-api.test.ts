import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { start } from '../harness/start.ts'

const run = promisify(execFile)
const page = await readFile(join(import.meta.dirname, '../../docs/admin-api.md'), 'utf8')
const section = page.slice(page.indexOf('## From LiteLLM'))

/** The commands of a section, each on one line. */
function commandsOf(title: string): readonly string[] {
  const [, part = ''] = section.split(`\n### ${title}\n`)
  const [, block = ''] = /```sh\n(.+?)```/s.exec(part.split('\n### ')[0] ?? '') ?? []
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line !== '')
}

t.test('every command of the page for LiteLLM users works, in order', async t => {
  const started = await start(t, {
    upstreams: [],
    simulated: true,
    onDisk: true,
    edit: [['server:\n', 'server:\n  console_edits: on\n']],
  })
  const made = await runCli(
    started,
    'admin-tokens',
    'create',
    '--name',
    'script',
    '--role',
    'admin',
    '--format',
    'json',
  )
  t.equal(made.code, 0, made.stderr)
  const { token, id } = JSON.parse(made.stdout) as { token: string; id: string }
  const env: Record<string, string> = { PATH: process.env['PATH'] ?? '', TOLLGATE: started.url, TOKEN: token }
  const titles = [...section.matchAll(/^### (.+)$/gm)].map(([, title = '']) => title)
  const anchors = [...section.matchAll(/\]\(#([a-z-]+)\)/g)].map(([, anchor]) => anchor)
  for (const anchor of anchors)
    t.ok(
      titles.some(title => title.toLowerCase().replaceAll(' ', '-') === anchor),
      String(anchor),
    )
  const answers = new Map<string, string>()
  let secret = ''
  for (const title of titles) {
    const commands = commandsOf(title)
    t.ok(commands.length > 0, `${title} has a command`)
    for (const command of commands) {
      const { stdout } = await run('/bin/sh', ['-c', `${command} -sS -w '\\n%{http_code}'`], { env })
      const cut = stdout.lastIndexOf('\n')
      answers.set(title, stdout.slice(0, cut))
      t.match(stdout.slice(cut + 1), /^20[014]$/, caseName({ stdout, title }))
    }
    if (title === 'Create a key') {
      const created = JSON.parse(answers.get(title) ?? '') as { secret: string; key: { id: string } }
      env['ID'] = created.key.id
      secret = created.secret
      const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
      const sent = await started.post('/v1/chat/completions', chat, { authorization: `Bearer ${secret}` })
      t.equal(sent.status, 200, await sent.text())
      await started.settled()
    }
  }
  t.match(JSON.parse(answers.get('Read a key') ?? ''), { name: 'batch', budget: '10.00', limits: { rpm: 30 } })
  t.match(JSON.parse(answers.get('Update a key') ?? ''), { budget: '20.00' })
  t.match(JSON.parse(answers.get('Block a key') ?? ''), { status: 'disabled' })
  t.match(JSON.parse(answers.get('Rotate a key') ?? ''), { secret: /^sk-/ })
  t.match(JSON.parse(answers.get('Create a team') ?? ''), { ok: true, files: [/./] })
  const { groups } = JSON.parse(answers.get('Read teams') ?? '') as { groups: { name: string }[] }
  t.match(
    groups.find(group => group.name === 'research'),
    { limits: { rpm: 120 }, budget: { amount: '500.00', per: 'month' } },
  )
  t.equal(await started.gateway.storage.users.find('ada'), undefined)
  const listed = await runCli(started, 'admin-tokens', 'list')
  t.match(listed.stdout, /script .*admin .*read,keys,people,money,config/)
  t.notMatch(listed.stdout, token)
  t.equal((await runCli(started, 'admin-tokens', 'revoke', 'script')).code, 0)
  t.equal((await runCli(started, 'admin-tokens', 'revoke', id)).code, 1)
  t.equal((await fetch(`${started.url}/api/users`, { headers: { authorization: `Bearer ${token}` } })).status, 401)
  const wrong: readonly (readonly string[])[] = [
    ['--name', 'x', '--role', 'user'],
    ['--name', 'x', '--role', 'admin', '--scopes', 'keys,all'],
    ['--name', 'x', '--role', 'admin', '--ips', 'localhost'],
    ['--name', 'x', '--role', 'admin', '--expires', '2001-01-01'],
  ]
  for (const words of wrong)
    t.equal((await runCli(started, 'admin-tokens', 'create', ...words)).code, 2, caseName({ words }))
})
