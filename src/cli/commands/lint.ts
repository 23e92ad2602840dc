import { lintConfig, listLintRules } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { countOf } from '../count-of.ts'
import { formatTable } from '../table.ts'
import { printFindings } from '../print-findings.ts'

type Options = { readonly format: string; readonly ignore: readonly string[]; readonly rules: boolean }

/** Reports dangerous settings in a valid configuration. Exit 1 if one of them is an error. */
export async function lint(file: string, options: Options): Promise<void> {
  const rules = await listLintRules()
  if (options.rules) {
    const rows = rules.map(rule => [rule.id, rule.severity, rule.description])
    return print(options.format === 'json' ? JSON.stringify(rules) : formatTable(['RULE', 'SEVERITY', 'WHY'], rows))
  }
  const unknown = options.ignore.find(id => rules.every(rule => rule.id !== id && !rule.formerly.includes(id)))
  if (unknown !== undefined)
    throw new Exit(exitCodes.usage, `error: there is no rule '${unknown}'; tollgate lint --rules lists them`)
  const linted = await lintConfig(file, options.ignore)
  await printFindings(linted.findings, options.format)
  if (!linted.ok) throw new Exit(exitCodes.configInvalid, `${file} is invalid, so it was not linted`)
  const { findings, ignored } = linted
  const count = (severity: string): number => findings.filter(finding => finding.severity === severity).length
  const summary = `${file}: ${countOf(count('error'), 'error')}, ${countOf(count('warning'), 'warning')}, ${countOf(count('note'), 'note')}, ${ignored} ignored; ${rules.length - options.ignore.length} rules`
  if (count('error') > 0) throw new Exit(exitCodes.failure, summary)
  say(summary)
}
