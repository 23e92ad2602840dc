import { checkConfig } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { tellFindings } from '../tell-findings.ts'

/** Checks a configuration: everything that `serve` would refuse, and notes on what it would not. */
export async function check(file: string, { format }: { readonly format: string }): Promise<void> {
  const loaded = await checkConfig(file)
  const findings = loaded.ok ? loaded.notes : loaded.findings
  await tellFindings(findings, format)
  const errors = findings.filter(finding => finding.severity === 'error').length
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, `${file}: ${countOf(errors, 'error')}`)
  const { models, families, routes, revision } = loaded.plan
  say(
    `${file} is valid: ${models.size} models in ${families.size} families, ${routes.length} routes, revision ${revision}`,
  )
}
