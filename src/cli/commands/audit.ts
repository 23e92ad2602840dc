import { auditConfig, listAuditRules } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { formatTable } from '../table.ts'
import { tellFindings } from '../tell-findings.ts'

type Options = { readonly format: string; readonly ignore: readonly string[]; readonly rules: boolean }

/** Looks in a valid configuration for what is dangerous; exit 1 when an error is among it. */
export async function audit(file: string, options: Options): Promise<void> {
  const rules = await listAuditRules()
  if (options.rules) {
    const rows = rules.map(rule => [rule.id, rule.severity, rule.description])
    return print(options.format === 'json' ? JSON.stringify(rules) : formatTable(['RULE', 'SEVERITY', 'WHY'], rows))
  }
  const unknown = options.ignore.find(id => rules.every(rule => rule.id !== id))
  if (unknown !== undefined)
    throw new Exit(exitCodes.usage, `error: there is no rule '${unknown}'; tollgate audit --rules lists them`)
  const audited = await auditConfig(file, options.ignore)
  await tellFindings(audited.findings, options.format)
  if (!audited.ok) throw new Exit(exitCodes.configInvalid, `${file} is not valid, so it was not audited`)
  const { findings, ignored } = audited
  const count = (severity: string): number => findings.filter(finding => finding.severity === severity).length
  const told = `${file}: ${count('error')} errors, ${count('warning')} warnings, ${count('note')} notes, ${ignored} ignored; ${rules.length - options.ignore.length} rules`
  if (count('error') > 0) throw new Exit(exitCodes.failure, told)
  say(told)
}
