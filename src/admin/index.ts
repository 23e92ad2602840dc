export type { AnyRoute } from './api.ts'
export { apiRoutes } from './routes/index.ts'
export { type Admin, createAdmin } from './server.ts'
export type { AdminParts, ConfigFinding, Reloaded, ShownConfig } from './parts.ts'
