import { readFile } from 'node:fs/promises'
import t from 'tap'
import { eventKinds } from '../../src/domain/index.ts'

const page = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8')
/** Events that the code declares next to their own subject, and not in the common list. */
const elsewhere = /^upstream\.|^user\.erased$/

t.test("the page's table lists every kind of event with its data", async t => {
  const rows = new Map(
    [...page.matchAll(/^\| `([a-z]+\.[a-z_]+)` \| [^|]+ \| ([^|]+) \|$/gm)].map(([, kind, data]) => [kind, data]),
  )
  for (const kind of eventKinds) if (!elsewhere.test(kind)) t.ok(rows.get(kind)?.includes('`'), kind)
  for (const kind of rows.keys()) t.ok((eventKinds as readonly string[]).includes(kind ?? ''), `${kind} is told`)
})
