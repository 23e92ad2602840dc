import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Encoding = 'br' | 'gzip'

/** Below this the headers cost more than is saved. */
const worthBytes = 1024
/** Half of what is saved by the highest level, in a tenth of its time. */
const levelOnTheWay = 4

const zip = promisify(gzip)
const pack = promisify(brotliCompress)

/** The first of `offered` that the client accepts (RFC 9110 12.5.3); undefined for the text as it is. */
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

/** For what is made for each request. Off the main thread, on which callers of the gateway wait. */
export function compressOnTheWay(plain: string | Buffer): Promise<Buffer> | undefined {
  return Buffer.byteLength(plain) < worthBytes ? undefined : zip(plain, { level: levelOnTheWay })
}

/** For what is sent often: as small as it gets. */
export async function compressOnce(plain: Buffer): Promise<{ readonly [E in Encoding]: Buffer }> {
  const [br, gz] = await Promise.all([
    pack(plain, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
    zip(plain, { level: constants.Z_BEST_COMPRESSION }),
  ])
  return { br, gzip: gz }
}
