import type { Plan } from './plan.ts'
import { readRecorded } from './record.ts'

const images = ['image', 'edit'] as const
const all = ['image', 'edit', 'chat', 'responses', 'embeddings'] as const

/** A short story with every kind of write of a gateway. */
export const nthPlan: Plan = readRecorded({
  seed: 7,
  keys: [
    { name: 'free', uses: [...all] },
    { name: 'total', budget: 1_000_000, uses: [...images] },
    { name: 'day', budget: 400_000, period: 'day', uses: [...images] },
  ],
  operations: [
    { no: 0, kind: 'ask', wish: { key: 1, n: 2, idempotency: 'once' } },
    { no: 1, kind: 'ask', gap: 8_000, wish: { key: 2, operation: 'edit', stream: true, files: [20], seed: 2 } },
    { no: 2, kind: 'ask', gap: 8_000, wish: { key: 1, shapes: ['images'], seed: 3 } },
    { no: 3, kind: 'ask', gap: 8_000, wish: { operation: 'chat', model: 'chat-review', shapes: ['unsaid'], seed: 4 } },
    { no: 4, kind: 'ask', gap: 8_000, wish: { operation: 'responses', model: 'draws-one', seed: 5 } },
    { no: 5, kind: 'again', gap: 8_000, wish: {} },
    { no: 6, kind: 'resolve', gap: 8_000 },
    { no: 7, kind: 'refund', gap: 1_000 },
    { no: 8, kind: 'rotate', gap: 1_000, key: 1 },
    { no: 9, kind: 'budget', gap: 1_000, key: 2, choice: 5 },
    { no: 10, kind: 'ask', wish: { key: 1, seed: 6 } },
    { no: 11, kind: 'crash', gap: 1_500, lasts: 1_000, choice: 1 },
    { no: 12, kind: 'ask', gap: 1_000, wish: { key: 2, seed: 7, leaves: 300 } },
    { no: 13, kind: 'restart', gap: 5_000 },
    { no: 14, kind: 'verify', gap: 1_000 },
  ],
})
