import type { Job, Json } from '../kit/index.ts'

const shown = { running: 'running', done: 'succeeded', failed: 'failed' } as const

/** A job as its caller is told of it; `response` is the answer that it would have been given, or the error. */
export function tellJob({ id, state, model, operation, createdAt, endedAt, answer }: Job): object {
  const body = answer && parse(answer.body)
  return {
    id,
    object: 'job',
    status: shown[state],
    created: Math.floor(createdAt / 1000),
    ended: endedAt === null ? null : Math.floor(endedAt / 1000),
    model,
    operation,
    response_status: answer?.status ?? null,
    response: body ?? null,
  }
}

function parse(body: Buffer): Json | undefined {
  try {
    return JSON.parse(body.toString()) as Json
  } catch {
    return undefined
  }
}
