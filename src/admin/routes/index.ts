import type { AnyRoute } from '../api.ts'
import { accountRoutes } from './account.ts'
import { adminTokenRoutes } from './admin-tokens.ts'
import { alertRoutes } from './alerts.ts'
import { auditRoutes } from './audit.ts'
import { avoidableRoutes } from './avoidable.ts'
import { budgetRoutes } from './budgets.ts'
import { ceilingRoutes } from './ceilings.ts'
import { configEditRoutes } from './config-edits.ts'
import { configRoutes } from './config.ts'
import { configCostRoutes } from './config-cost.ts'
import { configHistoryRoutes } from './config-history.ts'
import { eventRoutes } from './events.ts'
import { invitationRoutes } from './invitations.ts'
import { keyRoutes } from './keys.ts'
import { latencyRoutes } from './latency.ts'
import { logRoutes } from './logs.ts'
import { storedObjectRoutes } from './objects.ts'
import { modelRoutes } from './models.ts'
import { overviewRoutes } from './overview.ts'
import { pictureRoutes } from './pictures.ts'
import { peopleRoutes } from './people.ts'
import { sessionRoutes } from './session.ts'
import { answerCacheRoutes } from './answer-cache.ts'
import { liveSessionRoutes } from './sessions.ts'
import { signInRoutes } from './sign-in.ts'
import { statementRoutes } from './statements.ts'
import { systemRoutes } from './system.ts'
import { costRoutes } from './costs.ts'
import { upstreamRoutes } from './upstreams.ts'
import { usageRoutes } from './usage.ts'
import { viewRoutes } from './views.ts'

/** The endpoints of the console's API. */
export const apiRoutes: readonly AnyRoute[] = [
  ...sessionRoutes,
  ...signInRoutes,
  ...accountRoutes,
  ...viewRoutes,
  ...overviewRoutes,
  ...keyRoutes,
  ...logRoutes(),
  ...latencyRoutes,
  ...usageRoutes,
  ...costRoutes,
  ...avoidableRoutes,
  ...statementRoutes(),
  ...modelRoutes,
  ...pictureRoutes(),
  ...peopleRoutes,
  ...ceilingRoutes,
  ...invitationRoutes,
  ...adminTokenRoutes,
  ...budgetRoutes,
  ...configRoutes,
  ...alertRoutes,
  ...configCostRoutes(),
  ...configHistoryRoutes(),
  ...configEditRoutes(),
  ...auditRoutes,
  ...eventRoutes,
  ...systemRoutes(),
  ...upstreamRoutes,
  ...answerCacheRoutes,
  ...liveSessionRoutes,
  ...storedObjectRoutes,
]
