/** The defaults of an upstream: connections, waiting requests if all are in use, and the longest wait. */
export const connectionsMax = 256
export const queuedMax = 1_024
export const queuedForMs = 30_000
