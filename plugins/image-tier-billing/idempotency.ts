import { createHash } from 'node:crypto'
import { type Body, fieldNames, type Idempotency, type Json, readField } from '../../src/kit/index.ts'
import { fail } from './errors.ts'

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
  const fields = await fieldsOf(body)
  return createHash('sha256')
    .update(canonical([path, fields]))
    .digest('hex')
}

async function fieldsOf(body: Body): Promise<Json> {
  if (body.kind === 'json') {
    return Object.fromEntries(fieldNames(body).map(name => [name, readField(body, name) ?? null]))
  }
  if (body.kind !== 'form') return null
  const parts: Json[] = []
  for (const part of body.parts) {
    parts.push(part.kind === 'text' ? ['text', part.name, part.value] : ['file', part.name, await part.sha256()])
  }
  return parts
}

function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`)
  return `{${members.join(',')}}`
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
