import { type RequestContext, resultFiles, type Stores, withLinks } from '../../../../src/plugin-api/index.ts'
import type { EndedWork } from '../follow.ts'

type Ended = {
  readonly context: RequestContext
  readonly id: string
  readonly ended: EndedWork
  /** The number of bytes of each result file. */
  readonly files: ReadonlyMap<string, number>
  readonly now: number
}

/** Records the final state of a batch for lists, and its result files as objects of its key. */
export async function recordResults(
  objects: Stores['objects'],
  { context, id, ended, files, now }: Ended,
): Promise<void> {
  const { creates } = context.route.object ?? {}
  if (!creates) return
  const [own] = await objects.find(context.payer, [{ kind: creates.kind, id }])
  // The client may have deleted the batch.
  if (!own) return
  const value = JSON.parse(ended.bytes.toString()) as { readonly [name: string]: unknown }
  const shown = JSON.stringify(withLinks(creates, id, value))
  const made = resultFiles(creates, own, value, now).map(one => ({ ...one, bytes: files.get(one.id) ?? 0 }))
  await objects.put([{ ...own, shown }, ...made])
}
