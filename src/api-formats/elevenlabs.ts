import type { Answer, Failure, Json, Usage } from '../domain/index.ts'
import type { ApiFormat, Head, ListedModel } from '../plugin-api/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { listOperations } from './list-operations.ts'
import { listAfter } from './object-lists.ts'
import { readSeconds } from './read-members.ts'
import { UsageReport } from './usage-report.ts'
import { xRateLimitHeaders } from './x-ratelimit.ts'

/**
 * Speech with the voice in the path, and transcripts. `docs/wire.md#voices` describes what its SDKs send and expect.
 */
export const elevenlabs: ApiFormat = {
  name: 'elevenlabs',
  requestHeaders: [],
  replyHeaders: new Set(['character-cost', 'history-item-id']),
  keyPlaces: '"xi-api-key: <API_KEY>"',

  credentials(head: Head): readonly string[] {
    const keys = [headerKey(head, 'xi-api-key'), bearerKey(head), headerKey(head, 'x-api-key')]
    return keys.filter(key => key !== undefined)
  },

  error({ status, type, code, message, param }: Failure, requestId: string): Answer {
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ detail: { type, code, status: code, message, param, request_id: requestId } }),
    }
  },

  // Audio cannot contain an error: its connection is cut.
  streamError: () => undefined,
  heartbeat: undefined,
  usageOfEvent: () => null,

  /**
   * A transcript reports the length of its recording. A fraction of a second counts as one, as in translated answers.
   */
  usageOf(_operation: string, body: Json): Usage | null {
    const report = new UsageReport()
    const seconds = readSeconds(body, 'audio_duration_secs')
    report.set('second', seconds && Math.ceil(seconds))
    return report.result()
  },

  modelList: (models: readonly ListedModel[]): object => models.map(modelObject),
  modelOne: modelObject,
  objectList: listAfter,
  limitHeaders: xRateLimitHeaders,
}

function modelObject({ name, operations }: ListedModel): object {
  const able = listOperations('elevenlabs', operations).map(ability => [ability, true] as const)
  return { model_id: name, name, ...Object.fromEntries(able) }
}
