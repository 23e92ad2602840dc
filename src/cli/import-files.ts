import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { ImportedConfig } from '../index.ts'
import { countOf } from './count-of.ts'
import { Exit, exitCodes, say } from './exit.ts'
import { needFolderOf } from './need-file.ts'
import { safeLine } from './safe-text.ts'

export type ImportFlags = {
  readonly out?: string
  readonly force: boolean
  readonly secrets?: string
  readonly prices?: string
  readonly database?: string
  readonly expand: boolean
  readonly localFree: boolean
  readonly allowUndercharge: boolean
  readonly mode?: string
  readonly acceptLosses: boolean
  readonly dryRun: boolean
  readonly usersOnly: boolean
  readonly withoutEnd: boolean
  readonly format: string
}

/** The result for a configuration. */
type Imported = Extract<ImportedConfig, { readonly ok: true }>

/** @throws Exit 4 if no model is active; 1 if guardrails, budgets or fallbacks are lost and that is not accepted */
export function needUsable(
  source: string,
  { models, losses }: Pick<Imported, 'models' | 'losses'>,
  { format, acceptLosses, usersOnly }: ImportFlags,
): void {
  // The configuration is not written, so none of it is lost.
  if (usersOnly) return
  const messageOf = (text: string): string => (format === 'json' ? '' : `${source}: ${text}`)
  if (models.active === 0) throw new Exit(exitCodes.nothingActive, messageOf('no model is active'))
  if (losses.length === 0 || acceptLosses) return
  for (const loss of format === 'json' ? [] : losses) say(`lost: ${safeLine(loss)}`)
  const [count, them] =
    losses.length === 1
      ? ['1 guardrail, budget or fallback is', 'it']
      : [`${losses.length} guardrails, budgets or fallbacks are`, 'them']
  throw new Exit(exitCodes.failure, messageOf(`${count} not in effect here; replace ${them}, or use --accept-losses`))
}

/**
 * The folder of secrets for the configuration: relative to its file if `out` is known and `secrets` is relative, else
 * absolute.
 */
export function placeOfSecrets(secrets: string, out: string | undefined): string {
  const whole = resolve(secrets)
  const place = out === undefined || isAbsolute(secrets) ? whole : `./${relative(dirname(resolve(out)), whole)}`
  if (/[{}$]/.test(place)) throw new Exit(exitCodes.usage, `--secrets ${secrets}: expected a path without {, } and $`)
  return place
}

export async function writeImported(
  { text, secrets: files }: Pick<Imported, 'text' | 'secrets'>,
  { out, secrets, force }: ImportFlags,
): Promise<void> {
  if (out !== undefined) await writeNew(out, text, { force, mode: 0o644 })
  if (secrets === undefined || files.length === 0) return
  await mkdir(secrets, { recursive: true, mode: 0o700 })
  for (const { name, value } of files) await writeNew(join(secrets, name), value, { force, mode: 0o600 })
}

/** @throws Exit 1 when the file exists and `force` is not set */
async function writeNew(file: string, text: string, { force, mode }: { force: boolean; mode: number }): Promise<void> {
  await needFolderOf(file)
  // Overwriting would keep the mode of an existing file.
  if (force && mode === 0o600) await rm(file, { force })
  await writeFile(file, text, { flag: force ? 'w' : 'wx', mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new Exit(exitCodes.failure, `${file} already exists; use --force to overwrite it`)
  })
}

export function reportImported(
  file: string,
  { notes, losses, models, secrets: files }: Omit<Imported, 'ok'>,
  options: ImportFlags,
): void {
  const { out, secrets, dryRun, acceptLosses, usersOnly } = options
  // Losses that are not accepted are printed last, with the refusal.
  const shown =
    !usersOnly && (acceptLosses || models.active === 0) ? notes : notes.filter(note => !losses.includes(note))
  for (const note of shown) say(`note: ${safeLine(note)}`)
  if (usersOnly) return
  if (secrets !== undefined && files.length === 0)
    say(
      `nothing ${dryRun ? 'is to be' : 'was'} written to ${secrets}: every key is in a variable. A changed variable needs a restart, a changed file does not (docs/rotating.md)`,
    )
  if (files.length > 0)
    say(
      `${countOf(files.length, 'secret')} ${dryRun ? 'to be written' : 'written'} to ${secrets ?? 'the folder of --secrets'}, readable only by you`,
    )
  const next = out === undefined || dryRun ? '' : `; validate it with tollgate check ${out}`
  const { all, active } = models
  say(`${file}: ${active} of ${countOf(all, 'model')} active; ${countOf(notes.length, 'note')}${next}`)
}

/** The report as data. */
export function reportOf(
  { text, notes, losses, models, entries, secrets: files }: Omit<Imported, 'ok'>,
  { out, secrets, dryRun }: ImportFlags,
) {
  return {
    models,
    entries,
    notes,
    losses,
    secrets: files.map(({ name }) => join(secrets ?? '', name)),
    written: !dryRun,
    ...(out === undefined && { text }),
  }
}
