import { copyStorage, formatMoney, migrateStorage } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { print, say } from '../exit.ts'
import { readBooksPlan } from '../open-books.ts'
import { withProgress } from '../progress.ts'

type Options = {
  readonly from?: string
  readonly to: string
  readonly snapshot: boolean
  readonly config: string
  readonly format: string
}

/** Copies everything into an empty storage, and reports how the copy was proved. */
export async function copy({ to, snapshot, config, format, ...options }: Options): Promise<void> {
  const from = options.from ?? (await readBooksPlan(config)).storage
  const copied = await withProgress('opening both storages', progress =>
    copyStorage({ from, to, isSnapshot: snapshot, onProgress: text => progress.tell(text) }),
  )
  const { tables, rows, textsChanged, audit, sums } = copied
  if (format === 'json') print(JSON.stringify(copied))
  say(
    `${copied.to} is a copy of ${copied.from}: ${countOf(rows, 'row')} of ${tables.length} tables, each with the same digest on both sides.`,
  )
  const before = sums.spentBefore > 0 ? `, spent elsewhere before ${formatMoney(sums.spentBefore)}` : ''
  say(
    `Its ledger holds: ${countOf(audit.charges, 'charge')}, ${audit.entries} entries, 0 problems. Charged ${formatMoney(sums.charged)}, given back ${formatMoney(sums.refunded)}, paid in ${formatMoney(sums.toppedUp)}${before}: the same on both sides.`,
  )
  if (textsChanged > 0)
    say(`In ${countOf(textsChanged, 'text')} the character 0, which PostgreSQL does not keep, is U+FFFD now.`)
  if (snapshot) say('It is as the source was when the copy began; what was charged later is not in it.')
  say(
    `To work on it, name it in 'storage' of ${config}. ${copied.from} is as it was: keep it until you will not go back.`,
  )
}

/** Brings the schema up to date, once no process of an older version works on the storage. */
export async function migrate({ config, format }: Pick<Options, 'config' | 'format'>): Promise<void> {
  const { storage: url } = await readBooksPlan(config)
  let said = ''
  const { from, to } = await withProgress('opening the storage', progress =>
    migrateStorage({
      url,
      onWait(waitsFor) {
        const processes = waitsFor.join(', ')
        if (processes === said) return
        said = processes
        progress.clear()
        say(`Waiting until this has stopped: ${processes}`)
        progress.tell(`waiting for ${processes}`)
      },
    }),
  )
  if (format === 'json') print(JSON.stringify({ from, to }))
  if (from === to) say(`The schema is up to date (${to}).`)
  else if (from === 0) say(`The storage was empty, and has the schema of this version now (${to}).`)
  else say(`The schema was ${from} and is ${to} now.`)
}
