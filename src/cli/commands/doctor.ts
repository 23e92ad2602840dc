import { type Checked, examine } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import type { LiveOptions } from './doctor-live.ts'
import { safeLine } from '../safe-text.ts'

type Options = { readonly config: string; readonly format: string } & LiveOptions

/** Checks everything that a gateway needs. Exit 1 if a check fails. */
export async function doctor(options: Options): Promise<void> {
  if (options.live.length > 0 || options.liveAll) return (await import('./doctor-live.ts')).doctorLive(options)
  let failed = 0
  for await (const checked of examine(options.config)) {
    if (checked.state === 'fail') failed++
    print(options.format === 'json' ? JSON.stringify(checked) : formatLine(checked))
  }
  if (failed > 0) throw new Exit(exitCodes.failure, `${failed} ${failed === 1 ? 'check failed' : 'checks failed'}`)
}

function formatLine({ name, state, text, remedy }: Checked): string {
  return safeLine(`${state.padEnd(4)}  ${name.padEnd(14)}  ${text}${remedy === undefined ? '' : `  →  ${remedy}`}`)
}
