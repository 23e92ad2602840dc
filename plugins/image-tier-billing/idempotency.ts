import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Body, Idempotency, Json, JsonObjectView, Part } from '../../src/plugin-api/index.ts'
import { canonical, type Sink, writeCanonical } from './canonical.ts'
import { fail } from './errors.ts'

/** A request may have a hundred thousand. */
const fieldsATurn = 2_000
const keyText = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/** @throws Failure `invalid_idempotency_key` unless the header is absent, or came once with 1 to 255 printable characters. */
export function readIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || !keyText.test(header)) throw fail('invalid_idempotency_key')
  return header
}

/**
 * The caller's Idempotency-Key and what it stands for, or null without one. Two requests are the same when their path
 * and their fields are, whatever the order of a JSON object's members and the boundary of a form; files count by their
 * content.
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

/** Hex SHA-256 over the path and the caller's fields in one fixed form. */
export async function fingerprintOf(path: string, body: Body): Promise<string> {
  const hash = createHash('sha256')
  const write = (piece: Buffer | string): void => void hash.update(piece)
  write(`[${canonical(path)},`)
  if (body.kind === 'json') await writeFields(body.json, write)
  else write(canonical(body.kind === 'form' ? await listParts(body.parts) : null))
  write(']')
  return hash.digest('hex')
}

/** The fields in the order of their names, as `canonical` would write the object that they make. */
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
