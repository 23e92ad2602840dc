import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chatRequest } from './bodies.ts'
import { openCheckout } from './checkout.ts'
import { startUpstream } from './targets.ts'
import { type Counted, walkGateway } from './walk-gateway.ts'

// `node bench/walk.ts [--against COMMIT] [--files] [--functions]`: costs of one request that do not depend on its speed: files and
// functions entered, promises, ticks and timers made, writes to sockets, objects and bytes allocated. Counts, so that they are the
// same on a busy machine; `test/growth/costs.test.ts` checks those of a chat.

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    files: { type: 'boolean', default: false },
    functions: { type: 'boolean', default: false },
  },
})
const root = new URL('..', import.meta.url).pathname
const requests = {
  chat: { path: '/v1/chat/completions', body: chatRequest('bench-chat', false), times: 200, heapRounds: 3 },
  image: {
    path: '/v1/images/generations',
    body: JSON.stringify({ model: 'bench-image', prompt: 'a boat', n: 1 }),
    times: 10,
  },
}

const folder = await mkdtemp(join(tmpdir(), 'tollgate-walk-'))
const stop = new AbortController()
const checkout = options.against === undefined ? undefined : await openCheckout(options.against, folder)
try {
  const upstream = await startUpstream({ folder, stop })
  for (const [what, asked] of Object.entries(requests)) {
    const walked = new Map<string, Counted>()
    if (checkout) walked.set(checkout.commit, await walkGateway(checkout.folder, folder, upstream, asked))
    walked.set('here', await walkGateway(root, folder, upstream, asked))
    print(what, walked)
  }
} finally {
  stop.abort()
  checkout?.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

function print(what: string, walked: ReadonlyMap<string, Counted>): void {
  process.stdout.write(`\n${what}, each request\n`)
  for (const [name, { figures, files }] of walked) {
    const text = Object.entries(figures).map(([figure, value]) => `${figure} ${Math.round(value)}`)
    process.stdout.write(`  ${name.padEnd(8)} ${text.join('  ')}\n`)
    if (!options.files && !options.functions) continue
    for (const [file, functions] of files) {
      process.stdout.write(`    ${file}\n`)
      if (options.functions) for (const [one, times] of functions) process.stdout.write(`      ${times} ${one}\n`)
    }
  }
}
