import { createHash } from 'node:crypto'
import type { Body } from '../../domain/index.ts'

/** Equal for two equal bodies; files and streams are compared by their names and lengths. */
export function digestBody(body: Body | undefined): string {
  if (body?.kind === 'json') return createHash('sha256').update(body.json.bytes).digest('hex')
  if (body?.kind === 'form')
    return JSON.stringify(body.parts.map(part => [part.name, part.kind === 'text' ? part.value : part.bytes]))
  if (body?.kind === 'composed' || body?.kind === 'stream') return `${body.kind} ${body.bytes}`
  return ''
}
