import type { Answer, Dialect, Failure, Head, LimitState, ListedModel } from '../kit/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { formatGoDuration } from './durations.ts'

/** The chat-completions style. Source: `reference/wire.md` 2.1, 4, 10. */
export const openai: Dialect = {
  name: 'openai',
  requestHeaders: ['openai-beta'],
  replyHeaders: new Set(['openai-processing-ms', 'openai-version']),

  credentials(head: Head): readonly string[] {
    return [bearerKey(head), headerKey(head, 'x-api-key')].filter(key => key !== undefined)
  },

  error(failure: Failure): Answer {
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ error: errorObject(failure) }),
    }
  },

  streamError(failure: Failure): string {
    return `data: ${JSON.stringify({ error: errorObject(failure) })}\n\n`
  },

  heartbeat: ': \n\n',
  usageOf: () => null,
  usageOfEvent: () => null,

  modelList(models: readonly ListedModel[]): object {
    return { object: 'list', data: models.map(model => modelObject(model)) }
  },

  modelOne: modelObject,

  limitHeaders(limits: readonly LimitState[]): { readonly [name: string]: string } {
    const headers: { [name: string]: string } = {}
    for (const { kind, limit, remaining, resetMs } of limits) {
      headers[`x-ratelimit-limit-${kind}`] = String(limit)
      headers[`x-ratelimit-remaining-${kind}`] = String(remaining)
      headers[`x-ratelimit-reset-${kind}`] = formatGoDuration(resetMs)
    }
    return headers
  },
}

function errorObject(failure: Failure): object {
  return { message: failure.message, type: failure.type, param: failure.param, code: failure.code }
}

function modelObject(model: ListedModel): object {
  return { id: model.name, object: 'model', created: Math.floor(model.since / 1000), owned_by: model.family }
}
