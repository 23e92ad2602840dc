import type * as answers from '../../admin/response-schemas.ts'
import type { Duty } from '../../admin/duties.ts'
import type { RequestExplanation } from '../../domain/explanation.ts'
import type { AnswerOf } from '../../util/schema.ts'

// Types of the API's answers, from the schemas of its endpoints. The bundle contains none of this.

export type { Duty, RequestExplanation }

export type Session = AnswerOf<typeof answers.sessionAnswer>
export type User = AnswerOf<typeof answers.userAnswer>
export type BudgetMonth = AnswerOf<typeof answers.budgetMonthAnswer>
export type UserList = AnswerOf<typeof answers.usersAnswer>
export type WaysIn = AnswerOf<typeof answers.signInAnswer>
export type Departure = AnswerOf<typeof answers.departureAnswer>
export type SignedIn = AnswerOf<typeof answers.signedInAnswer>
export type LinkList = AnswerOf<typeof answers.linksAnswer>
export type Invitation = AnswerOf<typeof answers.invitationAnswer>
export type InvitationList = AnswerOf<typeof answers.invitationsAnswer>
export type Invited = AnswerOf<typeof answers.invitedAnswer>
export type AdminToken = AnswerOf<typeof answers.adminTokenAnswer>
export type AdminTokenList = AnswerOf<typeof answers.adminTokensAnswer>
export type NewAdminToken = AnswerOf<typeof answers.newAdminTokenAnswer>
export type SessionList = AnswerOf<typeof answers.openSessionsAnswer>
export type OpenSession = SessionList['sessions'][number]
export type LiveSessionList = AnswerOf<typeof answers.liveSessionsAnswer>
export type LiveSession = LiveSessionList['sessions'][number]
export type StoredObjectList = AnswerOf<typeof answers.storedObjectsAnswer>
export type StoredObject = StoredObjectList['objects'][number]
export type EndedObject = AnswerOf<typeof answers.endedObjectAnswer>
export type SavedViews = AnswerOf<typeof answers.savedViewsAnswer>
export type SavedView = SavedViews['views'][number]
export type GroupList = AnswerOf<typeof answers.groupsAnswer>
export type Group = GroupList['groups'][number]

export type Ceilings = AnswerOf<typeof answers.ceilingsAnswer>

export type Key = AnswerOf<typeof answers.keyAnswer>
export type KeyList = AnswerOf<typeof answers.keysAnswer>
export type KeyTotals = AnswerOf<typeof answers.keyTotalsAnswer>
export type KeyWithSecret = AnswerOf<typeof answers.secretAnswer>
export type Limits = Key['limits']

export type CostsAnswer = AnswerOf<typeof answers.costsAnswer>
export type Overview = AnswerOf<typeof answers.overviewAnswer>
export type BudgetList = AnswerOf<typeof answers.budgetsAnswer>
export type Budget = BudgetList['budgets'][number]
export type Statement = AnswerOf<typeof answers.statementAnswer>
export type Avoidable = AnswerOf<typeof answers.avoidableAnswer>

export type LatencyList = AnswerOf<typeof answers.latencyAnswer>

export type LogList = AnswerOf<typeof answers.logsAnswer>
export type LogTotals = AnswerOf<typeof answers.logTotalsAnswer>
export type Histogram = AnswerOf<typeof answers.histogramAnswer>
export type Step = Histogram['steps'][number]
/** A row of a list; a single row that was requested by its id has more members. */
export type LogRecord = AnswerOf<typeof answers.logAnswer> & Partial<AnswerOf<typeof answers.logDetailAnswer>>
export type BillingRecord = NonNullable<LogRecord['billing']>

export type ModelList = AnswerOf<typeof answers.modelsAnswer>
export type Model = ModelList['models'][number]

/** `GET /api/pricing`: the source of the playground's sizes. */
export type Pricing = {
  readonly models: readonly {
    readonly name: string
    readonly sizes?: readonly { readonly asked: string | null }[] | null
  }[]
}

export type SessionKey = AnswerOf<typeof answers.sessionKeyAnswer>

export type Configuration = AnswerOf<typeof answers.configAnswer>
export type Checked = AnswerOf<typeof answers.findingsAnswer>
export type Finding = Checked['findings'][number]
export type Editable = AnswerOf<typeof answers.editableAnswer>
export type Proposal = AnswerOf<typeof answers.proposalAnswer>
export type Written = AnswerOf<typeof answers.writtenAnswer>
export type CostUnder = AnswerOf<typeof answers.costUnderAnswer>

export type TakenList = AnswerOf<typeof answers.takenAnswer>
export type ConfigTaken = TakenList['rows'][number]
export type Restoring = AnswerOf<typeof answers.restoreAnswer>
export type TakenDiff = AnswerOf<typeof answers.takenDiffAnswer>

export type AlertList = AnswerOf<typeof answers.alertsAnswer>
export type TrailTotals = AnswerOf<typeof answers.auditTotalsAnswer>
export type RefusedSignInList = AnswerOf<typeof answers.refusedSignInsAnswer>
export type TrailList = AnswerOf<typeof answers.auditAnswer>
export type TrailRow = TrailList['rows'][number]
export type SystemState = AnswerOf<typeof answers.systemAnswer>

export type UpstreamList = AnswerOf<typeof answers.upstreamsAnswer>
export type Upstream = UpstreamList['upstreams'][number]
export type UpstreamKey = Upstream['keys'][number]
export type KeyTrial = AnswerOf<typeof answers.keyTrialAnswer>
