import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stringify } from 'yaml'
import { startSimulator } from '../../../src/simulator/index.ts'
import { merge, readRecipe, readShipped, simulatedIn, type Tree } from '../../harness/recipes.ts'
import { editShipped } from '../../harness/project.ts'
import { start, type Started } from '../../harness/start.ts'

/** Damages the text of an answer; a streamed answer has one text per event. */
export type Damage = (text: string, isEvent: boolean) => string

/**
 * A gateway with the shipped families and the recipes, in front of simulated vendors whose answers are damaged on the
 * way.
 */
export type DamagingVendors = {
  readonly started: Started
  /** The origin of the links to pictures that vendors return. */
  readonly origin: string
  /** Sets the damage for all later answers. */
  readonly damage: (damage: Damage) => void
  readonly close: () => Promise<void>
}

export async function openDamagingVendors(pages: Iterable<string>): Promise<DamagingVendors> {
  const ends: (() => Promise<unknown> | undefined)[] = []
  const simulator = await startSimulator()
  ends.push(() => simulator.close())
  const vendorsOrigin = new URL(simulator.url('openai') ?? '').origin
  let damage: Damage = text => text
  let origin = ''

  async function pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { host: _, connection: __, ...headers } = req.headers as { [name: string]: string }
    const sent = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
    const answer = await fetch(vendorsOrigin + (req.url ?? ''), { method: req.method ?? 'GET', headers, ...sent })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const type = answer.headers.get('content-type') ?? ''
    res.writeHead(answer.status, { 'content-type': type })
    if (!answer.ok || !/json|event-stream/.test(type)) return void res.end(bytes)
    const text = bytes.toString().replaceAll(vendorsOrigin, origin)
    res.end(type.includes('json') ? damage(text, false) : damageEvents(text))
  }

  function damageEvents(text: string): string {
    return text.replaceAll(/^data: (\{.*\})$/gm, (_line, data: string) => `data: ${damage(data, true)}`)
  }

  const server = createServer((req, res) => void pass(req, res).catch(() => res.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ends.push(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })

  let whole = await readShipped()
  const env: Record<string, string> = {}
  const recipes = await Promise.all([...new Set(pages)].map(readRecipe))
  for (const { fragments } of recipes) for (const fragment of fragments) whole = merge(whole, fragment)
  for (const text of [await editShipped([]), ...recipes.flatMap(({ texts }) => texts)])
    for (const [variable, name] of simulatedIn(text))
      env[variable] = origin + new URL(simulator.url(name) ?? '').pathname
  const yaml = stringify(hurry(merge(whole, { groups: { default: { rpm: 1_000_000 } } })), { lineWidth: 0 })
  const teardown = (end: () => Promise<void>) => void ends.push(end)
  const started = await start({ teardown }, { yaml, env, upstreams: [] })
  return {
    started,
    origin,
    damage: one => {
      damage = one
    },
    async close() {
      for (const end of ends.toReversed()) await end()
    },
  }
}

/** Polls jobs every millisecond, and for 20 s at most. */
function hurry(whole: Tree): Tree {
  const text = JSON.stringify(whole, (name, value: unknown) =>
    name === 'every' ? '1ms' : name === 'within' ? '20s' : value,
  )
  return JSON.parse(text) as Tree
}
