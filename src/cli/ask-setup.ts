import { cancel, intro, outro, select, text } from '@clack/prompts'
import { Exit, exitCodes } from './exit.ts'

/** The questions for a new configuration; each is a flag too. */
export type SetupAnswers = {
  readonly upstreams: ReadonlyMap<string, string>
  readonly listen?: string
  readonly storage?: string
  readonly counters?: string
}

/** Prompts on a terminal for the answers that no flag has set. @throws Exit 1 when the person leaves */
export async function askSetup(known: SetupAnswers, names: readonly string[]): Promise<SetupAnswers> {
  intro('Set up a new gateway. Press Enter to accept a default.', streams)
  const upstreams = new Map(known.upstreams)
  for (const name of names) {
    if (upstreams.has(name)) continue
    const url = await ask(`URL of the upstream '${name}'? Leave empty to simulate it for now`, 'https://…', checkUrl)
    if (url !== '') upstreams.set(name, url)
  }
  const listen = known.listen ?? (await ask('Address for clients?', '127.0.0.1:8080'))
  const storage = known.storage ?? (await choose('Storage for keys and charges?', storages))
  const counters = known.counters ?? (await choose('Store for rate limit counters?', countings))
  outro('Setup complete.', streams)
  return {
    upstreams,
    ...(listen !== '' && { listen }),
    ...(storage !== '' && { storage }),
    ...(counters !== '' && { counters }),
  }
}

/** Questions are for people, so they go to standard error. */
const streams = { output: process.stderr }

const storages = [
  { value: '', label: 'in a file, ./data/tollgate.db' },
  { value: 'postgres://127.0.0.1/tollgate', label: 'in PostgreSQL (set TOLLGATE_STORAGE to its URL)' },
]
const countings = [
  { value: '', label: 'in the process' },
  { value: 'redis://127.0.0.1:6379', label: 'in Redis, for several processes (set TOLLGATE_COUNTERS to its URL)' },
]

function checkUrl(answer: string | undefined): string | undefined {
  if (answer === undefined || answer === '' || /^https?:\/\/[^\s@?#]+$/.test(answer)) return undefined
  return 'write https://HOST[/PATH], or leave it empty'
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
