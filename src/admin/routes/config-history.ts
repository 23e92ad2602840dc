import { isDeepStrictEqual } from 'node:util'
import { type StoredConfig, configHistoryJson, showWhatIf } from '../../domain/index.ts'
import { costUnderAnswer, restoreAnswer, takenAnswer, takenDiffAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { editsMax } from '../config-edits.ts'
import { fail } from '../errors.ts'
import { findingRecord } from '../finding-record.ts'
import { refuse } from '../reasons.ts'
import { moment, pageLimit } from '../schemas.ts'
import { WorkQueue } from '../work-queue.ts'
import { spanOf } from './config-cost.ts'

const id = { type: 'integer', minimum: 1 } as const

/**
 * One instance for each gateway. Its computations wait for each other: a cost reads all charges of its time range, and a
 * difference all lines of two configurations.
 */
export function configHistoryRoutes() {
  const queue = new WorkQueue()
  return [
    defineRoute({
      method: 'GET',
      url: '/api/config/history',
      access: 'operators',
      summary:
        'List the configurations that were activated on this storage, newest first: time, actor, trigger and changes.',
      query: {
        type: 'object',
        additionalProperties: false,
        properties: { limit: pageLimit, before: { ...id, description: 'The `next` of the previous page.' } },
      },
      answer: takenAnswer,
      async handle({ parts, query: { limit, before } }) {
        const found = await parts.storage.configs.list({ limit: limit + 1, ...(before !== undefined && { before }) })
        const rows = found.slice(0, limit)
        return { rows: rows.map(configHistoryJson), next: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
      },
    }),
    defineRoute({
      method: 'GET',
      url: '/api/config/history/:id',
      access: 'operators',
      summary: 'Compare an activated configuration with the previous one, or with another: lines and their meaning.',
      query: {
        type: 'object',
        additionalProperties: false,
        properties: {
          against: {
            ...id,
            description: '`id` of the configuration to compare with. The default is the previous one.',
          },
        },
      },
      answer: takenDiffAnswer,
      async handle(request) {
        const { parts, query } = request
        return queue.run(async () => {
          const kept = await findKept(request)
          const before = await parts.storage.configs.find(query.against ?? kept.id - 1)
          if (!before && query.against !== undefined) throw fail('not_found')
          const { files, ...difference } = parts.history.compare(before, kept)
          const shown = files.map(({ file, hunks, kept: isKept }) => ({ file, hunks, kept: isKept }))
          return { ...configHistoryJson(kept), against: before?.id ?? null, ...difference, files: shown }
        })
      },
    }),
    restoreRoute(queue),
    defineRoute({
      method: 'POST',
      url: '/api/config/history/:id/cost',
      access: 'admin',
      summary:
        'Calculate what the charges of a period would cost under an earlier configuration. The default is the previous month. Nothing is changed.',
      body: {
        type: 'object',
        additionalProperties: false,
        properties: {
          since: { ...moment, description: 'Start of the period. Absent, together with `until`: the previous month.' },
          until: {
            ...moment,
            description: 'End of the period, exclusive. The default is now, if the request has `since`.',
          },
          zone: {
            type: 'string',
            minLength: 1,
            maxLength: 200,
            description:
              'Time zone of the previous month, if the request has no `since`. The default is `budgets.time_zone`.',
          },
        },
      },
      answer: costUnderAnswer,
      async handle(request) {
        const span = spanOf(request)
        const kept = await findKept(request)
        const found = await queue.run(async () => request.parts.history.cost(kept, span, request.left))
        if (!found) throw refuse('conflict', 'not_kept', {})
        return found.ok
          ? { ok: true, ...showWhatIf(found.costs) }
          : { ok: false, findings: found.findings.map(findingRecord) }
      },
    }),
  ]
}

/** Returns the changes that restore a configuration, for review; changes nothing. */
function restoreRoute(queue: WorkQueue) {
  return defineRoute({
    method: 'GET',
    url: '/api/config/history/:id/edits',
    access: 'admin',
    summary:
      'Get the changes of models and groups that restore an activated configuration, for `POST /api/config/propose`.',
    answer: restoreAnswer,
    async handle(request) {
      const { parts } = request
      return queue.run(async () => {
        const kept = await findKept(request)
        const restored = await parts.history.restore(kept, editsMax)
        if (!restored) throw refuse('conflict', 'not_kept', {})
        const newest = await parts.storage.configs.newest()
        const now = newest && (await parts.storage.configs.find(newest.id))
        return {
          edits: restored.edits.map(({ value, was, ...edit }) => ({
            ...edit,
            ...(value !== undefined && { value }),
            ...(was !== undefined && { was }),
          })),
          left: now ? otherSettings(now, kept, restored.settings) : [],
        }
      })
    },
  })
}

/** The paths of changed settings that stay changed. If the result is unknown, those of models and groups are omitted. */
function otherSettings(
  { settings: now }: StoredConfig,
  { settings: then }: StoredConfig,
  after: StoredConfig['settings'] | undefined,
): readonly string[] {
  const isRestored = (path: string) => (after ? after[path] === then[path] : /^(?:models|groups)\b/.test(path))
  const paths = new Set([...Object.keys(now), ...Object.keys(then)])
  return [...paths].filter(path => !isDeepStrictEqual(now[path], then[path]) && !isRestored(path))
}

/** @throws Failure not_found */
async function findKept({ parts, params }: Pick<AdminRequest, 'parts' | 'params'>): Promise<StoredConfig> {
  const given = params['id'] ?? ''
  const kept = /^\d{1,12}$/.test(given) ? await parts.storage.configs.find(Number(given)) : undefined
  if (!kept) throw fail('not_found')
  return kept
}
