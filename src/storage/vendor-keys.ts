import { type KeySpending, type KeyStanding, keyReasons, keyStates, spellsAt } from '../kit/index.ts'
import { ask, type QueryProgram, type Row } from './query.ts'
import { text, textOrNull, whole, wholeOrNull } from './rows.ts'
import type { WriterIdentity } from './writer-identity.ts'

/** Of a day or a month nothing is asked any more when so many have gone by since. */
const keptMs = 70 * 86_400_000

export type KeySpent = {
  readonly upstream: string
  readonly key: string
  readonly amount: number
  readonly at: number
}

export function* listVendorKeys(): QueryProgram<readonly KeyStanding[]> {
  const rows = yield ask('SELECT * FROM vendor_key ORDER BY upstream, name, model')
  return rows.map(toStanding)
}

/** Of two that change one, the later word stays. */
export function* putVendorKey({ standing }: { readonly standing: KeyStanding }): QueryProgram<null> {
  const { upstream, key, model, hash, state, reason, code, since, until, tries, changedAt } = standing
  yield ask(
    `INSERT INTO vendor_key (upstream, name, model, hash, state, reason, code, since, until, tries, changed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (upstream, name, model) DO UPDATE SET hash = excluded.hash, state = excluded.state,
       reason = excluded.reason, code = excluded.code, since = excluded.since, until = excluded.until,
       tries = excluded.tries, changed_at = excluded.changed_at
       WHERE vendor_key.changed_at < excluded.changed_at`,
    upstream,
    key,
    model,
    hash,
    state,
    reason,
    code,
    Math.round(since),
    until === null ? null : Math.round(until),
    tries,
    Math.round(changedAt),
  )
  return null
}

export function* readKeySpending(): QueryProgram<readonly KeySpending[]> {
  const rows = yield ask('SELECT * FROM vendor_key_spending')
  return rows.map(row => ({
    upstream: text(row, 'upstream'),
    key: text(row, 'name'),
    per: text(row, 'per') as KeySpending['per'],
    from: whole(row, 'begins'),
    spent: whole(row, 'spent'),
  }))
}

export function* spendOfKey(
  { zone }: Pick<WriterIdentity, 'zone'>,
  { upstream, key, amount, at }: KeySpent,
): QueryProgram<null> {
  const { day, month } = spellsAt(at, zone)
  for (const [per, from] of [
    ['total', 0],
    ['day', day],
    ['month', month],
  ] as const)
    yield ask(
      `INSERT INTO vendor_key_spending (upstream, name, per, begins, spent) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (upstream, name, per, begins) DO UPDATE SET spent = vendor_key_spending.spent + excluded.spent`,
      upstream,
      key,
      per,
      from,
      amount,
    )
  yield ask(`DELETE FROM vendor_key_spending WHERE per <> 'total' AND begins < ?`, day - keptMs)
  return null
}

function toStanding(row: Row): KeyStanding {
  const reason = textOrNull(row, 'reason')
  return {
    upstream: text(row, 'upstream'),
    key: text(row, 'name'),
    model: text(row, 'model'),
    hash: text(row, 'hash'),
    state: keyStates.find(one => one === text(row, 'state')) ?? 'active',
    reason: keyReasons.find(one => one === reason) ?? null,
    code: textOrNull(row, 'code'),
    since: whole(row, 'since'),
    until: wholeOrNull(row, 'until'),
    tries: whole(row, 'tries'),
    changedAt: whole(row, 'changed_at'),
  }
}
