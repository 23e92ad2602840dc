import type { CostsAnswer } from '../../api/shapes.ts'
import { amountOf, microsOf } from '../../money.ts'

/** The id for all playground keys together; no key has this id. */
export const sessionKeys = '~sessions'

/** Costs by key, with all playground keys as one: each session has its own key, whose name means nothing to people. */
export function foldSessions(answer: CostsAnswer, called: string): CostsAnswer {
  const { rows, before, names, sessions } = answer
  if (sessions.length === 0) return answer
  const known = new Set(sessions)
  return {
    ...answer,
    rows: fold(rows, known),
    before: { ...before, rows: fold(before.rows, known) },
    names: { ...names, [sessionKeys]: called },
  }
}

type Row = CostsAnswer['rows'][number]

function fold(rows: readonly Row[], sessions: ReadonlySet<string>): readonly Row[] {
  const folded = new Map<string, Row>()
  for (const row of rows) {
    const what = row.what !== null && sessions.has(row.what) ? sessionKeys : row.what
    const place = JSON.stringify([row.bar, what, row.currency])
    const sum = folded.get(place)
    folded.set(place, sum ? add(sum, row) : { ...row, what })
  }
  return [...folded.values()]
}

function add(sum: Row, row: Row): Row {
  const both = (name: 'amount' | 'refunded' | 'net' | 'saved') => amountOf(microsOf(sum[name]) + microsOf(row[name]))
  return {
    ...sum,
    charges: sum.charges + row.charges,
    images: sum.images + row.images,
    quantity: sum.quantity === null || row.quantity === null ? null : sum.quantity + row.quantity,
    tokens: sum.tokens + row.tokens,
    amount: both('amount'),
    refunded: both('refunded'),
    net: both('net'),
    saved: both('saved'),
  }
}
