import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { png } from '../harness/pictures.ts'
import { startForSdk } from './sdk-gateway.ts'

// `npm run test:python`: the SDKs of openai, anthropic and google-genai for Python, in an environment of their own that
// goes with the run. Needs python3 with venv and a package index, and about a minute: too much for `npm test`.

const run = promisify(execFile)
const timeout = 300_000
t.setTimeout(timeout)

t.test('the SDKs for Python', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-python-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const python = join(folder, 'venv', 'bin', 'python')
  await run('python3', ['-m', 'venv', join(folder, 'venv')], { timeout })
  const requirements = join(import.meta.dirname, 'python-requirements.txt')
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements], { timeout })
  const picture = join(folder, 'picture.png')
  await writeFile(picture, png(60, 40))

  const gateway = await startForSdk(t)
  const env = {
    ...process.env,
    GATEWAY_URL: gateway.url,
    GATEWAY_KEY: gateway.key,
    GATEWAY_SPENT_KEY: gateway.keys.spent,
    GATEWAY_PICTURE: picture,
  }
  const { stdout } = await run(python, [join(import.meta.dirname, 'python_sdks.py')], { env, timeout })
  const lines = stdout.split('\n').filter(line => line !== '')
  t.ok(lines.length > 0, 'something was tried')
  for (const line of lines) {
    const { title, ok, trace } = JSON.parse(line) as { title: string; ok: boolean; trace?: string }
    t.ok(ok, title)
    if (trace !== undefined) t.comment(trace)
  }
  t.comment(`Python: ${await gateway.requests()} requests`)
})
