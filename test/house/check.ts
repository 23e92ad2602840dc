import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'

// `npm run check`: all checks of the sources that do not run them. The parts run concurrently, because none of them
// needs another's result.
const root = resolve(import.meta.dirname, '../..')
const parts = ['check:types', 'check:lint', 'check:format', 'check:imports'] as const
const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  scripts: { readonly [name: string]: string }
}

const passed = await Promise.all(parts.map(runPart))
if (passed.includes(false)) process.exitCode = 1

/** Runs a part and prints its output in one piece at its end. */
async function runPart(name: (typeof parts)[number]): Promise<boolean> {
  const command = scripts[name]
  if (command === undefined) throw new Error(`package.json has no script ${name}`)
  // Runs under npm, which has already put the packages' programs first in PATH.
  const child = spawn(`{ ${command}; } 2>&1`, { cwd: root, shell: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((done, failed) => child.once('error', failed).once('close', done))
  const [output, code] = await Promise.all([text(child.stdout), ended])
  process.stdout.write(output)
  if (code !== 0) process.stdout.write(`npm run ${name} failed (${code ?? 'ended by a signal'})\n`)
  return code === 0
}
