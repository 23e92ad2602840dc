/** Connections to an upstream that says nothing of them, how many requests wait where all are in use, and for how long. */
export const connectionsMax = 256
export const queuedMax = 1_024
export const queuedForMs = 30_000
