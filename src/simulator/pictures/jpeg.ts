import { chromaAc, chromaDc, chromaSteps, lumaAc, lumaDc, lumaSteps, zigzag } from './jpeg-tables.ts'
import type { HuffmanTable } from './jpeg-tables.ts'
import type { Pace } from './pace.ts'
import type { PaintRow } from './scene.ts'

/**
 * Baseline JPEG with colours at half the resolution in both directions (ITU-T T.81; JFIF 1.01).
 * @param quality 1 to 100, on the scale of most encoders
 */
export async function encodeJpeg(
  width: number,
  height: number,
  quality: number,
  paint: PaintRow,
  pace: Pace,
): Promise<Buffer> {
  const luma = scaleSteps(lumaSteps, quality)
  const chroma = scaleSteps(chromaSteps, quality)
  const scan = new Scan()
  const y = new Component(luma, lumaDc, lumaAc)
  const cb = new Component(chroma, chromaDc, chromaAc)
  const cr = new Component(chroma, chromaDc, chromaAc)
  const band = new Band(width)
  for (let top = 0; top < height; top += 16) {
    for (let line = 0; line < 16; line++) {
      band.take(line, Math.min(height - 1, top + line), paint)
      if (pace.spent()) await pace.rest()
    }
    band.halveColour()
    for (let left = 0; left < band.stride; left += 16) {
      y.encode(scan, band.y, left, band.stride)
      y.encode(scan, band.y, left + 8, band.stride)
      y.encode(scan, band.y, left + 8 * band.stride, band.stride)
      y.encode(scan, band.y, left + 8 * band.stride + 8, band.stride)
      cb.encode(scan, band.cb, left / 2, band.stride / 2)
      cr.encode(scan, band.cr, left / 2, band.stride / 2)
      if (pace.spent()) await pace.rest()
    }
  }
  return Buffer.concat([
    Buffer.from('ffd8', 'hex'),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    segment(0xfe, Buffer.from('simulated')),
    segment(0xdb, Buffer.from([0, ...inZigzag(luma), 1, ...inZigzag(chroma)])),
    segment(0xc0, frameHeader(width, height)),
    segment(
      0xc4,
      Buffer.concat([codes(0x00, lumaDc), codes(0x10, lumaAc), codes(0x01, chromaDc), codes(0x11, chromaAc)]),
    ),
    segment(0xda, Buffer.from([3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0])),
    scan.finish(),
    Buffer.from('ffd9', 'hex'),
  ])
}

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(content.length + 2, 2)
  return Buffer.concat([head, content])
}

function frameHeader(width: number, height: number): Buffer {
  const header = Buffer.from([8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1])
  header.writeUInt16BE(height, 1)
  header.writeUInt16BE(width, 3)
  return header
}

function codes(place: number, table: HuffmanTable): Buffer {
  return Buffer.concat([Buffer.from([place]), table.counts, table.symbols])
}

function scaleSteps(steps: Uint8Array, quality: number): Uint8Array {
  const bounded = Math.min(100, Math.max(1, Math.round(quality)))
  const percent = bounded < 50 ? 5000 / bounded : 200 - bounded * 2
  return Uint8Array.from(steps, step => Math.min(255, Math.max(1, Math.floor((step * percent + 50) / 100))))
}

function inZigzag(steps: Uint8Array): Uint8Array {
  return Uint8Array.from(zigzag, natural => steps[natural]!)
}

/** Sixteen rows of the picture as luma, and as each colour difference: eight rows after `halveColour`. */
class Band {
  readonly stride: number
  readonly y: Float32Array
  readonly cb: Float32Array
  readonly cr: Float32Array
  readonly #row: Uint8Array
  readonly #fullCb: Float32Array
  readonly #fullCr: Float32Array
  readonly #width: number

  constructor(width: number) {
    this.#width = width
    this.stride = Math.ceil(width / 16) * 16
    this.y = new Float32Array(this.stride * 16)
    this.#fullCb = new Float32Array(this.stride * 16)
    this.#fullCr = new Float32Array(this.stride * 16)
    this.cb = new Float32Array(this.stride * 4)
    this.cr = new Float32Array(this.stride * 4)
    this.#row = new Uint8Array(this.stride * 3)
  }

  /** Paints row `from` as the band's row `line`, and repeats the last pixel up to the right edge of the last block. */
  take(line: number, from: number, paint: PaintRow): void {
    const row = this.#row
    const width = this.#width
    paint(from, row)
    for (let x = width; x < this.stride; x++) row.copyWithin(x * 3, width * 3 - 3, width * 3)
    for (let x = 0, at = 0, to = line * this.stride; x < this.stride; x++, at += 3, to++) {
      const red = row[at]!
      const green = row[at + 1]!
      const blue = row[at + 2]!
      this.y[to] = 0.299 * red + 0.587 * green + 0.114 * blue - 128
      this.#fullCb[to] = -0.168736 * red - 0.331264 * green + 0.5 * blue
      this.#fullCr[to] = 0.5 * red - 0.418688 * green - 0.081312 * blue
    }
  }

  halveColour(): void {
    halve(this.#fullCb, this.cb, this.stride)
    halve(this.#fullCr, this.cr, this.stride)
  }
}

function halve(full: Float32Array, half: Float32Array, stride: number): void {
  for (let line = 0, to = 0; line < 16; line += 2) {
    for (let at = line * stride; at < (line + 1) * stride; at += 2, to++) {
      half[to] = (full[at]! + full[at + 1]! + full[at + stride]! + full[at + stride + 1]!) / 4
    }
  }
}

const block = new Float32Array(64)

/** One colour component: its divisors, its codes and its last DC value. */
class Component {
  readonly #divisors: Float32Array
  readonly #dc: Codes
  readonly #ac: Codes
  #last = 0

  constructor(steps: Uint8Array, dc: HuffmanTable, ac: HuffmanTable) {
    this.#divisors = Float32Array.from(steps, (step, at) => 1 / (step * 8 * gain[at >> 3]! * gain[at & 7]!))
    this.#dc = codesOf(dc)
    this.#ac = codesOf(ac)
  }

  /** Encodes the 8×8 samples that begin at `from`, in rows of `stride`. */
  encode(scan: Scan, samples: Float32Array, from: number, stride: number): void {
    const flat = copyBlock(samples, from, stride)
    // The transform of a flat block is its first coefficient alone. Most blocks of these pictures are flat.
    if (flat) block[0] = block[0]! * 64
    else transform(block)
    const dc = Math.round(block[0]! * this.#divisors[0]!)
    scan.value(this.#dc, 0, dc - this.#last)
    this.#last = dc
    if (!flat) this.#encodeAc(scan)
    else scan.symbol(this.#ac, 0x00)
  }

  #encodeAc(scan: Scan): void {
    let zeros = 0
    for (let at = 1; at < 64; at++) {
      const natural = zigzag[at]!
      const value = Math.round(block[natural]! * this.#divisors[natural]!)
      if (value === 0) {
        zeros++
        continue
      }
      for (; zeros > 15; zeros -= 16) scan.symbol(this.#ac, 0xf0)
      scan.value(this.#ac, zeros, value)
      zeros = 0
    }
    if (zeros > 0) scan.symbol(this.#ac, 0x00)
  }
}

/** Copies samples into `block`. Returns true if all 64 samples are equal. */
function copyBlock(samples: Float32Array, from: number, stride: number): boolean {
  const first = samples[from]!
  let flat = true
  for (let line = 0, to = 0; line < 8; line++) {
    for (let at = from + line * stride, end = at + 8; at < end; at++, to++) {
      const sample = samples[at]!
      block[to] = sample
      if (sample !== first) flat = false
    }
  }
  return flat
}

/** The factors that `transform` leaves in each row and column: the scale factors of Arai, Agui and Nakajima (1988). */
const gain = Float64Array.from({ length: 8 }, (_, k) => (k === 0 ? 1 : Math.SQRT2 * Math.cos((k * Math.PI) / 16)))

/**
 * The forward cosine transform in place, with five multiplications per line. Results still contain the factors of
 * `gain`.
 */
function transform(values: Float32Array): void {
  for (let row = 0; row < 64; row += 8) transformLine(values, row, 1)
  for (let column = 0; column < 8; column++) transformLine(values, column, 8)
}

function transformLine(values: Float32Array, from: number, step: number): void {
  const v0 = values[from]!
  const v1 = values[from + step]!
  const v2 = values[from + 2 * step]!
  const v3 = values[from + 3 * step]!
  const v4 = values[from + 4 * step]!
  const v5 = values[from + 5 * step]!
  const v6 = values[from + 6 * step]!
  const v7 = values[from + 7 * step]!
  const sum0 = v0 + v7
  const sum1 = v1 + v6
  const sum2 = v2 + v5
  const sum3 = v3 + v4
  const even0 = sum0 + sum3
  const even1 = sum1 + sum2
  const evenTurn = (sum1 - sum2 + sum0 - sum3) * Math.SQRT1_2
  values[from] = even0 + even1
  values[from + 4 * step] = even0 - even1
  values[from + 2 * step] = sum0 - sum3 + evenTurn
  values[from + 6 * step] = sum0 - sum3 - evenTurn
  const odd0 = v3 - v4 + v2 - v5
  const odd1 = v2 - v5 + v1 - v6
  const odd2 = v1 - v6 + v0 - v7
  const turn = (odd0 - odd2) * 0.382683433
  const low = 0.5411961 * odd0 + turn
  const high = 1.306562965 * odd2 + turn
  const middle = odd1 * Math.SQRT1_2
  const near = v0 - v7 + middle
  const far = v0 - v7 - middle
  values[from + 5 * step] = far + low
  values[from + 3 * step] = far - low
  values[from + step] = near + high
  values[from + 7 * step] = near - high
}

/** The code of each symbol and its number of bits. */
type Codes = { readonly bits: Uint16Array; readonly lengths: Uint8Array }

/** Codes count up within a length and double from one length to the next (T.81, annex C). */
function codesOf({ counts, symbols }: HuffmanTable): Codes {
  const bits = new Uint16Array(256)
  const lengths = new Uint8Array(256)
  let code = 0
  let at = 0
  for (const [shorter, count] of counts.entries()) {
    for (let i = 0; i < count; i++) {
      const symbol = symbols[at++]!
      bits[symbol] = code++
      lengths[symbol] = shorter + 1
    }
    code <<= 1
  }
  return { bits, lengths }
}

/** The entropy-coded bytes, highest bit first. A zero follows each 0xff. */
class Scan {
  #bytes = Buffer.allocUnsafe(65_536)
  #length = 0
  #pending = 0
  #pendingBits = 0

  symbol(codes: Codes, symbol: number): void {
    this.#put(codes.bits[symbol]!, codes.lengths[symbol]!)
  }

  /** Writes the symbol of `zeros` and the size of the value, then the bits of the value. */
  value(codes: Codes, zeros: number, value: number): void {
    const size = 32 - Math.clz32(Math.abs(value))
    this.symbol(codes, (zeros << 4) | size)
    if (size > 0) this.#put(value < 0 ? value + (1 << size) - 1 : value, size)
  }

  finish(): Buffer {
    if (this.#pendingBits > 0) this.#put(0x7f, 8 - this.#pendingBits)
    return this.#bytes.subarray(0, this.#length)
  }

  #put(bits: number, count: number): void {
    this.#pending = (this.#pending << count) | (bits & ((1 << count) - 1))
    this.#pendingBits += count
    while (this.#pendingBits >= 8) {
      this.#pendingBits -= 8
      this.#byte((this.#pending >>> this.#pendingBits) & 0xff)
    }
    this.#pending &= (1 << this.#pendingBits) - 1
  }

  #byte(byte: number): void {
    if (this.#length + 2 > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], this.#bytes.length * 2)
    this.#bytes[this.#length++] = byte
    if (byte === 0xff) this.#bytes[this.#length++] = 0
  }
}
