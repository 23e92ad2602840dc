import { cancel, intro, outro, select, text } from '@clack/prompts'
import { Exit, exitCodes } from './exit.ts'

/** The questions for a new configuration; each is a flag too. */
export type SetupAnswers = {
  readonly upstreams: ReadonlyMap<string, string>
  readonly listen?: string
  readonly storage?: string
  readonly counters?: string
}

/** Prompts on a terminal for what no flag has set. @throws Exit 1 when the person leaves */
export async function askSetup(known: SetupAnswers, names: readonly string[]): Promise<SetupAnswers> {
  intro('A new gateway. Return takes what is shown.', streams)
  const upstreams = new Map(known.upstreams)
  for (const name of names) {
    if (upstreams.has(name)) continue
    const url = await ask(`Where is the upstream '${name}'? Empty: simulated until you say`, 'https://…', checkUrl)
    if (url !== '') upstreams.set(name, url)
  }
  const listen = known.listen ?? (await ask('Where shall callers reach it?', '127.0.0.1:8080'))
  const storage = known.storage ?? (await choose('Where are keys and charges kept?', storages))
  const counters = known.counters ?? (await choose('Where are limits counted?', countings))
  outro('That is all.', streams)
  return {
    upstreams,
    ...(listen !== '' && { listen }),
    ...(storage !== '' && { storage }),
    ...(counters !== '' && { counters }),
  }
}

/** Questions are words for people. */
const streams = { output: process.stderr }

const storages = [
  { value: '', label: 'in a file, ./data/tollgate.db' },
  { value: 'postgres://127.0.0.1/tollgate', label: 'in PostgreSQL (TOLLGATE_STORAGE says where)' },
]
const countings = [
  { value: '', label: 'in the process' },
  { value: 'redis://127.0.0.1:6379', label: 'in Redis, for several processes (TOLLGATE_COUNTERS says where)' },
]

function checkUrl(answer: string | undefined): string | undefined {
  if (answer === undefined || answer === '' || /^https?:\/\/[^\s@?#]+$/.test(answer)) return undefined
  return 'write https://HOST[/PATH], or nothing'
}

async function ask(
  message: string,
  placeholder: string,
  validate?: (answer: string | undefined) => string | undefined,
): Promise<string> {
  return given(await text({ message, placeholder, ...(validate && { validate }), ...streams }))
}

async function choose(message: string, options: { value: string; label: string }[]): Promise<string> {
  return given(await select({ message, options, ...streams }))
}

function given(answer: string | symbol | undefined): string {
  if (typeof answer !== 'symbol') return answer ?? ''
  cancel('Nothing was written.', streams)
  throw new Exit(exitCodes.failure, '')
}
