import type { Wish } from '../play/asks.ts'
import { differing, plainOperated, plainWish, readCast, recordCast, type RecordedCast } from '../play/record.ts'
import type { FleetOperated, FleetPlan } from './plan.ts'

const plain = { ...plainOperated, seat: 0, skew: 0 }

/** A plan of several gateways in recorded form: defaults are omitted. */
export type RecordedFleet = RecordedCast &
  Pick<FleetPlan, 'policy' | 'skews'> & {
    readonly operations: readonly (Partial<Omit<FleetOperated, 'wish'>> &
      Pick<FleetOperated, 'no' | 'kind'> & { readonly wish: Partial<Wish> })[]
  }

/** Records a plan, so that it does not change when the drawing of plans does. */
export function recordFleet({ operations, policy, skews, ...cast }: FleetPlan): RecordedFleet {
  return {
    ...recordCast(cast),
    policy,
    skews,
    operations: operations.map(({ wish, no, kind, ...rest }) => ({
      no,
      kind,
      ...differing(rest, plain),
      wish: differing(wish, plainWish),
    })),
  }
}

/** Reads the output of `recordFleet`, including output from before newer members. */
export function readFleet({ operations, policy, skews, ...cast }: RecordedFleet): FleetPlan {
  return {
    ...readCast(cast),
    policy,
    skews,
    operations: operations.map(one => ({ ...plain, ...one, wish: { ...plainWish, ...one.wish } })),
  }
}
