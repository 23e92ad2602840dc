import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'

const file = `
import t from 'tap'
process.on('exit', () => console.log('what it started is ended'))
t.test('never ends', () => new Promise(() => setInterval(() => {}, 60_000)))
console.log('it runs')`

t.test('a file that tap ends after its timeout also ends its child processes', async t => {
  const words = ['--require', './test/harness/preload.cjs', '--input-type=module', '--eval', file]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => child.kill('SIGKILL'))
  const all = text(child.stdout)
  child.stdout.on('data', (output: Buffer) => output.includes('it runs') && child.kill('SIGALRM'))
  await once(child, 'close')
  t.match(await all, 'what it started is ended')
})
