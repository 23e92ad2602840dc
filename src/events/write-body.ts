import { describeEvent, type EventData, type FeedEvent } from '../domain/index.ts'

/** Standard Webhooks recommends less than 20 kB. */
const bodyBytesMax = 20_000
const valueCharsMax = 500
const textCharsMax = 2_000

/** The body of a request to a receiver of Standard Webhooks. */
export function standardBody({ kind, at, data }: FeedEvent): string {
  const write = (data: EventData): string => JSON.stringify({ type: kind, timestamp: new Date(at).toISOString(), data })
  const body = write(data)
  return Buffer.byteLength(body) <= bodyBytesMax ? body : write(shorten(data))
}

/** If the body is too long: the plain members, shortened. */
function shorten(data: EventData): EventData {
  const plain = Object.entries(data).filter(([, value]) => typeof value !== 'object' || value === null)
  const short = plain
    .slice(0, 20)
    .map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, valueCharsMax) : value] as const)
  return { ...Object.fromEntries(short), truncated: true }
}

const entities: { readonly [sign: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/**
 * A Slack message, in which names cannot become mentions or links with another text. Slack writes these in `<…>`,
 * Mattermost as `@all` and `[text](address)`: there an invisible space breaks them.
 */
export function slackBody(event: FeedEvent): string {
  const text = plainText(event)
    .replace(/[&<>]/g, sign => entities[sign] ?? sign)
    .replace(/(?<![\p{L}\p{N}_])@|\](?=\()/gu, '$&\u200B')
  return JSON.stringify({ text: `*${event.kind}*  ${text}` })
}

/** One line without invisible characters. */
export function plainText(event: FeedEvent): string {
  return describeEvent(event)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .slice(0, textCharsMax)
}
