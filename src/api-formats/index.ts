import type { ApiFormat, Head } from '../plugin-api/index.ts'
import { anthropic } from './anthropic.ts'
import { callerStyle, provenStyle } from './caller-style.ts'
import { cohere } from './cohere.ts'
import { elevenlabs } from './elevenlabs.ts'
import { google } from './google.ts'
import { hybrid } from './hybrid.ts'
import { openai } from './openai.ts'

const styles = { openai, anthropic, google, cohere, elevenlabs, hybrid }

/** Every supported API format, by its name in routes of `gateway.yaml`. */
export const apiFormats: ReadonlyMap<string, ApiFormat> = new Map(Object.entries(styles))

/** The API format that a route names; `by-caller` is that of the client. */
export function findApiFormat(name: string, head: Head): ApiFormat | undefined {
  return name === 'by-caller' ? styles[callerStyle(head.path, head.query, head.headers)] : apiFormats.get(name)
}

/** The style of an error before a route is known. `url` is the path, with or without its query. */
export function guessApiFormat(url: string, headers: Head['headers']): ApiFormat {
  const [path = ''] = url.split('?', 1)
  return styles[provenStyle(path, headers) ?? 'hybrid']
}
