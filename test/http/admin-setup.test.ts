import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { newVisitor, passwordOfTests } from '../harness/visitor.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/** Runs `tollgate serve` until it has said where the console is. */
async function serve(t: Test, folder: string) {
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
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', text => {
      if (text.startsWith('console ')) resolve(text)
    })
    void gone.then(() => reject(new Error('it ended before it said where the console is')))
  })
  const [, url = '', token] = /(http:\S+)\/console(?:\/setup#(\S+))?$/.exec(line) ?? []
  return { url, token, stop }
}

t.test('C11 serve prints a setup link while nobody can log in, and none afterwards', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-setup-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const first = await serve(t, folder)
  t.match(first.token, /^[\w-]{43}$/)
  await first.stop()

  const second = await serve(t, folder)
  t.not(second.token, first.token, 'each start has a link of its own')
  const visitor = newVisitor(second.url)
  const setup = { name: 'root', password: passwordOfTests }
  t.equal((await visitor.post('/api/setup', { ...setup, token: second.token })).status, 200)
  t.match((await visitor.get('/api/session')).body, { user: { role: 'admin' }, gateway: { base_url: second.url } })
  await second.stop()

  const third = await serve(t, folder)
  t.equal(third.token, undefined)
  const late = await newVisitor(third.url).post('/api/setup', { ...setup, name: 'eve', token: first.token })
  t.equal(late.status, 409, 'a link that was not used is dead, too')
  const again = newVisitor(third.url)
  again.cookie = visitor.cookie
  t.equal((await again.get('/api/session')).status, 200, 'sessions outlive a restart')
})
