import type { Kysely } from 'kysely'
import type {
  Anchor,
  Audit,
  Awaitable,
  Charge,
  Key,
  KeyFilter,
  LogFilter,
  LogMatch,
  LogRow,
  LogStep,
  OpenCharges,
  Summary,
  TrailFilter,
  TrailRow,
  UsageMatch,
  UsageRow,
  VendorRow,
} from '../kit/index.ts'
import { listLogs } from './journal/list.ts'
import { countSteps } from './journal/steps.ts'
import { type Span, summarize } from './journal/summary.ts'
import { sumUsage } from './journal/usage.ts'
import { sumVendorCosts } from './journal/vendor-costs.ts'
import { readAnchor } from './ledger/anchor.ts'
import { audit } from './ledger/audit.ts'
import { findCharges, pageCharges } from './ledger/find.ts'
import { sumOpen } from './ledger/sum-open.ts'
import type { QueryProgram } from './query.ts'
import type { Tables } from './tables.ts'

/** What is listed and proved, by name. All of it crosses threads. */
export type Readings = {
  keys: { given: KeyFilter; gives: readonly Key[] }
  trail: { given: TrailFilter; gives: readonly TrailRow[] }
  steps: {
    given: { readonly match: LogMatch & { since: number; until: number }; readonly stepMs: number }
    gives: readonly LogStep[]
  }
  summary: { given: Span; gives: Summary }
  usage: { given: UsageMatch; gives: readonly UsageRow[] }
  vendorCosts: { given: Pick<UsageMatch, 'since' | 'until'>; gives: readonly VendorRow[] }
  logs: { given: LogFilter; gives: readonly { readonly row: LogRow; readonly charge: Charge | null }[] }
  charges: { given: { readonly after: string | null; readonly limit: number }; gives: readonly Charge[] }
  audit: { given: { readonly at: number; readonly anchors: readonly Anchor[] }; gives: Audit }
  anchor: { given: { readonly at: number }; gives: Anchor }
  open: { given: null; gives: readonly OpenCharges[] }
}

export type Reading = keyof Readings

/** A connection that only reads. */
export type ReadTools = {
  run<T>(this: void, steps: QueryProgram<T>): Awaitable<T>
  /** On one state of the database. */
  snapshot<T>(this: void, steps: QueryProgram<T>): Awaitable<T>
  /** Kysely on it, which takes a tenth of a second to load. */
  openKysely(this: void): Promise<Kysely<Tables>>
}

type Answers = { readonly [R in Reading]: (given: Readings[R]['given']) => Awaitable<Readings[R]['gives']> }

/** Answers on a connection. The lists are loaded with the first question for one; an audit does without. */
export function createAnswers({ run, snapshot, openKysely }: ReadTools): Answers {
  let lists: ReturnType<typeof loadLists> | undefined
  const load = () => (lists ??= loadLists(openKysely))
  return {
    async keys(filter) {
      const { db, listKeys } = await load()
      return listKeys(db, filter)
    },
    async trail(filter) {
      const { db, listTrail } = await load()
      return listTrail(db, filter)
    },
    steps: ({ match, stepMs }) => snapshot(countSteps(match, stepMs)),
    summary: span => snapshot(summarize(span)),
    usage: match => snapshot(sumUsage(match)),
    vendorCosts: match => snapshot(sumVendorCosts(match)),
    logs: filter => snapshot(listCharged(filter)),
    charges: ({ after, limit }) => snapshot(pageCharges(after, limit)),
    audit: given => snapshot(audit(given)),
    anchor: ({ at }) => snapshot(readAnchor(at)),
    open: () => run(sumOpen()),
  }
}

function* listCharged(filter: LogFilter): QueryProgram<Readings['logs']['gives']> {
  const rows = yield* listLogs(filter)
  const charges = yield* findCharges(rows.map(row => row.id))
  return rows.map(row => ({ row, charge: charges.get(row.id) ?? null }))
}

async function loadLists(openKysely: ReadTools['openKysely']) {
  const [db, { listKeys }, { listTrail }] = await Promise.all([
    openKysely(),
    import('./keys/list.ts'),
    import('./people/trail.ts'),
  ])
  return { db, listKeys, listTrail }
}
