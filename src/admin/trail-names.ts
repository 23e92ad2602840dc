import { basename } from 'node:path'
import type { TrailRow } from '../domain/index.ts'
import type { AdminRequest } from './api.ts'
import { namesOfKeys } from './key-names.ts'

type TrailNames = {
  readonly key_names: { readonly [id: string]: string }
  /** The name of a row's target; null if the target is its own name, or has no name. */
  readonly nameOf: (row: TrailRow) => string | null
}

const keyId = /\bkey_[0-9a-z]{20}\b/g
/** The maximum number of a target's rows that are searched for its name, which is in the row that created it. */
const rowsMost = 20

/** The names for the ids in rows of the audit log. */
export async function namesOfTrail(request: AdminRequest, rows: readonly TrailRow[]): Promise<TrailNames> {
  const keys = rows.flatMap(({ subject, before, after }) => JSON.stringify([subject, before, after]).match(keyId) ?? [])
  const { key_names } = await namesOfKeys(request, keys)
  const targets = new Set(rows.filter(isCreated).map(({ subject }) => subject))
  const names = new Map<string, string>()
  for (const subject of targets) {
    const name = await createdAs(request, subject, rows)
    if (name !== undefined) names.set(subject, name)
  }
  return {
    key_names,
    nameOf({ action, subject }) {
      // Omits the folder of a file.
      if (action.startsWith('config.')) return basename(subject)
      return key_names[subject] ?? names.get(subject) ?? null
    },
  }
}

/** Whether a row is about an admin token or an invitation, whose name is in the row that created it. */
function isCreated({ action }: TrailRow): boolean {
  return action.startsWith('admin_token.') || action.startsWith('invitation.')
}

async function createdAs(
  request: AdminRequest,
  subject: string,
  rows: readonly TrailRow[],
): Promise<string | undefined> {
  const here = nameIn(rows.filter(row => row.subject === subject))
  return here ?? nameIn(await request.parts.storage.trail.list({ subject, limit: rowsMost }))
}

function nameIn(rows: readonly TrailRow[]): string | undefined {
  return rows
    .flatMap(({ before, after }) => [after?.['name'], before?.['name']])
    .find((name): name is string => typeof name === 'string')
}
