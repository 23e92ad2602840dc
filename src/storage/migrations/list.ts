import { start } from './0001-start.ts'
import { people } from './0002-people.ts'
import { replicas } from './0003-replicas.ts'
import { lists } from './0004-lists.ts'
import { reviews } from './0005-reviews.ts'
import { segments } from './0006-segments.ts'
import { bindOldLog, logPages } from './0007-log-pages.ts'
import { keyChanges } from './0008-key-changes.ts'
import { jobs } from './0009-jobs.ts'
import { vendorCost } from './0010-vendor-cost.ts'
import { events } from './0011-events.ts'
import { eventOrder } from './0012-event-order.ts'
import { bounds } from './0013-bounds.ts'
import { costs } from './0014-costs.ts'
import { accounts } from './0015-accounts.ts'
import { adopted } from './0016-adopted.ts'
import { vendorKeys } from './0017-vendor-keys.ts'
import { budgetEvents } from './0018-budget-events.ts'
import { watch } from './0019-watch.ts'
import { costSpans } from './0020-cost-spans.ts'
import { erased } from './0021-erased.ts'
import { configHistory } from './0022-config-history.ts'
import { pageCharges } from './0023-page-charges.ts'
import { savedViews } from './0024-saved-views.ts'
import { costKeys } from './0025-cost-keys.ts'
import { costCounts } from './0026-cost-counts.ts'
import { storedObjects } from './0027-stored-objects.ts'
import { objectIds } from './0028-object-ids.ts'
import { adminTokens } from './0029-admin-tokens.ts'
import { labels } from './0030-labels.ts'
import { liveSessions } from './0031-live-sessions.ts'
import { partialRefunds } from './0032-partial-refunds.ts'
import { objectPages } from './0033-object-pages.ts'
import { periods } from './0034-periods.ts'
import { answerCache } from './0035-answer-cache.ts'
import { labelModels } from './0036-label-models.ts'
import { endUserAccounts } from './0037-end-user-accounts.ts'
import { cacheSavings } from './0038-cache-savings.ts'
import { costFold } from './0039-cost-fold.ts'
import { openAccounts } from '../accounts/open-accounts.ts'
import type { QueryProgram } from '../query.ts'

/**
 * Every migration as its statements, oldest first, for both databases: written for SQLite and translated for
 * PostgreSQL. The version of a schema is the number of its migrations.
 */
export const migrations: readonly (readonly string[])[] = [
  start,
  people,
  replicas,
  lists,
  reviews,
  segments,
  logPages,
  keyChanges,
  jobs,
  vendorCost,
  events,
  eventOrder,
  bounds,
  costs,
  accounts,
  adopted,
  vendorKeys,
  budgetEvents,
  watch,
  costSpans,
  erased,
  configHistory,
  pageCharges,
  savedViews,
  costKeys,
  costCounts,
  storedObjects,
  objectIds,
  adminTokens,
  labels,
  liveSessions,
  partialRefunds,
  objectPages,
  periods,
  answerCache,
  labelModels,
  endUserAccounts,
  cacheSavings,
  costFold,
]

/** Steps that no statement can do, which run after the migration that they belong to. */
export const moves: ReadonlyMap<readonly string[], () => QueryProgram<void>> = new Map([
  [logPages, bindOldLog],
  [accounts, openAccounts],
])
