import { flushCompileCache, registerHooks } from 'node:module'
import type { Answered, Asked } from './commands.ts'

/** How long a command may need to let go of what it holds, in milliseconds, once it has said everything. */
const endMs = 20_000

// The threads of a storage are kept from one command to the next.
const threads = new URL('./threads.ts', import.meta.url).href
registerHooks({
  resolve: (name, context, next) =>
    name.endsWith('/thread.ts') && context.parentURL?.endsWith('/storage/sqlite/open.ts')
      ? { url: threads, shortCircuit: true }
      : next(name, context),
})

const { run } = await import('../../src/cli/run.ts')

/** Commands that run one after the other, as they came. */
let last: Promise<void> = Promise.resolve()
const kept = new Set<string>()
process.on('message', (asked: Asked) => {
  last = last.then(async () => {
    process.send?.(await answer(asked))
    keepCompiled(asked.words[0] ?? '')
  })
})

/** Node keeps what it compiled when it exits. This process is killed, so it does that after the first of each command. */
function keepCompiled(command: string): void {
  if (kept.has(command)) return
  kept.add(command)
  flushCompileCache()
}

// Each command listens.
process.stdout.setMaxListeners(0)

async function answer({ id, cwd, env, words }: Asked): Promise<Answered> {
  const said = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (chunk: string | Uint8Array, ...more: readonly unknown[]) => {
      said[name].push(Buffer.from(chunk as string))
      const told = more.at(-1)
      if (typeof told === 'function') process.nextTick(told)
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
      stdout: String(Buffer.concat(said.stdout)),
      stderr: String(Buffer.concat(said.stderr)),
    }
  } catch (error) {
    return { id, fault: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

// Assigned by whoever runs.
const exitCode = (): number => Number(process.exitCode ?? 0)

/** A process ends when nothing is left that it waits for. @throws Error when this one would not */
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
