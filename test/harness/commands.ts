import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const hostFile = fileURLToPath(new URL('./command-host.ts', import.meta.url))
const fastImports = fileURLToPath(new URL('./fast-imports.cjs', import.meta.url))

/** How a command ended, and its output. */
export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** The environment of a command. */
type Place = {
  /** Its working folder; this process's when absent. */
  readonly cwd?: string
  /** All of its environment variables. */
  readonly env: NodeJS.ProcessEnv
}

/** Messages to the process that runs commands, and back. */
export type Asked = {
  readonly id: number
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly words: readonly string[]
}
export type Answered = { readonly id: number } & (Ran | { readonly fault: string })

type Waiting = { resolve(ran: Ran): void; reject(error: Error): void }

let host: { readonly child: ChildProcess; readonly waiting: Map<number, Waiting> } | undefined
let lastId = 0

/**
 * Runs `tollgate …` to its end, without a terminal and with empty standard input. All commands of a test file run in
 * one process, one after the other, because starting a process takes ten times as long as most commands. A gateway, and
 * a command with options for Node, have a process of their own.
 */
export function runCommand(place: Place, words: readonly string[]): Promise<Ran> {
  if (words[0] === 'serve' || tellsNode(place.env)) return runProcess(place, words)
  const { child, waiting } = (host ??= startHost())
  const id = ++lastId
  if (waiting.size === 0) setHeld(child, true)
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    child.send({ id, cwd: place.cwd ?? process.cwd(), env: place.env, words } satisfies Asked)
  })
}

/** The same, in a process of its own; optionally with standard input. */
export async function runProcess(place: Place, words: readonly string[], input?: string): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...words], {
    cwd: place.cwd,
    env: place.env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.end(input)
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('a command has no output')
  const [printed, errorText, [code]] = await Promise.all([text(stdout), text(stderr), once(child, 'close')])
  return { code: code as number | null, stdout: printed, stderr: errorText }
}

/** Environment variables that Node reads when a process starts. */
function tellsNode(env: NodeJS.ProcessEnv): boolean {
  return ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS'].some(
    name => env[name] !== undefined && env[name] !== process.env[name],
  )
}

function startHost(): NonNullable<typeof host> {
  const child = fork(hostFile, {
    execArgv: ['--require', fastImports],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const waiting = new Map<number, Waiting>()
  child.on('message', (answer: Answered) => {
    const one = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (waiting.size === 0) setHeld(child, false)
    if ('fault' in answer) one?.reject(new Error(answer.fault))
    else one?.resolve({ code: answer.code, stdout: answer.stdout, stderr: answer.stderr })
  })
  const end = (): void => void child.kill('SIGKILL')
  process.on('exit', end)
  child.once('exit', code => {
    process.off('exit', end)
    host = undefined
    for (const one of waiting.values()) one.reject(new Error(`what runs commands has ended (${code})`))
  })
  setHeld(child, false)
  return { child, waiting }
}

/** Sets whether the child keeps this process alive. */
function setHeld(child: ChildProcess, isHeld: boolean): void {
  if (isHeld) child.ref()
  else child.unref()
  if (isHeld) child.channel?.ref()
  else child.channel?.unref()
}
