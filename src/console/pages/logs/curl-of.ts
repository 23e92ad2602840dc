import type { LogRecord } from '../../api/shapes.ts'
import { findOperation } from '../../operations.ts'

/** The path for an unknown operation. */
const elsewhere = '/v1beta/models/{model}:generateContent'
const files = new Set(['image', 'image[]', 'mask', 'file'])

/** The request as a command. Its content is not stored, so the user must add all but the model, size and quality. */
export function curlOf(record: LogRecord, baseUrl: string): string {
  const known: { readonly [field: string]: string | null | undefined } = {
    model: record.model,
    size: record.billing?.size,
    quality: record.billing?.quality,
  }
  const { path = elsewhere, body: kind = 'json' } = findOperation(record.operation) ?? {}
  const filled = path.replace('{model}', () => encodeURIComponent(record.model ?? 'MODEL'))
  const names = [...new Set([...record.forwarded, ...record.dropped])]
  const value = (name: string) => known[name] ?? `<${name}>`
  const bodies = {
    none: [],
    any: ["--data-binary '@<file>'"],
    form: names.map(name => `-F ${quoted(`${name}=${files.has(name) ? `@<${name}>` : value(name)}`)}`),
    json: [
      "-H 'Content-Type: application/json'",
      `-d ${quoted(JSON.stringify(Object.fromEntries(names.map(name => [name, value(name)]))))}`,
    ],
  }
  return [`curl ${baseUrl}${filled}`, "-H 'Authorization: Bearer <API_KEY>'", ...bodies[kind]].join(' \\\n  ')
}

/** Quotes any text as one shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
