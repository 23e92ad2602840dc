import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { readFields } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, Played, SimulatedUpstream } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { listOf, type Shape, shapeOf } from './read.ts'

/** The duration of a batch. */
const batchMs = 1_000
const dayMs = 86_400_000

const newId = (kind: string): string => `${kind}${randomUUID().replaceAll('-', '')}`

async function textOf({ body }: Played): Promise<string> {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body.toString()
  let text = ''
  for await (const piece of body) text += piece.toString()
  return text
}

/** The response to one request of a batch. */
async function respond(
  call: Call,
  handler: Handler | undefined,
  body: unknown,
): Promise<{ status: number; body: Shape }> {
  if (!handler) return { status: 404, body: { error: { message: 'no such path' } } }
  const played = await handler({ ...call, body: Buffer.from(JSON.stringify(body)) })
  return { status: played.status, body: shapeOf(JSON.parse(await textOf(played))) }
}

const find = (call: Call, kind: string): Kept => {
  const { id = '' } = call.params
  const found = findKept(call, kind, id)
  if (!found) throw fail('object_unknown', { message: `Batch '${id}' not found.` })
  return found
}

const show =
  (kind: string): Handler =>
  call =>
    answerJson(200, find(call, kind).value)

/**
 * Batches of requests in a file.
 * @param handlers by the path of a request
 */
function fileBatches(handlers: { readonly [path: string]: Handler }): SimulatedUpstream {
  const create: Handler = async call => {
    const fields = readFields(call)
    const input = String(fields.get('input_file_id'))
    const endpoint = String(fields.get('endpoint'))
    const file = findKept({ ...call }, 'file', input)
    if (!file) throw fail('object_unknown', { message: `No such File object: ${input}` })
    const [content] = file.input
    const lines = String(content)
      .split('\n')
      .filter(line => line.trim() !== '')
    const output: string[] = []
    const errors: string[] = []
    for (const line of lines) {
      const { custom_id: customId, body } = shapeOf(JSON.parse(line))
      const made = await respond(call, handlers[endpoint], body)
      const response = { status_code: made.status, request_id: newId('req_'), body: made.body }
      const text = JSON.stringify({ id: newId('batch_req_'), custom_id: customId, response, error: null })
      if (made.status === 200) output.push(text)
      else errors.push(text)
    }
    const keepFile = (texts: readonly string[]): string | null => {
      if (texts.length === 0) return null
      const id = newId('file-')
      const bytes = Buffer.from(`${texts.join('\n')}\n`)
      keep(call, id, {
        kind: 'file',
        value: { id, object: 'file', bytes: bytes.length, purpose: 'batch_output' },
        input: [bytes],
      })
      return id
    }
    const id = newId('batch_')
    const now = call.site.now()
    const value = {
      id,
      object: 'batch',
      endpoint,
      errors: null,
      input_file_id: input,
      completion_window: '24h',
      status: 'validating',
      output_file_id: null,
      error_file_id: null,
      created_at: Math.floor(now / 1000),
      expires_at: Math.floor((now + dayMs) / 1000),
      request_counts: { total: 0, completed: 0, failed: 0 },
      metadata: fields.get('metadata') ?? null,
    }
    const counts = { total: lines.length, completed: output.length, failed: errors.length }
    const done = {
      ...value,
      status: 'completed',
      output_file_id: keepFile(output),
      error_file_id: keepFile(errors),
      completed_at: Math.floor((now + batchMs) / 1000),
      request_counts: counts,
    }
    keep(call, id, { kind: 'batch', value, input: [], later: { atMs: now + batchMs, value: done } })
    return answerJson(200, value)
  }
  const cancel: Handler = call => {
    const { value, input } = find(call, 'batch')
    const ended = value['status'] === 'completed' ? value : { ...value, status: 'cancelled' }
    keep(call, String(value['id']), { kind: 'batch', value: ended, input })
    return answerJson(200, ended)
  }
  return { 'POST /v1/batches': create, 'GET /v1/batches/{id}': show('batch'), 'POST /v1/batches/{id}/cancel': cancel }
}

/** Batches with the requests in the body. */
function listBatches(messages: Handler): SimulatedUpstream {
  const create: Handler = async call => {
    const requests = listOf(readFields(call).get('requests'))
    const results: string[] = []
    let errored = 0
    for (const one of requests) {
      const { custom_id: customId, params } = shapeOf(one)
      const { status, body } = await respond(call, messages, params)
      if (status !== 200) errored++
      const result = status === 200 ? { type: 'succeeded', message: body } : { type: 'errored', error: body }
      results.push(JSON.stringify({ custom_id: customId, result }))
    }
    const id = newId('msgbatch_')
    const now = call.site.now()
    const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 }
    const value = {
      id,
      type: 'message_batch',
      processing_status: 'in_progress',
      request_counts: { ...none, processing: requests.length },
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + dayMs).toISOString(),
      ended_at: null,
      cancel_initiated_at: null,
      archived_at: null,
      results_url: null,
    }
    const done = {
      ...value,
      processing_status: 'ended',
      request_counts: { ...none, succeeded: requests.length - errored, errored },
      ended_at: new Date(now + batchMs).toISOString(),
      results_url: `${call.site.origin()}/v1/messages/batches/${id}/results`,
    }
    const input = [`${results.join('\n')}\n`]
    keep(call, id, { kind: 'message batch', value, input, later: { atMs: now + batchMs, value: done } })
    return answerJson(200, value)
  }
  const cancel: Handler = call => {
    const { value, input } = find(call, 'message batch')
    if (value['processing_status'] === 'ended') return answerJson(200, value)
    const canceling = { ...value, processing_status: 'canceling' }
    const lines = String(input[0]).trim().split('\n')
    const ids = lines.map(line => shapeOf(JSON.parse(line))['custom_id'])
    const canceled = ids.map(customId => JSON.stringify({ custom_id: customId, result: { type: 'canceled' } }))
    const results = [`${canceled.join('\n')}\n`]
    const ended = { ...value, processing_status: 'ended', results_url: `${call.site.origin()}/results` }
    const later = { atMs: call.site.now(), value: ended }
    keep(call, String(value['id']), { kind: 'message batch', value: canceling, input: results, later })
    return answerJson(200, canceling)
  }
  return {
    'POST /v1/messages/batches': create,
    'GET /v1/messages/batches/{id}/results': call => {
      const [text] = find(call, 'message batch').input
      return { status: 200, headers: { 'content-type': 'application/x-jsonl' }, body: String(text) }
    },
    'POST /v1/messages/batches/{id}/cancel': cancel,
    'GET /v1/messages/batches/{id}': show('message batch'),
    'DELETE /v1/messages/batches/{id}': call => {
      find(call, 'message batch')
      const { id = '' } = call.params
      forget(call, id)
      return answerJson(200, { id, type: 'message_batch_deleted' })
    },
  }
}

export function batches(handlers: { readonly [path: string]: Handler }, messages: Handler): SimulatedUpstream {
  return { ...fileBatches(handlers), ...listBatches(messages) }
}
