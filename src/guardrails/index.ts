export type { Edit, Guard, Guarded, PartVerdict, Side, Verdict } from './contract.ts'
export { fail as guardFailure } from './errors.ts'
export { guardHooks } from './hooks.ts'
