import { type Checked, examine } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { writeOut } from '../write-out.ts'

/** Looks at everything that a gateway needs. Exit 1 when something would keep it from working. */
export async function doctor(options: { readonly config: string; readonly format: string }): Promise<void> {
  let failed = 0
  for await (const checked of examine(options.config)) {
    if (checked.state === 'fail') failed++
    print(options.format === 'json' ? JSON.stringify(checked) : formatLine(checked))
  }
  if (failed > 0) throw new Exit(exitCodes.failure, `${failed} ${failed === 1 ? 'thing fails' : 'things fail'}`)
}

function formatLine({ name, state, text, remedy }: Checked): string {
  return writeOut(`${state.padEnd(4)}  ${name.padEnd(14)}  ${text}${remedy === undefined ? '' : `  →  ${remedy}`}`)
}
