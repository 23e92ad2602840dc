import { flushCompileCache, registerHooks } from 'node:module'
import type { Answered, Asked } from './commands.ts'

/** The maximum time for a command to release its resources after its last output, in milliseconds. */
const endMs = 20_000

// The threads of a storage are reused by later commands.
const threads = new URL('./threads.ts', import.meta.url).href
registerHooks({
  resolve: (name, context, next) =>
    name.endsWith('/thread.ts') && context.parentURL?.endsWith('/storage/sqlite/open.ts')
      ? { url: threads, shortCircuit: true }
      : next(name, context),
})

const { run } = await import('../../src/cli/run.ts')

/** Runs commands one after the other, in order. */
let last: Promise<void> = Promise.resolve()
const kept = new Set<string>()
process.on('message', (command: Asked) => {
  last = last.then(async () => {
    process.send?.(await answer(command))
    keepCompiled(command.words[0] ?? '')
  })
})

/**
 * Node writes its compile cache when it exits. This process is killed, so it writes after the first run of each
 * command.
 */
function keepCompiled(command: string): void {
  if (kept.has(command)) return
  kept.add(command)
  flushCompileCache()
}

// Each command adds listeners.
for (const output of [process.stdout, process.stderr]) output.setMaxListeners(0)

async function answer({ id, cwd, env, words }: Asked): Promise<Answered> {
  const outputs = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (chunk: string | Uint8Array, ...more: readonly unknown[]) => {
      outputs[name].push(Buffer.from(chunk as string))
      const callback = more.at(-1)
      if (typeof callback === 'function') process.nextTick(callback)
      return true
    }
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = undefined
  const before = count(process.getActiveResourcesInfo())
  try {
    await run(['node', 'tollgate', ...words])
    await letGo(before)
    return {
      id,
      code: exitCode(),
      stdout: String(Buffer.concat(outputs.stdout)),
      stderr: String(Buffer.concat(outputs.stderr)),
    }
  } catch (error) {
    return { id, fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

// The command assigns it.
const exitCode = (): number => Number(process.exitCode ?? 0)

/**
 * Waits until nothing keeps the process alive, as a process of its own would exit. @throws Error if something still
 * does
 */
async function letGo(before: ReadonlyMap<string, number>): Promise<void> {
  const end = performance.now() + endMs
  for (;;) {
    const now = count(process.getActiveResourcesInfo())
    const left = [...now].filter(([name, times]) => times > (before.get(name) ?? 0)).map(([name]) => name)
    if (left.length === 0) return
    if (performance.now() > end) throw new Error(`the command does not end, for it holds: ${left.join(', ')}`)
    await new Promise(resolve => setTimeout(resolve, 1).unref())
  }
}

function count(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
