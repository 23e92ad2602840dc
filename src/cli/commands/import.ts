import { writeFile } from 'node:fs/promises'
import { importConfig } from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { showFindings } from '../show-findings.ts'

type Options = { readonly from: 'litellm'; readonly out?: string; readonly force: boolean }

/** Makes a configuration of another gateway's. */
export async function importFrom(file: string, { from, out, force }: Options): Promise<void> {
  const imported = await importConfig(file, from)
  if (!imported.ok) throw new Exit(exitCodes.configInvalid, await showFindings(imported.findings))
  if (out === undefined) process.stdout.write(imported.text)
  else await write(out, imported.text, force)
  for (const note of imported.notes) say(`note: ${note}`)
  const next = out === undefined ? '' : `; tollgate check ${out} says whether it is valid`
  const { all, active } = imported.models
  const why = active === all ? '' : ': prices missing'
  say(`${file}: ${active} of ${countOf(all, 'model')} active${why}; ${countOf(imported.notes.length, 'note')}${next}`)
}

async function write(file: string, text: string, force: boolean): Promise<void> {
  await writeFile(file, text, { flag: force ? 'w' : 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new Exit(exitCodes.failure, `${file} is there already; --force writes over it`)
  })
}
