import type { ApiFormat, Json, Reply } from '../../src/plugin-api/index.ts'
import { parseJsonIfValid } from '../../src/wire/index.ts'

const eventLine = 'event:'
const errorEvents: ReadonlySet<string> = new Set(['error', 'failed'])
const dataLine = 'data:'

/** Whether a completed answer is successful and complete, by its content. */
export function isWhole(body: Buffer, reply: Reply, { lastEvents }: ApiFormat): boolean {
  if (body.length === 0) return false
  const text = body.toString()
  if (reply.headers['content-type']?.startsWith('text/event-stream')) {
    const lines = text.split('\n')
    const isEnded = lastEvents ? lines.some(line => lastEvents.some(last => line.startsWith(last))) : !reply.endUnknown
    return isEnded && text.endsWith('\n') && !lines.some(isErrorLine)
  }
  const answer = parseJsonIfValid(text)
  if (typeof answer !== 'object' || answer === null) return false
  return Array.isArray(answer) ? !answer.some(hasError) : !hasError(answer)
}

function isErrorLine(line: string): boolean {
  if (line.startsWith(eventLine))
    return errorEvents.has(
      line
        .trimEnd()
        .split(/[ :._]/)
        .at(-1) ?? '',
    )
  if (!line.startsWith(dataLine) || !line.includes('"error"')) return false
  return hasError(parseJsonIfValid(line.slice(dataLine.length)))
}

function hasError(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { error, type } = value as { readonly [name: string]: Json }
  return (error !== undefined && error !== null) || type === 'error'
}

/** Whether an answer contains one of these texts, in any JSON encoding. */
export function repeats(body: Buffer, texts: readonly string[]): boolean {
  return texts.some(text => {
    const written = JSON.stringify(text).slice(1, -1)
    const ascii = written.replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    return body.includes(written) || (ascii !== written && body.includes(ascii))
  })
}
