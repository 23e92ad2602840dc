import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { newVisitor, passwordOfTests } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/** Runs `tollgate serve` until it prints a line that matches: the last line of its start. */
async function serve(t: Test, folder: string, last: RegExp) {
  const env = {
    ...process.env,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}`,
  }
  const child = spawn(process.execPath, [bin, 'serve', '-c', shipped], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const gone = once(child, 'exit')
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await gone
  }
  t.teardown(stop)
  const logged: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', text => {
      logged.push(text)
      if (last.test(text)) resolve()
    })
    void gone.then(() => reject(new Error(`it ended before it said ${String(last)}`)))
  })
  const text = logged.join('\n')
  const [, url = ''] = /^console +(http:\S+)\/console$/m.exec(text) ?? []
  const file = join(folder, 'tollgate-setup-link')
  const link = text.includes(file) ? await readFile(file, 'utf8') : ''
  const token = /\/console\/setup#(\S+)\n$/.exec(link)?.[1]
  return { url, token, stop, text }
}

t.test('C11 serve prints a setup link while no one can sign in, and none afterwards', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-setup-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const first = await serve(t, folder, /^Created a first API key/)
  t.match(first.token, /^[\w-]{43}$/)
  const key = await readFile(join(folder, 'tollgate-first-key'), 'utf8')
  t.match(key, /^sk-\S+\n$/)
  for (const name of ['tollgate-setup-link', 'tollgate-first-key']) {
    t.match(first.text, join(folder, name), caseName({ name }))
    t.equal(((await stat(join(folder, name))).mode & 0o777).toString(8), '600', caseName({ name }))
  }
  t.notMatch(first.text, first.token ?? '', 'without a terminal the link is not in the log')
  t.notMatch(first.text, key.trim(), 'nor is the key')
  await first.stop()

  const second = await serve(t, folder, /tollgate-setup-link/)
  t.not(second.token, first.token, 'each start has a link of its own')
  const visitor = newVisitor(second.url)
  const setup = { name: 'root', password: passwordOfTests }
  t.equal((await visitor.post('/api/setup', { ...setup, token: second.token })).status, 200)
  t.match((await visitor.get('/api/session')).body, { user: { role: 'admin' }, gateway: { base_url: second.url } })
  await second.stop()

  const third = await serve(t, folder, /^console /)
  t.equal(third.token, undefined)
  const late = await newVisitor(third.url).post('/api/setup', { ...setup, name: 'eve', token: first.token })
  t.equal(late.status, 409, 'a link that was not used is dead, too')
  const again = newVisitor(third.url)
  again.cookie = visitor.cookie
  t.equal((await again.get('/api/session')).status, 200, 'sessions outlive a restart')
})
