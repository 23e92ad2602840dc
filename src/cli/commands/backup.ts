import { backupStorage, restoreStorage } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { needFile } from '../need-file.ts'
import { readStoragePlan } from '../with-storage.ts'
import { withProgress } from '../progress.ts'

/** Copies the database, even while a gateway runs on it. */
export async function backup(to: string, options: { readonly config: string }): Promise<void> {
  const { storage } = await readStoragePlan(options.config)
  await withProgress(`copying to ${to}`, progress =>
    explained(backupStorage({ url: storage, to, onProgress: text => progress.report(text) })),
  )
  say(`Backed up the database to ${to}. It contains key hashes and charges: keep it safe.`)
}

/** Verifies the ledger of a copy, then replaces the database with it. */
export async function restore(from: string, options: { readonly config: string }): Promise<void> {
  const { storage } = await readStoragePlan(options.config)
  await needFile(from, exitCodes.failure)
  const { aside, audit } = await withProgress(`reading ${from}`, progress =>
    explained(restoreStorage({ url: storage, from, onProgress: text => progress.report(text) })),
  )
  say(`Restored ${from}: ${audit.charges} charges, ${audit.entries} entries, 0 problems.`)
  if (aside !== undefined) say(`The previous database is ${aside}.`)
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
