import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Body, Idempotency, Json, JsonObjectView, Part } from '../../src/plugin-api/index.ts'
import { canonical, type Sink, writeCanonical } from '../../src/wire/index.ts'
import { fail } from './errors.ts'

/** The number of fields in one turn of the event loop: a request may have 100,000. */
const fieldsATurn = 2_000
const keyText = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/**
 * Reads the Idempotency-Key. @throws Failure `invalid_idempotency_key` unless the header is absent, or sent once with
 * 1 to 255 printable characters
 */
export function readIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || !keyText.test(header)) throw fail('invalid_idempotency_key')
  return header
}

/**
 * The client's Idempotency-Key and the fingerprint of its request, or null without one. Requests are equal if their
 * paths and fields are, whatever the order of JSON members and the boundary of a form; files are compared by content.
 * @throws Failure `invalid_idempotency_key`
 */
export async function readIdempotency(
  header: string | readonly string[] | undefined,
  path: string,
  body: Body,
): Promise<Idempotency | null> {
  const key = readIdempotencyKey(header)
  return key === null ? null : { key, fingerprint: await fingerprintOf(path, body) }
}

/** Hex SHA-256 over the path and the client's fields in canonical form. */
export async function fingerprintOf(path: string, body: Body): Promise<string> {
  const hash = createHash('sha256')
  const write = (piece: Buffer | string): void => void hash.update(piece)
  write(`[${canonical(path)},`)
  if (body.kind === 'json') await writeFields(body.json, write)
  else write(canonical(body.kind === 'form' ? await listParts(body.parts) : null))
  write(']')
  return hash.digest('hex')
}

/** Writes the fields sorted by name, as `canonical` would write their object. */
async function writeFields(json: JsonObjectView, write: Sink): Promise<void> {
  let separator = '{'
  let fields = 0
  for (const name of [...json.names()].sort()) {
    write(`${separator}${JSON.stringify(name)}:`)
    await writeCanonical(json.raw(name) as Buffer, write)
    separator = ','
    if (++fields % fieldsATurn === 0) await nextTurn()
  }
  write(separator === '{' ? '{}' : '}')
}

async function listParts(parts: readonly Part[]): Promise<Json> {
  const list: Json[] = []
  for (const part of parts)
    list.push(part.kind === 'text' ? ['text', part.name, part.value] : ['file', part.name, await part.sha256()])
  return list
}
