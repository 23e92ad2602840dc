import type { Answer, Json, RequestContext } from '../../../src/plugin-api/index.ts'
import { fail } from '../errors.ts'
import { asObject, asText } from '../neutral/index.ts'
import type { StoredResponse, ResponseStore } from './response-store.ts'

const itemsMost = 100
const itemsUsual = 20

/**
 * The answer to a request for a response that the gateway stores; undefined if it stores none with this id for the key.
 */
export async function answerStored(
  { route, head, params, payer }: RequestContext,
  store: ResponseStore,
): Promise<Answer | undefined> {
  const id = params['id'] ?? ''
  const kept = await store.find(payer, id)
  if (!kept) return undefined
  const query = new URLSearchParams(head.query)
  if (route.object?.of?.ends) {
    await store.end(payer, id)
    return json({ id, object: 'response', deleted: true })
  }
  // Stored responses have ended, so none can be cancelled; and their events are not stored.
  if (head.method !== 'GET' || query.get('stream') === 'true')
    throw fail('kept_response_whole', { id: id.slice(0, 120) })
  return json(route.path.endsWith('{id}') ? kept.response : listItems(id, kept, query))
}

/** The items of the input, newest first unless `order` is `asc`. */
function listItems(id: string, { input }: StoredResponse, query: URLSearchParams): Json {
  const items = input.map((item, i) => ({ ...asObject(item), id: asText(asObject(item)?.['id']) ?? `item_${id}_${i}` }))
  const ordered = query.get('order') === 'asc' ? items : items.toReversed()
  const after = query.get('after')
  const from = after === null ? 0 : ordered.findIndex(item => item.id === after) + 1
  const requested = Number(query.get('limit') ?? itemsUsual)
  const limit = Number.isSafeInteger(requested) && requested > 0 ? Math.min(requested, itemsMost) : itemsUsual
  const data = ordered.slice(from, from + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  }
}

function json(value: Json): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}
