import { describeChanges, describeSettingChanges } from '../../index.ts'
import { askOps } from '../ask-ops.ts'
import { print, say } from '../exit.ts'
import { readPlan } from '../with-storage.ts'

type Options = {
  readonly config: string
  readonly against?: string
  readonly ops?: string
  readonly format: string
}

/** Prints the changes that a file would make to another file, or to the running gateway. Prices come first. */
export async function diff(file: string, options: Options): Promise<void> {
  const plan = await readPlan(file)
  if (options.against !== undefined) {
    const before = await readPlan(options.against)
    const ends = { before: before.revision, after: plan.revision }
    return report(await describeChanges(before, plan), { ...ends, than: options.against }, file, options.format)
  }
  const response = await askOps(options, 'GET', '/config')
  const running = (await response.json()) as Running
  const changes = await describeSettingChanges(running.settings, plan)
  const than = `the running gateway (${running.file})`
  report(changes, { before: running.revision, after: plan.revision, than }, file, options.format)
  say('Credentials and other secrets are not compared: a gateway does not return them.')
}

type Running = {
  readonly revision: string
  readonly file: string
  readonly settings: { readonly [path: string]: string }
}

type Ends = { readonly before: string; readonly after: string; readonly than: string }

function report(changes: readonly string[], { before, after, than }: Ends, file: string, format: string): void {
  if (format === 'json') return print(JSON.stringify({ before, after, changes }))
  if (changes.length === 0) return say(`${file} and ${than}: no differences, revision ${after}`)
  print(changes.join('\n'))
  say(`${file} (revision ${after}) has ${changes.length} changes from ${than} (revision ${before})`)
}
