import type { ReloadResult, Status } from '../../index.ts'
import { askOps, type OpsOptions } from '../ask-ops.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { showFindings } from '../show-findings.ts'

/** Milliseconds. A reload by the file watcher within this time before counts as the requested one. */
const recentMs = 60_000

/** `before`: the result of the previous reload; absent from older gateways. */
type Reloaded = ReloadResult & { readonly before?: Status['last_reload'] }

/**
 * Requests a reload from the running gateway, after any current one. If the file watcher was faster, it reports the
 * result of that reload. Exit 3 if the gateway refuses the file, 4 if there is no gateway.
 */
export async function reload(options: OpsOptions & { readonly format: string }): Promise<void> {
  const response = await askOps(options, 'POST', '/reload')
  const result = (await response.json()) as Reloaded
  if (options.format === 'json') print(JSON.stringify(result))
  if (!result.ok) {
    const findings = await showFindings(result.findings)
    throw new Exit(
      exitCodes.configInvalid,
      `the new configuration was rejected; the old one stays active${options.format === 'json' ? '' : `\n${findings}`}`,
    )
  }
  const earlier = result.changes.length === 0 ? takenBefore(result.before) : undefined
  const changes = earlier?.changes ?? result.changes
  if (options.format !== 'json') for (const change of changes) print(change)
  const count = changes.length === 0 ? 'no changes' : countOf(changes.length, 'change')
  const when = earlier ? `, applied ${Math.round(earlier.ago / 1000)} s ago, when the file changed` : ''
  say(`revision ${result.revision}: ${count}${when}`)
}

function takenBefore(
  before: Status['last_reload'] | undefined,
): { readonly ago: number; readonly changes: readonly string[] } | undefined {
  if (!before?.ok || before.changes.length === 0) return undefined
  const ago = Math.max(Date.now() - Date.parse(before.at), 0)
  return ago <= recentMs ? { ago, changes: before.changes } : undefined
}
