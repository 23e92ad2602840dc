import { createHash } from 'node:crypto'
import { compareSettings, showDiff } from '../config/index.ts'
import type { KeptConfig, KeptDifference, KeptText, Plan } from '../kit/index.ts'
import { secretsOf } from './secrets-of.ts'

/** Enough to see that a secret is another one, and too little to find out which. */
const checkDigits = 4
const othersChanged = 'secrets: changed'

/** The same for two that say the same with the same secrets, wherever their files stand. */
export function markOf(plan: Plan, files: readonly KeptText[]): string {
  const said = createHash('sha256')
    .update(JSON.stringify([plan.revision, files.map(({ file, text }) => [file, text])]))
    .digest('hex')
  const secrets = [...new Set(secretsOf(plan))].sort()
  const check = createHash('sha256').update(JSON.stringify(secrets)).digest('hex').slice(0, checkDigits)
  return `${said.slice(0, 32)} ${check}`
}

/**
 * What a configuration changed, a line each: settings, and secrets as changed. `known` are secrets of which it is known where
 * they stand.
 */
export function describeTaken(
  before: Pick<KeptConfig, 'settings' | 'mark'>,
  after: Pick<KeptConfig, 'settings' | 'mark'>,
  known: readonly string[] = [],
): readonly string[] {
  const changes = compareSettings(before.settings, after.settings)
  if (known.length > 0) return [...changes, ...known.filter(line => !changes.includes(line))]
  const isOther = before.mark.split(' ')[1] !== after.mark.split(' ')[1]
  return isOther ? [...changes, othersChanged] : changes
}

/** All of `after` is new where there is nothing before it. */
export function compareKept(before: KeptConfig | undefined, after: KeptConfig): KeptDifference {
  // What was known of secrets when it took effect is not seen in the two.
  const known = before?.id === after.id - 1 ? after.changes.filter(line => line.endsWith(': changed')) : []
  const [old, now] = [textsOf(before), textsOf(after)]
  const files = [...new Set([...now.keys(), ...old.keys()])].flatMap(file => {
    const [was, is] = [old.get(file), now.get(file)]
    if (was === null || is === null) return was === is ? [] : [{ file, hunks: [], kept: false, patch: '' }]
    if (was === is) return []
    const { hunks, patch = '' } = showDiff(file, { text: was ?? '', lines: [] }, { text: is ?? '', lines: [] })
    return [{ file, hunks, kept: true, patch }]
  })
  return { changes: before ? describeTaken(before, after, known) : [], files }
}

function textsOf(kept: KeptConfig | undefined): ReadonlyMap<string, string | null> {
  return new Map(kept?.files.map(({ file, text }) => [file, text]))
}
