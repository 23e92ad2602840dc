import { describeFindings, loadConfig } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'

/** Checks a configuration: everything that `serve` would refuse, and notes on what it would not. */
export async function check(file: string, options: { readonly format: string }): Promise<void> {
  const loaded = await loadConfig(file)
  const findings = loaded.ok ? loaded.notes : loaded.findings
  if (options.format === 'json') for (const finding of findings) print(JSON.stringify(finding))
  else if (findings.length > 0) say(await describeFindings(findings, { color: process.stderr.isTTY }))
  const errors = findings.filter(finding => finding.severity === 'error').length
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, `${file}: ${errors} ${errors === 1 ? 'error' : 'errors'}`)
  const { models, families, routes, revision } = loaded.plan
  say(
    `${file} is valid: ${models.size} models in ${families.size} families, ${routes.length} routes, revision ${revision}`,
  )
}
