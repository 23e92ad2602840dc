import { ApiError, call } from '../../../api/call.ts'
import type { Finding, Proposal } from '../../../api/shapes.ts'
import { FieldError } from '../../../kit/field-error.ts'
import { problemText } from '../../../kit/problem.tsx'
import { t } from '../../../words/index.ts'
import { tFinding, tSentence } from '../../../words/load-findings.ts'
import { editOf, pathText, type Staged } from './changes.ts'

/** The maximum number of changes in one proposal. */
export const changesMax = 20

/** The files with these changes. @throws ApiError */
export function propose(changes: readonly Staged[], signal?: AbortSignal): Promise<Proposal> {
  return call<Proposal>('/config/propose', {
    method: 'POST',
    body: { edits: changes.map(editOf) },
    ...(signal && { signal }),
  })
}

/**
 * Checks changes at the gateway, together with those already collected. An error at a field of the form is thrown; the
 * review shows all others. `fields`: the fields of the form by their paths in the configuration.
 * @throws FieldError, ApiError
 */
export async function tryChanges(
  gathered: readonly Staged[],
  wanted: readonly Staged[],
  fields: ReadonlyMap<string, string>,
): Promise<void> {
  const all = [...gathered, ...wanted]
  if (all.length > changesMax)
    throw new FieldError([...fields.values()][0] ?? '', () => t('edit.too_many', { most: changesMax }))
  let proposal: Proposal
  try {
    proposal = await propose(all)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { path } = all.find(one => one.path.join('.') === error.field) ?? {}
    const name = path && fieldOf(pathText(path), fields)
    if (name === undefined) throw inWords(error)
    throw new FieldError(name, () => problemText(inWords(error)))
  }
  for (const finding of proposal.findings) {
    const name = finding.severity === 'error' ? fieldOf(finding.path, fields) : undefined
    if (name !== undefined) throw new FieldError(name, () => findingText(finding))
  }
}

function findingText(finding: Finding): string {
  const { message, remedy, original } = tFinding(finding)
  return [message, remedy, original].filter(Boolean).join(t('edit.and'))
}

/** The reason why an edit is impossible, in the chosen language. */
export function inWords(error: ApiError): ApiError {
  const { why } = error.values
  if (error.reason !== 'edit' || typeof why !== 'string') return error
  const { status, code, message, field, requestId, retryAfter, reason } = error
  const values = { ...error.values, why: tSentence(why) }
  return new ApiError(status, code, message, {
    field,
    retryAfter,
    values,
    ...(requestId !== null && { request_id: requestId }),
    reason,
  })
}

/** The field of a path: its own, or the first in its mapping. */
function fieldOf(path: string, fields: ReadonlyMap<string, string>): string | undefined {
  const below = [...fields.keys()].find(field => path !== '' && field.startsWith(`${path}.`))
  return fields.get(path) ?? (below === undefined ? undefined : fields.get(below))
}
