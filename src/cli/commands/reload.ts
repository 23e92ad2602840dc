import type { ReloadResult } from '../../index.ts'
import { askOps, type OpsOptions } from '../ask-ops.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { showFindings } from '../show-findings.ts'

/** Tells the running gateway to read its configuration again. Exit 3 when it refuses it, 4 when there is none. */
export async function reload(options: OpsOptions & { readonly format: string }): Promise<void> {
  const response = await askOps(options, 'POST', '/reload')
  const result = (await response.json()) as ReloadResult
  if (options.format === 'json') print(JSON.stringify(result))
  if (!result.ok) {
    const findings = await showFindings(result.findings)
    throw new Exit(
      exitCodes.configInvalid,
      `the new configuration is refused; the old one stays${options.format === 'json' ? '' : `\n${findings}`}`,
    )
  }
  if (options.format !== 'json') for (const change of result.changes) print(change)
  const { length } = result.changes
  say(
    `revision ${result.revision}: ${length === 0 ? 'nothing has changed' : `${length} ${length === 1 ? 'change' : 'changes'}`}`,
  )
}
