import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import busboy from 'busboy'
import type { Test } from 'tap'
import { leftovers } from '../unit/multipart-rewrite-kit.ts'
import { type Edits, type Started, start, type StartOptions } from './start.ts'
import { sha256 } from './upstream.ts'

/** One part of a form, in the order received. */
export type SeenPart =
  | { readonly kind: 'text'; readonly name: string; readonly value: string }
  | {
      readonly kind: 'file'
      readonly name: string
      readonly fileName: string
      readonly type: string
      readonly bytes: number
      readonly sha256: string
    }

/** The parts of a form, parsed by a reader that is not the gateway's. */
export async function readParts(bytes: Buffer, contentType = ''): Promise<readonly SeenPart[]> {
  const seen: Promise<SeenPart>[] = []
  const parser = busboy({ headers: { 'content-type': contentType }, defParamCharset: 'utf8' })
  parser.on('field', (name, value) => seen.push(Promise.resolve({ kind: 'text', name, value })))
  parser.on('file', (name, stream, { filename, mimeType: type }) =>
    seen.push(readFile(stream, { name, fileName: filename ?? '', type })),
  )
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  parser.on('close', resolve).on('error', reject)
  parser.end(bytes)
  await promise
  return Promise.all(seen)
}

async function readFile(
  stream: AsyncIterable<Buffer>,
  head: { readonly name: string; readonly fileName: string; readonly type: string },
): Promise<SeenPart> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const content = Buffer.concat(chunks)
  return { kind: 'file', ...head, bytes: content.length, sha256: sha256(content) }
}

export function filesOf(parts: readonly SeenPart[], base: string): readonly (SeenPart & { kind: 'file' })[] {
  return parts.flatMap(part => (part.kind === 'file' && part.name.replace(/\[\d*\]$/, '') === base ? [part] : []))
}

export function textsOf(parts: readonly SeenPart[]): { readonly [name: string]: string } {
  return Object.fromEntries(parts.flatMap(part => (part.kind === 'text' ? [[part.name, part.value]] : [])))
}

export type Edited = Started & {
  /** The parts of the last form that reached an upstream. */
  readonly sent: (upstream?: string) => Promise<readonly SeenPart[]>
  /** Sends a form with the first key. */
  readonly postForm: (
    body: Buffer,
    contentType: string,
    headers?: Record<string, string>,
    path?: string,
  ) => Promise<Response>
  /** Uploads still in the spool, named or not. */
  readonly spooled: () => Promise<readonly string[]>
}

const noLimits: Edits = [
  { 'groups/default': { rpm: 1000000, tpm: 500000 } },
  { 'models/beta-imagine-image/limits/rpm': 1000000 },
]

/** A gateway without request limits, whose uploads are spooled into a folder of their own. */
export async function startEdits(t: Test, options: StartOptions = {}): Promise<Edited> {
  const spool = join(tmpdir(), `tollgate-spool-${randomUUID()}`)
  await mkdir(spool, { mode: 0o700 })
  t.teardown(() => rm(spool, { recursive: true }))
  const spooling: Edits = [['multipart-rewrite, size', `{ multipart-rewrite: { spool_dir: ${spool} } }, size`]]
  const limits = options.yaml === undefined ? noLimits : []
  const started = await start(t, { ...options, edit: [...limits, ...spooling, ...(options.edit ?? [])] })
  return {
    ...started,
    async sent(name = 'alpha') {
      const last = started.upstreams[name]?.received.at(-1)
      if (!last) throw new Error(`nothing has reached '${name}'`)
      return readParts(last.body, last.headers['content-type'])
    },
    postForm: (body, contentType, headers = {}, path = '/v1/images/edits') =>
      fetch(started.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${started.key}`, 'content-type': contentType, ...headers },
        body: new Uint8Array(body),
      }),
    async spooled() {
      await started.settled()
      // A file descriptor is closed after the answer, in the thread pool.
      for (let turns = 0; turns < 1_000 && (await leftovers(spool)).length > 0; turns++) await turn()
      return leftovers(spool)
    },
  }
}

/** Polls a condition that has no event; the test's own timeout limits it. */
export async function until(reached: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await reached())) await turn()
}
