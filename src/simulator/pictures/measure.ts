export type Pixels = { readonly width: number; readonly height: number }

/** The dimensions of a PNG, JPEG, GIF or WebP, from its bytes; undefined for truncated and other files. */
export function measurePicture(bytes: Buffer): Pixels | undefined {
  const found = measurers.find(([begins]) => begins(bytes))?.[1](bytes)
  return found && found.width > 0 && found.height > 0 ? found : undefined
}

type Measurer = readonly [begins: (bytes: Buffer) => boolean, measure: (bytes: Buffer) => Pixels | undefined]

const measurers: readonly Measurer[] = [
  [bytes => startsWith(bytes, '89504e470d0a1a0a'), measurePng],
  [bytes => startsWith(bytes, 'ffd8ff'), measureJpeg],
  [bytes => startsWith(bytes, '47494638'), measureGif],
  [bytes => startsWith(bytes, '52494646') && bytes.toString('latin1', 8, 12) === 'WEBP', measureWebp],
]

function startsWith(bytes: Buffer, hex: string): boolean {
  return bytes.subarray(0, hex.length / 2).toString('hex') === hex
}

function measurePng(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function measureGif(bytes: Buffer): Pixels | undefined {
  return bytes.length < 10 ? undefined : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** Reads the first frame header: SOF0 to SOF15, without the three markers of tables (T.81, table B.1). */
function measureJpeg(bytes: Buffer): Pixels | undefined {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1] ?? 0
    if (marker < 0xc0 || marker > 0xcf || marker === 0xc4 || marker === 0xc8 || marker === 0xcc) continue
    return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
  }
  return undefined
}

function measureWebp(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 30) return undefined
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (kind === 'VP8 ') return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (kind !== 'VP8L') return undefined
  const packed = bytes.readUInt32LE(21)
  return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 }
}
