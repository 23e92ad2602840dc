import { configAnswer, findingsAnswer, reloadAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { findingRecord } from '../finding-record.ts'
import type { Reloaded } from '../parts.ts'
import { refuse } from '../reasons.ts'
import { sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

const textBytesMax = 1024 * 1024

function reloadRecord(result: Reloaded) {
  if (result.ok) return { ok: true, revision: result.revision, changes: result.changes }
  return { ok: false, findings: result.findings.map(findingRecord) }
}

export const configRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/config',
    access: 'operators',
    summary: 'Get the current configuration file with its secrets redacted, and the origin of each value.',
    answer: configAnswer,
    async handle({ parts }) {
      const { file, revision } = parts.plan()
      const shown = await parts.show().catch((cause: unknown) => {
        throw refuse('conflict', 'file', { file }, { cause })
      })
      const last = parts.facts.lastReload()
      return {
        file,
        revision,
        loaded_at: toMoment(parts.facts.loadedAt()),
        text: shown.text,
        origins: shown.origins.map(({ path, value, file: own, line, from }) => ({
          path,
          value,
          file: own,
          line,
          from,
        })),
        last_reload: last ? { at: toMoment(last.at), ...reloadRecord(last.result) } : null,
      }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/config/check',
    access: 'admin',
    summary: 'Check a configuration text. Nothing is changed.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: { text: { type: 'string', maxLength: textBytesMax } },
    },
    bodyBytesMax: textBytesMax,
    answer: findingsAnswer,
    async handle({ parts, body }) {
      const { ok, findings } = await parts.check(body.text)
      return { ok, findings: findings.map(findingRecord) }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/config/reload',
    access: 'admin',
    summary: 'Reload the configuration file. All of it is activated, or nothing.',
    answer: reloadAnswer,
    async handle(request) {
      const { parts } = request
      if (!parts.reload) throw refuse('conflict', 'processes', {})
      const before = parts.plan().revision
      const result = await parts.reload(sessionUserOf(request).user.name)
      if (result.ok)
        await parts.storage.trail.note({
          actor: sessionUserOf(request).user.name,
          action: 'config.reload',
          subject: parts.plan().file,
          before: { revision: before },
          after: { revision: result.revision, changes: result.changes },
          reason: null,
        })
      return reloadRecord(result)
    },
  }),
]
