import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

t.test('an uncaught error fails the running test, and only that one', async t => {
  const file = resolve(import.meta.dirname, '../fixtures/stray-errors.ts')
  const preload = resolve(import.meta.dirname, '../harness/preload.cjs')
  const run = promisify(execFile)(process.execPath, [`--require=${preload}`, file], {
    env: { ...process.env, _TAPJS_PROCESSINFO_COVERAGE_: '0' },
  })
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error)
  const results = stdout.split('\n').flatMap(line => /^ *(?:not )?ok \d+ - [a-z ]+/.exec(line)?.[0].trimEnd() ?? [])
  t.strictSame(results, [
    '    not ok 1 - from a timer',
    'not ok 1 - one',
    '    not ok 1 - from a promise',
    'not ok 2 - two',
    '        not ok 1 - from a test of a test',
    '    not ok 1 - inner',
    'not ok 3 - three',
    '    ok 1 - should be equal',
    'ok 4 - the next test runs',
  ])
})
