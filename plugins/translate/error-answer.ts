import type { UpstreamResponse } from '../../src/plugin-api/index.ts'
import { valuesAt } from '../../src/wire/index.ts'
import type { Reading } from './describe.ts'
import { Refused } from './refused.ts'

/** The maximum length of a refusal that is read. */
const errorBytesMax = 64 * 1024
const messageCharsMax = 2_000

/** An error of the upstream, in the client's API format. */
export async function readError(response: UpstreamResponse, reading: Reading): Promise<Refused> {
  const { status, headers } = response
  const body = await gather(response, errorBytesMax)
  const value = readJson(body)
  const message = firstText(value, reading.messages) ?? `it answered with status ${status}`
  const retry = headers['retry-after']
  return new Refused(message.slice(0, messageCharsMax), {
    status,
    code: firstText(value, reading.codes)?.slice(0, 64) ?? null,
    ...(retry !== undefined && { headers: { 'retry-after': retry } }),
  })
}

/** The body of an answer, up to a maximum length. */
async function gather({ body }: UpstreamResponse, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    chunks.push(chunk)
    if (bytes > bytesMax) break
  }
  return Buffer.concat(chunks).subarray(0, bytesMax)
}

/** Undefined if it is not JSON. */
function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown
  } catch {
    return undefined
  }
}

function firstText(value: unknown, paths: readonly string[]): string | undefined {
  for (const path of paths)
    for (const one of valuesAt(value, path)) {
      if (typeof one === 'string' && one !== '') return one
      if (typeof one === 'number') return String(one)
    }
  return undefined
}
