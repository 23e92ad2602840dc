import { checkConfig, refusedByCheck } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { printFindings } from '../print-findings.ts'

type Options = { readonly format: string; readonly strict: boolean }

/** Checks a configuration: reports everything that `serve` would refuse, and further notes. */
export async function check(file: string, { format, strict }: Options): Promise<void> {
  const loaded = await checkConfig(file)
  const findings = loaded.ok ? loaded.notes : loaded.findings
  await printFindings(findings, format)
  const count = (severity: string): number => findings.filter(finding => finding.severity === severity).length
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, `${file}: ${countOf(count('error'), 'error')}`)
  if (strict && count('warning') > 0)
    throw new Exit(
      exitCodes.configInvalid,
      `${file}: ${countOf(count('warning'), 'warning')}, treated as errors by --strict`,
    )
  const refused = findings.filter(({ code }) => refusedByCheck.has(code)).length
  if (refused > 0)
    throw new Exit(
      exitCodes.configInvalid,
      `${file}: ${countOf(refused, 'warning')} treated as errors here; a gateway would start with them`,
    )
  const { models, families, routes, revision } = loaded.plan
  say(
    `${file} is valid: ${countOf(models.size, 'model')} in ${families.size} ${families.size === 1 ? 'family' : 'families'}, ${countOf(routes.length, 'route')}, revision ${revision}`,
  )
}
