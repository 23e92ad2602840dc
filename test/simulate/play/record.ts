import type { Wish } from './asks.ts'
import type { Cast, Operated, Plan, PlannedKey } from './plan.ts'

/** The defaults of a wish, an operation and a key. Add new members here first. */
export const plainWish: Wish = {
  key: 0,
  operation: 'image',
  model: 'alpha-image-2',
  n: 1,
  size: undefined,
  stream: false,
  render: undefined,
  includeUsage: false,
  files: [],
  shapes: ['data'],
  wire: 'plain',
  coding: undefined,
  idempotency: undefined,
  again: undefined,
  leaves: undefined,
  leavesBytes: undefined,
  connection: 'close',
  seed: 1,
}
export const plainOperated: Omit<Operated, 'no' | 'kind' | 'wish'> = {
  gap: 0,
  count: 1,
  jump: 0,
  lasts: 0,
  key: 0,
  choice: 0,
  state: 'refused',
  host: 0,
}
const plainKey: Omit<PlannedKey, 'name' | 'uses'> = {
  user: 'ada',
  group: 'default',
  budget: null,
  period: 'total',
  rpm: undefined,
}

/** The participants of a plan in recorded form: defaults are omitted. */
export type RecordedCast = {
  readonly seed: number
  readonly calm?: boolean
  readonly endUsers?: boolean
  readonly keys: readonly (Partial<PlannedKey> & Pick<PlannedKey, 'name' | 'uses'>)[]
}

export type Recorded = RecordedCast & {
  readonly operations: readonly (Partial<Omit<Operated, 'wish'>> &
    Pick<Operated, 'no' | 'kind'> & { readonly wish?: Partial<Wish> })[]
}

export function recordCast({ seed, calm, endUsers, keys }: Cast): RecordedCast {
  return {
    seed,
    ...(calm && { calm }),
    ...(endUsers && { endUsers }),
    keys: keys.map(key => ({ ...differing(key, plainKey), name: key.name, uses: key.uses })),
  }
}

export function readCast({ seed, calm = false, endUsers = false, keys }: RecordedCast): Cast {
  return { seed, calm, endUsers, keys: keys.map(key => ({ ...plainKey, ...key })) }
}

/** Records a plan, so that it does not change when the drawing of plans does. */
export function recordPlan({ operations, ...cast }: Plan): Recorded {
  return {
    ...recordCast(cast),
    operations: operations.map(({ wish, ...operated }) => {
      const differences = differing(wish, plainWish)
      const isAsked = ['ask', 'burst', 'again', 'disable', 'old secret'].includes(operated.kind)
      const { no, kind, ...rest } = operated
      return { no, kind, ...differing(rest, plainOperated), ...(isAsked && { wish: differences }) }
    }),
  }
}

/** Reads the output of `recordPlan`, including output from before newer members. */
export function readRecorded({ operations, ...cast }: Recorded): Plan {
  return {
    ...readCast(cast),
    operations: operations.map(one => ({ ...plainOperated, ...one, wish: { ...plainWish, ...one.wish } })),
  }
}

/** The members that differ from the defaults. */
export function differing<T extends object>(from: T, plain: Partial<T>): Partial<T> {
  const isPlain = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) === JSON.stringify(plain[name as keyof T])
  return Object.fromEntries(Object.entries(from).filter(entry => !isPlain(entry))) as Partial<T>
}
