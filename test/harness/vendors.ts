import { imageSize } from 'image-size'
import t from 'tap'
import { type Clock, systemTimers } from '../../src/util/index.ts'
import { startSimulator } from '../../src/simulator/index.ts'

/** A vendor's answer, read to its end. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  readonly text: string
  /** The answer's JSON; undefined when it is not JSON. */
  readonly json: unknown
}

type Made = {
  pictures: number
  failed: number
  cost: string
  made: { model: string; pictures: { width: number; height: number; price: string }[] }[]
}

/** A simulator with a clock that the test sets; the system's clock if it validates tokens of the gateway. */
export async function openVendors(own?: Clock) {
  const time = { ms: 1_000_000 }
  const clock = own ?? { now: () => time.ms, tick: () => time.ms, ...systemTimers }
  const simulator = await startSimulator(clock)
  t.teardown(() => simulator.close())
  return {
    simulator,
    time,
    vendor(name: string, credential: { readonly [header: string]: string }) {
      const url = simulator.url(name) ?? ''
      const send = async (method: string, path: string, body?: object, headers: object = {}): Promise<Answer> => {
        const json = body !== undefined && !(body instanceof FormData)
        const response = await fetch(path.startsWith('http') ? path : url + path, {
          method,
          headers: { ...(json && { 'content-type': 'application/json' }), ...credential, ...headers },
          ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
        })
        const bytes = Buffer.from(await response.arrayBuffer())
        const text = bytes.toString()
        return { status: response.status, headers: response.headers, bytes, text, json: parse(text) }
      }
      return {
        url,
        get: (path: string, headers?: object) => send('GET', path, undefined, headers),
        post: (path: string, body: object, headers?: object) => send('POST', path, body, headers),
        put: (path: string) => send('PUT', path),
        made: async (prompt: string): Promise<Made> =>
          (await (await fetch(`${url}/made?prompt=${encodeURIComponent(prompt)}`)).json()) as Made,
      }
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The value at a path of names and indices, such as `data.0.url`. */
export function at(json: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((found, name) => (found as { [name: string]: unknown } | undefined)?.[name], json)
}

/** Returns `1024x768 png` for base64, a data: URL or bytes. */
export function pictureIn(value: unknown): string {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value).replace(/^data:[^,]*,/, ''), 'base64')
  const { width, height, type } = imageSize(bytes)
  return `${width}x${height} ${type}`
}

/** Downloads a link without a credential. */
export async function follow(link: unknown): Promise<string> {
  const response = await fetch(String(link))
  return response.ok ? pictureIn(Buffer.from(await response.arrayBuffer())) : String(response.status)
}

/** Records of server-sent events: their data, and the name where there is one. */
export function eventsIn(text: string): { name: string | undefined; data: unknown }[] {
  return text
    .split('\n\n')
    .filter(record => record.includes('data: '))
    .map(record => ({
      name: /^event: (.*)$/m.exec(record)?.[1],
      data: parse(/^data: (.*)$/m.exec(record)?.[1] ?? ''),
    }))
}

export function formOf(fields: { readonly [name: string]: string | Blob }): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}
