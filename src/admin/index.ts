export type { AnyRoute } from './api.ts'
export { apiRoutes } from './routes/index.ts'
export { type Admin, createAdmin } from './server.ts'
export type { AdminParts } from './parts.ts'
