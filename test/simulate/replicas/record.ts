import type { Wish } from '../play/asks.ts'
import { differing, plainOperated, plainWish, readCast, recordCast, type RecordedCast } from '../play/record.ts'
import type { FleetOperated, FleetPlan } from './plan.ts'

const plain = { ...plainOperated, seat: 0, skew: 0 }

/** A plan of several gateways as it is written down: what is as it mostly is stands nowhere. */
export type RecordedFleet = RecordedCast &
  Pick<FleetPlan, 'policy' | 'skews'> & {
    readonly operations: readonly (Partial<Omit<FleetOperated, 'wish'>> &
      Pick<FleetOperated, 'no' | 'kind'> & { readonly wish: Partial<Wish> })[]
  }

/** Writes a plan down, so that it stays what it is when others are drawn otherwise. */
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

/** Reads what `recordFleet` wrote, now or before there was more to say. */
export function readFleet({ operations, policy, skews, ...cast }: RecordedFleet): FleetPlan {
  return {
    ...readCast(cast),
    policy,
    skews,
    operations: operations.map(one => ({ ...plain, ...one, wish: { ...plainWish, ...one.wish } })),
  }
}
