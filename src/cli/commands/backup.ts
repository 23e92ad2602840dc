import { backupStorage, restoreStorage } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { needFile } from '../need-file.ts'
import { readBooksPlan } from '../open-books.ts'
import { withProgress } from '../progress.ts'

/** Copies the database, also while a gateway runs on it. */
export async function backup(to: string, options: { readonly config: string }): Promise<void> {
  const { storage } = await readBooksPlan(options.config)
  await withProgress(`copying to ${to}`, progress =>
    explained(backupStorage({ url: storage, to, onProgress: text => progress.tell(text) })),
  )
  say(
    `${to} is a copy of the whole database as it was a moment ago. It holds hashes of keys and what was charged: keep it safe.`,
  )
}

/** Puts a copy in the place of the database, once its books have been verified. */
export async function restore(from: string, options: { readonly config: string }): Promise<void> {
  const { storage } = await readBooksPlan(options.config)
  await needFile(from, exitCodes.failure)
  const { aside, audit } = await withProgress(`reading ${from}`, progress =>
    explained(restoreStorage({ url: storage, from, onProgress: text => progress.tell(text) })),
  )
  say(`${from} is the database now: ${audit.charges} charges, ${audit.entries} entries, 0 problems.`)
  if (aside !== undefined) say(`What was there before is ${aside}.`)
}

async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'storage_in_use')
      throw new Exit(exitCodes.failure, `${error.message.split(';')[0]}; stop it first`)
    throw error
  }
}
