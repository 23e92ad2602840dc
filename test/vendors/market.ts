import { toFile } from 'openai'
import t from 'tap'
import { stringify } from 'yaml'
import { systemClock } from '../../src/util/index.ts'
import { png } from '../harness/pictures.ts'
import { merge, readRecipe, readShipped, simulatedIn, type Tree } from '../harness/recipes.ts'
import { start, type Started } from '../harness/start.ts'
import { openVendors, pictureIn } from '../harness/vendors.ts'
import type { Try } from './table.ts'

/** The result of a request: a description of its pictures, and its id. */
export type Came = { readonly pictures: readonly string[]; readonly id: string }

type Item = { readonly b64_json?: string; readonly url?: string }

export type Asked = Try & { readonly model: string; readonly prompt: string }

/**
 * One gateway with recipes in its file, in front of simulated vendors with readable books.
 * @param isOwn false for the vendors that the gateway simulates when no address is set
 */
export async function openMarket(pages: Iterable<string>, more: Tree = {}, isOwn = true) {
  const vendors = await openVendors(systemClock)
  let whole = await readShipped()
  const env: Record<string, string> = {}
  for (const page of pages) {
    const { texts, fragments } = await readRecipe(page)
    for (const fragment of fragments) whole = merge(whole, fragment)
    if (isOwn)
      for (const [variable, name] of texts.flatMap(simulatedIn)) env[variable] = vendors.simulator.url(name) ?? ''
  }
  const groups: Tree = { default: { rpm: 1_000_000, tpm: 500_000 } }
  const yaml = stringify(hurry(merge(merge(whole, { groups }), more)), { lineWidth: 0 })
  const started = await start(t, { yaml, env, upstreams: [] })
  const models = (whole['models'] ?? {}) as { readonly [name: string]: { readonly family: string } }
  const families = (whole['families'] ?? {}) as { readonly [name: string]: { readonly translate?: Tree } }
  return {
    started,
    /** Whether the recipe reads the vendor's reported cost. */
    tellsCost: (model: string) => families[models[model]?.family ?? '']?.translate?.['cost'] !== undefined,
    ask: (request: Asked) => ask(started, request),
    /** The number of pictures received, including those of an incomplete answer; each of them is complete. */
    async count(request: Asked): Promise<number> {
      const items: Item[] = []
      await send(started, request, items).catch(() => undefined)
      return items.length
    },
    /** The vendor's own record of what it made for this prompt. */
    made: (simulator: string, prompt: string) => vendors.vendor(simulator, {}).made(prompt),
    /** The newest charge. */
    async charge() {
      const [charge] = await started.charges(1)
      return charge
    },
  }
}

/** Polls jobs every millisecond, and for a short time. */
function hurry(whole: Tree): Tree {
  const text = JSON.stringify(whole, (name, value: unknown) =>
    name === 'every' ? '1ms' : name === 'within' ? '20s' : value,
  )
  return JSON.parse(text) as Tree
}

async function ask(started: Started, request: Asked): Promise<Came> {
  const items: Item[] = []
  const id = await send(started, request, items)
  const pictures: string[] = []
  for (const item of items) pictures.push(await lookAt(item))
  return { pictures, id }
}

/** @returns the id of the request */
async function send({ openai }: Started, request: Asked, items: Item[]): Promise<string> {
  const { model, prompt, size, n, more, sends = 0, stream = false } = request
  const fields = { model, prompt, stream, ...(size && { size }), ...(n && { n }), ...more }
  const files = Array.from({ length: sends }, (_, i) => toFile(png(40, 30), `${i}.png`, { type: 'image/png' }))
  const image = await Promise.all(files)
  const body = sends === 0 ? fields : { ...fields, image: sends === 1 ? image[0] : image }
  const sent = (sends > 0 ? openai.images.edit(body as never) : openai.images.generate(body as never)) as ReturnType<
    typeof openai.images.generate
  >
  const { data, response } = await sent.withResponse()
  if (Symbol.asyncIterator in data) {
    for await (const event of data) if (event.type.endsWith('.completed')) items.push(event)
  } else items.push(...(data.data as Item[]))
  return response.headers.get('x-request-id') ?? ''
}

async function lookAt({ b64_json: base64, url }: Item): Promise<string> {
  if (base64 !== undefined) return pictureIn(base64)
  const answer = await fetch(url ?? '')
  return answer.ok ? pictureIn(Buffer.from(await answer.arrayBuffer())) : String(answer.status)
}
