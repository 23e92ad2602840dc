import { scanObjectInTurns } from '../engine/fields.ts'
import type { Job } from '../domain/index.ts'

const shown = { running: 'running', done: 'succeeded', failed: 'failed' } as const

/**
 * A job for its client, as JSON. `response` is the client's response or the error. It is copied byte for byte, because
 * it may contain a hundred megabytes of pictures, and parsing and serializing those would block all other requests.
 */
export async function jobJson({ id, state, model, operation, createdAt, endedAt, answer }: Job): Promise<Buffer> {
  const head = JSON.stringify({
    id,
    object: 'job',
    status: shown[state],
    created: Math.floor(createdAt / 1000),
    ended: endedAt === null ? null : Math.floor(endedAt / 1000),
    model,
    operation,
    response_status: answer?.status ?? null,
  })
  const response = answer && (await isObject(answer.body)) ? answer.body : Buffer.from('null')
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"response":`), response, Buffer.from('}')])
}

async function isObject(body: Buffer): Promise<boolean> {
  try {
    await scanObjectInTurns(body, slice => slice())
    return true
  } catch {
    return false
  }
}
