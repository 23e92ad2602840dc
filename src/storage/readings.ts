import type { Kysely } from 'kysely'
import type {
  Anchor,
  Audit,
  Charge,
  ConfigTaken,
  AlertsRead,
  Due,
  FeedEvent,
  FeedPage,
  FeedQuery,
  CostQuery,
  Costs,
  GatewaySeen,
  GroupMembers,
  Key,
  KeyFilter,
  KeyTotals,
  KeyUse,
  LatencyRow,
  LogFilter,
  LogMatch,
  LoggedRequest,
  LevelSums,
  NamedSums,
  LogStep,
  LogTotals,
  ObjectFilter,
  OpenCharges,
  RefusedFilter,
  RefusedSignIns,
  RatedImages,
  Refund,
  Statement,
  StatementQuery,
  Summary,
  StoredEvent,
  StoredObject,
  TopUp,
  TrailCount,
  TrailFilter,
  TrailRow,
  Traces,
  UsageMatch,
  UsageRow,
  UsageSort,
  UsageSum,
  VendorRow,
  WebhookState,
  User,
  UserFilter,
  UserTotals,
} from '../domain/index.ts'
import type { Awaitable } from '../util/index.ts'
import { readAlerts } from './events/alerts.ts'
import { findPseudonym, findTraces } from './erase/erase.ts'
import { findNamedEvent, readNamedFeed } from './events/named.ts'
import { eventsAfter } from './events/write-event.ts'
import { listWebhooks, readDue } from './events/webhooks.ts'
import { findConfig, listConfigs, type PackedConfig } from './config-history.ts'
import { type RatedQuery, readRated } from './costs/rated.ts'
import { readCosts } from './costs/read.ts'
import { readEndUserSums, readSums } from './accounts/read-sums.ts'
import { readTopUps } from './accounts/top-up.ts'
import { countMembers, sumKeys, sumKeyUses } from './keys/find.ts'
import { findAlike } from './people/invitations.ts'
import { countUsers, listUsers } from './people/users.ts'
import { listLogs } from './journal/list.ts'
import { sumLatency } from './journal/latency.ts'
import { countSteps } from './journal/steps.ts'
import { type Span, summarize } from './journal/summary.ts'
import { type BatchCharges, sumNextBatch } from './journal/batch-charges.ts'
import { sumMatching, type TotalsMatch } from './journal/totals.ts'
import { sumUsage } from './journal/usage.ts'
import { sumUsageBy } from './journal/usage-by.ts'
import { sumVendorCosts } from './journal/vendor-costs.ts'
import { useChargeId } from '../plugin-api/image-tool.ts'
import { readAnchor } from './ledger/anchor.ts'
import { audit, findCorrections } from './ledger/audit.ts'
import { findCharges, pageCharges } from './ledger/find.ts'
import { findRefundsOf } from './ledger/refund.ts'
import { listGateways } from './ledger/replicas.ts'
import type { Corrections } from './ledger/repair.ts'
import { sumStatement } from './ledger/statement.ts'
import { sumOpen } from './ledger/sum-open.ts'
import { withLabelIds, withLabelNames } from './labels.ts'
import { listRefused } from './people/refused.ts'
import { listObjects } from './stored-objects.ts'
import type { QueryProgram } from './query.ts'
import type { Tables } from './tables.ts'

/** Lists and audits, by name. All of them are sent to threads. */
export type Readings = {
  keys: { given: KeyFilter; gives: readonly Key[] }
  keyUses: { given: { readonly users: readonly string[] }; gives: readonly KeyUse[] }
  keyTotals: { given: { readonly user: string | null }; gives: KeyTotals }
  members: { given: null; gives: readonly GroupMembers[] }
  users: { given: UserFilter | null; gives: readonly User[] }
  userTotals: { given: null; gives: UserTotals }
  alike: { given: { readonly name: string }; gives: string | null }
  trail: { given: TrailFilter; gives: readonly TrailRow[] }
  trailCounts: { given: Omit<TrailFilter, 'limit' | 'before'>; gives: readonly TrailCount[] }
  configs: { given: { readonly limit: number; readonly before?: number }; gives: readonly ConfigTaken[] }
  config: { given: { readonly id: number }; gives: (PackedConfig & { readonly id: number }) | undefined }
  refused: {
    given: RefusedFilter
    gives: { readonly rows: readonly RefusedSignIns[]; readonly times: number; readonly count: number }
  }
  alerts: { given: null; gives: AlertsRead }
  gateways: { given: { readonly owner: string; readonly at: number }; gives: readonly GatewaySeen[] }
  events: { given: { readonly after: number; readonly limit: number }; gives: readonly StoredEvent[] }
  feed: { given: FeedQuery; gives: FeedPage }
  event: { given: { readonly id: string }; gives: FeedEvent | undefined }
  objects: { given: ObjectFilter; gives: readonly StoredObject[] }
  webhooks: { given: null; gives: readonly WebhookState[] }
  due: {
    given: { readonly webhook: string; readonly at: number; readonly limit: number }
    gives: Due
  }
  steps: {
    given: { readonly match: LogMatch & { since: number; until: number }; readonly stepMs: number }
    gives: readonly LogStep[]
  }
  totals: { given: TotalsMatch; gives: LogTotals }
  pageCharges: { given: { readonly at: number; readonly before: number }; gives: BatchCharges | null }
  summary: { given: Span; gives: Summary }
  latency: { given: Span; gives: readonly LatencyRow[] }
  usage: { given: UsageMatch; gives: readonly UsageRow[] }
  usageBy: {
    given: { readonly since: number; readonly until: number; readonly by: UsageSort }
    gives: readonly UsageSum[]
  }
  costs: { given: CostQuery; gives: Costs }
  rated: { given: RatedQuery; gives: readonly RatedImages[] }
  vendorCosts: { given: Pick<UsageMatch, 'since' | 'until'>; gives: readonly VendorRow[] }
  logs: { given: LogFilter; gives: readonly LoggedRequest[] }
  charges: { given: { readonly after: string | null; readonly limit: number }; gives: readonly Charge[] }
  audit: {
    given: { readonly at: number; readonly zone: string; readonly anchors: readonly Anchor[] }
    gives: Audit
  }
  corrections: { given: { readonly at: number; readonly zone: string }; gives: Corrections }
  anchor: { given: { readonly at: number }; gives: Anchor }
  statement: { given: StatementQuery; gives: Statement }
  refunds: { given: { readonly id: string }; gives: readonly Refund[] }
  open: { given: null; gives: readonly OpenCharges[] }
  sums: {
    given: Parameters<typeof readSums>[0]
    gives: readonly LevelSums[]
  }
  endUserSums: { given: Parameters<typeof readEndUserSums>[0]; gives: readonly NamedSums[] }
  traces: { given: { readonly name: string }; gives: Traces | undefined }
  pseudonym: { given: { readonly name: string }; gives: string | null }
  topUps: { given: { readonly name: string }; gives: readonly TopUp[] }
}

export type Reading = keyof Readings

/** A read-only connection. */
export type ReadTools = {
  run<T>(this: void, steps: QueryProgram<T>): Awaitable<T>
  /** Runs on one snapshot. */
  snapshot<T>(this: void, steps: QueryProgram<T>): Awaitable<T>
  /** Kysely on the connection. It takes a tenth of a second to load. */
  openKysely(this: void): Promise<Kysely<Tables>>
}

type Answers = { readonly [R in Reading]: (given: Readings[R]['given']) => Awaitable<Readings[R]['gives']> }

/** Answers readings on a connection. Loads the lists with the first call of one; an audit does not need them. */
export function createAnswers({ run, snapshot, openKysely }: ReadTools): Answers {
  let lists: ReturnType<typeof loadLists> | undefined
  const load = () => (lists ??= loadLists(openKysely))
  return {
    async keys(filter) {
      const { db, listKeys } = await load()
      return listKeys(db, filter)
    },
    keyUses: ({ users }) => run(sumKeyUses(users)),
    keyTotals: ({ user }) => run(sumKeys(user)),
    members: () => run(countMembers()),
    users: filter => run(listUsers(filter)),
    userTotals: () => run(countUsers()),
    alike: ({ name }) => run(findAlike(name)),
    async trail(filter) {
      const { db, listTrail } = await load()
      return listTrail(db, filter)
    },
    async trailCounts(filter) {
      const { db, countTrail } = await load()
      return countTrail(db, filter)
    },
    configs: filter => run(listConfigs(filter)),
    config: ({ id }) => run(findConfig(id)),
    refused: filter => snapshot(listRefused(filter)),
    alerts: () => snapshot(readAlerts()),
    gateways: ({ owner, at }) => run(listGateways(owner, at)),
    events: ({ after, limit }) => run(eventsAfter(after, limit)),
    feed: query => snapshot(readNamedFeed(query)),
    event: ({ id }) => snapshot(findNamedEvent(id)),
    objects: filter => run(listObjects(filter)),
    webhooks: () => run(listWebhooks()),
    due: ({ webhook, at, limit }) => snapshot(readDue(webhook, at, limit)),
    steps: ({ match, stepMs }) => snapshot(countStepsOf(match, stepMs)),
    totals: match => snapshot(sumTotals(match)),
    pageCharges: given => snapshot(sumNextBatch(given)),
    summary: span => snapshot(summarize(span)),
    latency: span => snapshot(sumLatency(span)),
    usage: match => snapshot(sumUsage(match)),
    usageBy: query => snapshot(sumUsageBy(query)),
    costs: query => snapshot(readCosts(query)),
    rated: query => snapshot(readRated(query)),
    vendorCosts: match => snapshot(sumVendorCosts(match)),
    logs: filter => snapshot(listCharged(filter)),
    charges: ({ after, limit }) => snapshot(pageCharges(after, limit)),
    audit: given => snapshot(audit(given)),
    corrections: given => snapshot(findCorrections(given)),
    anchor: ({ at }) => snapshot(readAnchor(at)),
    statement: query => snapshot(sumStatement(query)),
    refunds: ({ id }) => snapshot(findRefundsOf(id)),
    open: () => run(sumOpen()),
    sums: given => run(readSums(given)),
    endUserSums: given => snapshot(readEndUserSums(given)),
    traces: ({ name }) => snapshot(findTraces(name)),
    pseudonym: ({ name }) => run(findPseudonym(name)),
    topUps: ({ name }) => run(readTopUps(name)),
  }
}

function* countStepsOf(match: Readings['steps']['given']['match'], stepMs: number): QueryProgram<readonly LogStep[]> {
  return yield* countSteps(yield* withLabelIds(match), stepMs)
}

function* sumTotals(match: TotalsMatch): QueryProgram<LogTotals> {
  return yield* sumMatching(yield* withLabelIds(match))
}

function* listCharged(filter: LogFilter): QueryProgram<Readings['logs']['gives']> {
  const rows = yield* withLabelNames(yield* listLogs(yield* withLabelIds(filter)))
  const charges = yield* findCharges(rows.map(row => row.id))
  // If a request has two charges, a warning of the first one names the second.
  const named = [...charges.values()].flatMap(({ id, rule }) =>
    rule.warnings.some(warning => warning.includes(useChargeId(id))) ? [useChargeId(id)] : [],
  )
  const uses = yield* findCharges(named)
  return rows.map(row => ({
    row,
    charge: charges.get(row.id) ?? null,
    use: uses.get(useChargeId(row.id)) ?? null,
  }))
}

async function loadLists(openKysely: ReadTools['openKysely']) {
  const [db, { listKeys }, { countTrail, listTrail }] = await Promise.all([
    openKysely(),
    import('./keys/list.ts'),
    import('./people/trail.ts'),
  ])
  return { db, listKeys, countTrail, listTrail }
}
