import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Encoding = 'br' | 'gzip'

/** Below this size, the headers use more bytes than the compression saves. */
const worthBytes = 1024
/** Saves half as much as the highest level, in a tenth of its time. */
const levelOnTheWay = 4

const zip = promisify(gzip)
const pack = promisify(brotliCompress)

/** The first of `offered` that the client accepts (RFC 9110 12.5.3); undefined for no encoding. */
export function chooseEncoding<E extends Encoding>(
  header: string | string[] | undefined,
  offered: readonly E[],
): E | undefined {
  const weights = new Map<string, number>()
  for (const part of String(header ?? '')
    .slice(0, 1000)
    .toLowerCase()
    .split(',')) {
    const [coding = '', ...parameters] = part.split(';').map(text => text.trim())
    weights.set(coding, Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? 1))
  }
  return offered.find(coding => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

/** Compresses a response to one request. Runs off the main thread, because requests of the gateway wait for it. */
export function compressOnTheWay(plain: string | Buffer): Promise<Buffer> | undefined {
  return Buffer.byteLength(plain) < worthBytes ? undefined : zip(plain, { level: levelOnTheWay })
}

/** Compresses a text that is sent often, as far as possible. */
export async function compressOnce(plain: Buffer): Promise<{ readonly [E in Encoding]: Buffer }> {
  const [br, gz] = await Promise.all([
    pack(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
    zip(plain, { level: constants.Z_BEST_COMPRESSION }),
  ])
  return { br, gzip: gz }
}
