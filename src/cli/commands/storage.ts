import { copyStorage, formatMoney, migrateStorage } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { print, say } from '../exit.ts'
import { readStoragePlan } from '../with-storage.ts'
import { withProgress } from '../progress.ts'

type Options = {
  readonly from?: string
  readonly to: string
  readonly snapshot: boolean
  readonly config: string
  readonly format: string
}

/** Copies everything into an empty storage, and reports how the copy was verified. */
export async function copy({ to, snapshot, config, format, ...options }: Options): Promise<void> {
  const from = options.from ?? (await readStoragePlan(config)).storage
  const copied = await withProgress('opening both storages', progress =>
    copyStorage({ from, to, isSnapshot: snapshot, onProgress: text => progress.report(text) }),
  )
  const { tables, rows, textsChanged, audit, sums } = copied
  if (format === 'json') print(JSON.stringify(copied))
  say(
    `Copied ${copied.from} to ${copied.to}: ${countOf(rows, 'row')} of ${tables.length} tables, with equal digests on both sides.`,
  )
  const before = sums.spentBefore > 0 ? `, spent in another gateway before ${formatMoney(sums.spentBefore)}` : ''
  say(
    `Its ledger is valid: ${countOf(audit.charges, 'charge')}, ${audit.entries} entries, 0 problems. Charged ${formatMoney(sums.charged)}, refunded ${formatMoney(sums.refunded)}, paid in ${formatMoney(sums.toppedUp)}${before}: the same on both sides.`,
  )
  if (textsChanged > 0)
    say(`In ${countOf(textsChanged, 'text')} the NUL character, which PostgreSQL cannot store, was replaced by U+FFFD.`)
  if (snapshot) say('It contains the source as of the start of the copy; later charges are not included.')
  say(`To use it, set 'storage' in ${config}. ${copied.from} is unchanged: keep it as long as you may need to go back.`)
}

/** Migrates the schema, after every process of an older version has ended. */
export async function migrate({ config, format }: Pick<Options, 'config' | 'format'>): Promise<void> {
  const { storage: url } = await readStoragePlan(config)
  let reported = ''
  const { from, to } = await withProgress('opening the storage', progress =>
    migrateStorage({
      url,
      onWait(waitsFor) {
        const processes = waitsFor.join(', ')
        if (processes === reported) return
        reported = processes
        progress.clear()
        say(`Waiting for these processes to stop: ${processes}`)
        progress.report(`waiting for ${processes}`)
      },
    }),
  )
  if (format === 'json') print(JSON.stringify({ from, to }))
  if (from === to) say(`The schema is up to date (${to}).`)
  else if (from === 0) say(`The storage was empty; its schema is now that of this version (${to}).`)
  else say(`Migrated the schema from ${from} to ${to}.`)
}
