import { describeEvent, type EventKind, eventIdText, type FeedEvent, kindsOf, kindWords } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { withStorage } from '../with-storage.ts'
import { safeLine } from '../safe-text.ts'
import { readMoment, readZone } from '../moments.ts'

type ListOptions = {
  readonly config: string
  readonly format: string
  readonly limit: number
  readonly after?: string
  readonly kind?: readonly string[]
  readonly since?: string
}

/** Lists events, oldest first. */
export async function listEvents(options: ListOptions): Promise<void> {
  const { limit, after } = options
  const kinds = options.kind && readKinds(options.kind)
  const since =
    options.since === undefined ? undefined : readMoment('since', options.since, Date.now(), readZone(undefined))
  if (after !== undefined) checkId('after', after)
  await withStorage(options.config, async ({ events }) => {
    let shown = 0
    for (let from = after ?? null; ; ) {
      const page = await events.page({
        after: from,
        limit: Math.min(limit - shown, 200),
        ...(kinds && { kinds }),
        ...(since !== undefined && { since }),
      })
      for (const event of page.events) print(options.format === 'json' ? JSON.stringify(record(event)) : line(event))
      shown += page.events.length
      from = page.next
      if (page.isOver || shown >= limit) break
    }
    if (shown === 0) say('no matching events')
  })
}

/** Reads kinds, or groups of kinds (`budget.*`), named as in webhooks. @throws Exit 2 for an unknown one */
function readKinds(words: readonly string[]): readonly EventKind[] {
  for (const word of words)
    if (!kindWords.includes(word))
      throw new Exit(exitCodes.usage, `--kind ${word}: expected one of ${kindWords.join(', ')}`)
  return kindsOf(words)
}

function record({ id, at, kind, data }: FeedEvent): object {
  return { id, time: new Date(at).toISOString(), kind, data }
}

function line(event: FeedEvent): string {
  return safeLine(`${new Date(event.at).toISOString()}  ${event.id}  ${event.kind}  ${describeEvent(event)}`)
}

type RedeliverOptions = {
  readonly config: string
  readonly webhook: string
  readonly after?: string
  readonly id?: string
}

/** Schedules one event, or all events after one, for redelivery to a receiver. A running gateway sends them. */
export async function redeliver({ config, webhook, after, id }: RedeliverOptions): Promise<void> {
  if ((after === undefined) === (id === undefined)) throw new Exit(exitCodes.usage, 'use --after ID or --id ID')
  const which = id === undefined ? { after: checkId('after', after ?? '') } : { id: checkId('id', id) }
  await withStorage(config, async ({ events }, plan) => {
    const { webhooks } = plan
    if (!webhooks?.has(webhook)) {
      const known = [...(webhooks?.keys() ?? [])].join(', ')
      throw new Exit(exitCodes.failure, `there is no webhook '${webhook}' in ${config}${known && `; it has ${known}`}`)
    }
    if ('id' in which && !(await events.find(which.id)))
      throw new Exit(exitCodes.failure, `there is no event ${which.id}, or it has expired`)
    if (!(await events.webhooks.again(webhook, which)))
      throw new Exit(exitCodes.failure, `no gateway has sent events to ${webhook} yet: start one first`)
    say(`the events are sent to ${webhook} again by the running gateway, or by the next one that starts`)
  })
}

function checkId(option: string, id: string): string {
  if (eventIdText.test(id)) return id
  throw new Exit(exitCodes.usage, `--${option} ${id}: expected an event id, as listed by tollgate events list`)
}
