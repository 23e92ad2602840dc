import type { Readable, Writable } from 'node:stream'
import { autocompleteMultiselect, cancel, intro, outro, select, text } from '@clack/prompts'
import type { Recipe } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/** The questions for a new configuration; each is a flag too. */
export type SetupAnswers = {
  readonly vendor: readonly string[]
  readonly listen?: string
  readonly storage?: string
  readonly counters?: string
}

type Terminal = { readonly input: Readable; readonly output: Writable }

/**
 * Prompts on a terminal for the answers that no flag has set. `recipes`: the vendors to choose from; undefined if flags
 * have named upstreams.
 * @throws Exit 1 when the person leaves
 */
export async function askSetup(
  known: SetupAnswers,
  recipes: readonly Recipe[] | undefined,
  // Questions are for people, so they go to standard error.
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Promise<SetupAnswers> {
  const given = <T>(answer: T): Exclude<T, symbol> => {
    if (typeof answer !== 'symbol') return answer as Exclude<T, symbol>
    cancel('Nothing was written.', terminal)
    throw new Exit(exitCodes.failure, '')
  }
  const choose = async (message: string, options: { value: string; label: string }[]): Promise<string> =>
    given(await select({ message, options, ...terminal }))

  intro('Set up a new gateway. Press Enter to accept a default.', terminal)
  const vendor = recipes
    ? given(await autocompleteMultiselect({ ...vendors, options: recipes.map(optionOf), ...terminal }))
    : known.vendor
  const listen =
    known.listen ??
    given(await text({ message: 'Address for clients?', placeholder: '127.0.0.1:8080', defaultValue: '', ...terminal }))
  const storage = known.storage ?? (await choose('Storage for keys and charges?', storages))
  const counters = known.counters ?? (await choose('Store for rate limit counters?', countings))
  outro('Setup complete.', terminal)
  return {
    vendor,
    ...(listen !== '' && { listen }),
    ...(storage !== '' && { storage }),
    ...(counters !== '' && { counters }),
  }
}

const vendors = {
  message: 'Which vendors do you use? Without one, the gateway starts with simulated models',
  placeholder: 'type to search',
  maxItems: 8,
}

function optionOf({ name, models }: Recipe): { value: string; label: string; hint: string } {
  return { value: name, label: name, hint: models.map(model => model.name).join(', ') }
}

const storages = [
  { value: '', label: 'in a file, ./data/tollgate.db' },
  { value: 'postgres://127.0.0.1/tollgate', label: 'in PostgreSQL (set TOLLGATE_STORAGE to its URL)' },
]
const countings = [
  { value: '', label: 'in the process' },
  { value: 'redis://127.0.0.1:6379', label: 'in Redis, for several processes (set TOLLGATE_COUNTERS to its URL)' },
]
