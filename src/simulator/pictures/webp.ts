import type { Pace } from './pace.ts'
import type { PaintRow } from './scene.ts'

const green = 0
const red = 1
const blue = 2
const alpha = 3
const distance = 4
/** The number of symbols of each of the five codes; the green code also contains the lengths of copies. */
const alphabets = [256 + 24, 256, 256, 256, 40] as const
const copyMax = 4096

/**
 * Lossless WebP (RFC 9649, section 3): each pixel as its difference from the pixel above. Runs of equal differences
 * become copies of the difference before them.
 */
export async function encodeWebp(width: number, height: number, paint: PaintRow, pace: Pace): Promise<Buffer> {
  const pixels = await differences(width, height, paint, pace)
  const counts = alphabets.map(size => new Uint32Array(size))
  await walk(pixels, pace, {
    pixel(value) {
      counts[green]![(value >> 8) & 0xff]!++
      counts[red]![(value >> 16) & 0xff]!++
      counts[blue]![value & 0xff]!++
      counts[alpha]![0]!++
    },
    copy(length) {
      counts[green]![256 + prefixOf(length).symbol]!++
      counts[distance]![justBefore]!++
    },
  })
  const codes = counts.map(codesFor)

  const bits = new BitWriter()
  bits.put(0x2f, 8)
  bits.put(width - 1, 14)
  bits.put(height - 1, 14)
  bits.put(0, 4)
  putPredictor(bits)
  // No further transform, no colour cache, one group of codes for the whole picture.
  bits.put(0, 3)
  for (const code of codes) putCode(bits, code)
  const [greens, reds, blues, , distances] = codes
  await walk(pixels, pace, {
    pixel(value) {
      putSymbol(bits, greens!, (value >> 8) & 0xff)
      putSymbol(bits, reds!, (value >> 16) & 0xff)
      putSymbol(bits, blues!, value & 0xff)
    },
    copy(length) {
      const prefix = prefixOf(length)
      putSymbol(bits, greens!, 256 + prefix.symbol)
      bits.put(prefix.extra, prefix.extraBits)
      putSymbol(bits, distances!, justBefore)
    },
  })
  return container(bits.finish())
}

/** Distance code 2 is the pixel to the left (RFC 9649, section 4.2.2); its prefix symbol has no extra bits. */
const justBefore = 1

/** 0xRRGGBB of each pixel minus the pixel above; in the first row, minus the pixel to the left. */
async function differences(width: number, height: number, paint: PaintRow, pace: Pace): Promise<Uint32Array> {
  const pixels = new Uint32Array(width * height)
  let above = new Uint8Array(width * 3)
  let row = new Uint8Array(width * 3)
  for (let y = 0, to = 0; y < height; y++) {
    paint(y, row)
    for (let at = 0; at < row.length; at += 3) {
      const before = y > 0 ? at : at - 3
      const from = y > 0 ? above : row
      pixels[to++] =
        (((row[at]! - (from[before] ?? 0)) & 0xff) << 16) |
        (((row[at + 1]! - (from[before + 1] ?? 0)) & 0xff) << 8) |
        ((row[at + 2]! - (from[before + 2] ?? 0)) & 0xff)
    }
    ;[above, row] = [row, above]
    if (pace.spent()) await pace.rest()
  }
  return pixels
}

async function walk(
  pixels: Uint32Array,
  pace: Pace,
  visit: { pixel(value: number): void; copy(length: number): void },
): Promise<void> {
  for (let at = 0; at < pixels.length; ) {
    const value = pixels[at++]!
    visit.pixel(value)
    const from = at
    while (at < pixels.length && at - from < copyMax && pixels[at] === value) at++
    if (at > from) visit.copy(at - from)
    if (pace.spent()) await pace.rest()
  }
}

/** A length as a symbol and extra bits (RFC 9649, section 4.2.2). */
function prefixOf(length: number): { symbol: number; extra: number; extraBits: number } {
  const rest = length - 1
  if (rest < 4) return { symbol: rest, extra: 0, extraBits: 0 }
  const high = 31 - Math.clz32(rest)
  const extraBits = high - 1
  return { symbol: 2 * high + ((rest >> extraBits) & 1), extra: rest & ((1 << extraBits) - 1), extraBits }
}

/** The predictor transform with one mode, "the pixel above", for blocks of 512×512. */
function putPredictor(bits: BitWriter): void {
  bits.put(1, 1)
  bits.put(0, 2)
  bits.put(9 - 2, 3)
  // The picture of modes: no colour cache, and a single symbol in each code, so that its pixels take no bits.
  bits.put(0, 1)
  putCode(bits, { single: 2 })
  for (let rest = 0; rest < 4; rest++) putCode(bits, { single: 0 })
}

type Code = { readonly single: number } | { readonly lengths: Uint8Array; readonly reversed: Uint16Array }

function putSymbol(bits: BitWriter, code: Code, symbol: number): void {
  if ('lengths' in code) bits.put(code.reversed[symbol]!, code.lengths[symbol]!)
}

/** Writes the definition of a code (RFC 9649, section 6.2.1). */
function putCode(bits: BitWriter, code: Code): void {
  if ('single' in code) {
    // A simple code: one symbol of eight bits.
    bits.put(0b101, 3)
    bits.put(code.single, 8)
    return
  }
  // A normal code. Its lengths are coded too, here in the simplest way: each length from 0 to 15 takes four bits.
  // `order` is the order of the RFC for these code lengths. The symbols for repetition (16, 17, 18) get length 0: they
  // are unused.
  bits.put(0, 1)
  const order = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
  bits.put(order.length - 4, 4)
  for (const symbol of order) bits.put(symbol < 16 ? 4 : 0, 3)
  bits.put(0, 1)
  for (const length of code.lengths) bits.put(reverse(length, 4), 4)
}

function codesFor(counts: Uint32Array): Code {
  const used = counts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0)
  if (used < 2)
    return {
      single: Math.max(
        0,
        counts.findIndex(count => count > 0),
      ),
    }
  const lengths = lengthsFor(counts)
  const reversed = new Uint16Array(lengths.length)
  let next = 0
  for (let length = 1; length <= 15; length++) {
    for (const [symbol, own] of lengths.entries()) if (own === length) reversed[symbol] = reverse(next++, length)
    next <<= 1
  }
  return { lengths, reversed }
}

/** Huffman code lengths of at most 15 bits. If a code is longer, the counts of rare symbols are raised. */
function lengthsFor(counts: Uint32Array): Uint8Array {
  for (let least = 1; ; least *= 2) {
    type Tree = { readonly weight: number; readonly symbols: readonly number[] }
    let trees: Tree[] = []
    for (const [symbol, count] of counts.entries()) {
      if (count > 0) trees.push({ weight: Math.max(count, least), symbols: [symbol] })
    }
    const lengths = new Uint8Array(counts.length)
    while (trees.length > 1) {
      trees.sort((one, other) => other.weight - one.weight)
      const last = trees.slice(-2)
      const symbols = last.flatMap(tree => tree.symbols)
      for (const symbol of symbols) lengths[symbol]!++
      trees = [...trees.slice(0, -2), { weight: last.reduce((sum, tree) => sum + tree.weight, 0), symbols }]
    }
    if (lengths.every(length => length <= 15)) return lengths
  }
}

function reverse(bits: number, count: number): number {
  let turned = 0
  for (let i = 0; i < count; i++) turned |= ((bits >> i) & 1) << (count - 1 - i)
  return turned
}

function container(content: Buffer): Buffer {
  const odd = content.length % 2
  const head = Buffer.from('RIFF\0\0\0\0WEBPVP8L\0\0\0\0', 'latin1')
  head.writeUInt32LE(12 + content.length + odd, 4)
  head.writeUInt32LE(content.length, 16)
  return Buffer.concat([head, content, Buffer.alloc(odd)])
}

/** Lowest bit first. */
class BitWriter {
  #bytes = Buffer.allocUnsafe(65_536)
  #length = 0
  #pending = 0
  #pendingBits = 0

  /** At most 16 bits. */
  put(bits: number, count: number): void {
    this.#pending |= bits << this.#pendingBits
    this.#pendingBits += count
    for (; this.#pendingBits >= 8; this.#pendingBits -= 8) this.#byte()
  }

  finish(): Buffer {
    if (this.#pendingBits > 0) this.#byte()
    return this.#bytes.subarray(0, this.#length)
  }

  #byte(): void {
    if (this.#length === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], this.#length * 2)
    this.#bytes[this.#length++] = this.#pending & 0xff
    this.#pending >>>= 8
  }
}
