import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { start } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

t.test('a pasted configuration tells nothing of what variables hold, and waits for no pipe or device', async t => {
  const secret = `plain-looking-${'0123456789'.repeat(8)}`
  const started = await start(t, { upstreams: ['alpha'], env: { ODD: secret } })
  const admin = await enterAsAdmin(started)
  const { text } = (await admin.get('/api/config')).body as { text: string }
  const pipe = join(started.folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const pasted = (find: string | RegExp, value: string) =>
    admin.post('/api/config/check', { text: text.replace(find, `"${value}"`) })
  for (const find of [
    'USD',
    /(?<=listen: )".*?"/,
    /(?<=storage: )".*?"/,
    /(?<=url: )".*?"/,
    /(?<=family: )alpha-image\b/,
  ]) {
    const { status, body, text } = await pasted(find, '${ODD}')
    t.match({ status, body }, { status: 200, body: { ok: false } }, String(find))
    t.notMatch(text, 'plain-looking', String(find))
  }
  t.match((await pasted('USD', '${ODD_ONE_OUT:-usd}')).text, "found 'usd'", 'what the text itself says is told')
  for (const file of [pipe, '/dev/zero', started.folder])
    t.match((await pasted('USD', `\${file:${file}}`)).text, 'it is not a file', file)
})
