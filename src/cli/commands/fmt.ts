import { formatConfig } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { replaceConfig } from '../replace-config.ts'
import { showFindings } from '../show-findings.ts'

/** Writes a configuration in its canonical layout; with `check` it only reports whether the layout is canonical. */
export async function fmt(file: string, { check }: { readonly check: boolean }): Promise<void> {
  const formatted = await formatConfig(file)
  if (!formatted.ok) throw new Exit(exitCodes.configInvalid, await showFindings(formatted.findings))
  if (!formatted.changed) return say(`${file} is formatted`)
  if (check) throw new Exit(exitCodes.failure, `${file} is not formatted; run tollgate fmt ${file}`)
  await replaceConfig(file, formatted.text)
  say(`${file} has been formatted`)
}
