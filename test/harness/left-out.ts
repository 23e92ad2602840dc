import { type ScanResult, Unrecognised } from '../../plugins/image-tier-billing/scan-result.ts'
import { readEvents } from '../fuzz/readers/read-events.ts'

type Scanner = { write(chunk: Buffer): ScanResult; end(): ScanResult; readonly omitted: string | undefined }

/** The result for an answer in which some part may be an unknown image. */
export type LeftOut = {
  readonly shape: string
  /** Whether it was refused; otherwise it was sent completely, without that part. */
  readonly isRefused: boolean
  readonly out: string
  readonly images: number
}

/** @throws Error if the answer passes without any finding, or if it is sent damaged */
export function leaveOut(scanner: Scanner, parts: readonly Buffer[]): LeftOut {
  const text = Buffer.concat(parts).toString()
  const out: Buffer[] = []
  let images = 0
  const take = (scanned: ScanResult): void => {
    out.push(...scanned.out)
    images += scanned.done.length
  }
  const tell = (shape: string, isRefused: boolean): LeftOut => {
    return { shape, isRefused, out: Buffer.concat(out).toString(), images }
  }
  try {
    for (const part of parts) take(scanner.write(part))
    take(scanner.end())
  } catch (error) {
    if (error instanceof Unrecognised) return tell(error.shape, true)
    throw error
  }
  if (scanner.omitted === undefined) throw new Error(`it passes as it came: ${text.slice(0, 200)}`)
  const result = tell(scanner.omitted, false)
  if (Buffer.byteLength(result.out) !== Buffer.byteLength(text)) throw new Error('it has another length')
  const isStream = /^\s*[\w:]/.test(text)
  for (const one of isStream ? readEvents(result.out).map(({ data }) => data) : [result.out])
    if (one.trim() !== '' && one.trim() !== '[DONE]') JSON.parse(one)
  return result
}

/** Splits a text into pieces of this many bytes. */
export function inPieces(text: string, step: number): Buffer[] {
  const bytes = Buffer.from(text)
  return Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) => bytes.subarray(i * step, (i + 1) * step))
}
