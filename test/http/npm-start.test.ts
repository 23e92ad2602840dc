import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

// npm sends the signal to the shell that runs the script. The shell ends, and a program that it started goes on alone.
for (const script of [['start'], ['run', '-s', 'tollgate', '--', 'serve']])
  t.test(`a stop of npm ${script[0]} stops the gateway`, async t => {
    const folder = t.testdir()
    await copyFile(join(root, 'gateway.yaml'), join(folder, 'gateway.yaml'))
    const env = {
      ...process.env,
      NODE_OPTIONS: '',
      TOLLGATE_LISTEN: '127.0.0.1:0',
      TOLLGATE_OPS: 'off',
      TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}`,
    }
    const config = ['-c', join(folder, 'gateway.yaml')]
    const args = script[0] === 'start' ? [...script, '--', ...config] : [...script, ...config]
    const npm = spawn('npm', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    npm.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
    npm.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
    while (!/Try it:/.test(printed))
      await Promise.race([once(npm.stdout, 'data'), once(npm.stderr, 'data'), once(npm, 'exit')])
    npm.kill('SIGTERM')
    // The outputs close when the last process that has them ends.
    await once(npm, 'close')
    t.match(printed, /SIGTERM: finishing 0 requests/, 'the gateway stopped in order')
  })
