import type { AnyRoute } from '../api.ts'
import { accountRoutes } from './account.ts'
import { keyRoutes } from './keys.ts'
import { logRoutes } from './logs.ts'
import { overviewRoutes } from './overview.ts'
import { sessionRoutes } from './session.ts'

/** The endpoints of the console's API. */
export const apiRoutes: readonly AnyRoute[] = [
  ...sessionRoutes,
  ...accountRoutes,
  ...overviewRoutes,
  ...keyRoutes,
  ...logRoutes(),
]
