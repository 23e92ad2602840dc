import type { AnyRoute } from '../api.ts'
import { accountRoutes } from './account.ts'
import { auditRoutes } from './audit.ts'
import { configRoutes } from './config.ts'
import { keyRoutes } from './keys.ts'
import { logRoutes } from './logs.ts'
import { modelRoutes } from './models.ts'
import { overviewRoutes } from './overview.ts'
import { peopleRoutes } from './people.ts'
import { sessionRoutes } from './session.ts'
import { systemRoutes } from './system.ts'
import { usageRoutes } from './usage.ts'

/** The endpoints of the console's API. */
export const apiRoutes: readonly AnyRoute[] = [
  ...sessionRoutes,
  ...accountRoutes,
  ...overviewRoutes,
  ...keyRoutes,
  ...logRoutes(),
  ...usageRoutes,
  ...modelRoutes,
  ...peopleRoutes,
  ...configRoutes,
  ...auditRoutes,
  ...systemRoutes(),
]
