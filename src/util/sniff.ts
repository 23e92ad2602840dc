/** The media type of a file, and the extension for its name. */
export type Sniffed = { readonly type: string; readonly extension: string }

const unknown: Sniffed = { type: 'application/octet-stream', extension: 'bin' }

/** Magic bytes at an offset, as latin1 text. */
const magics: readonly (readonly [at: number, magic: string, type: string, extension: string])[] = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png', 'png'],
  [0, '\xff\xd8\xff', 'image/jpeg', 'jpg'],
  [0, 'GIF87a', 'image/gif', 'gif'],
  [0, 'GIF89a', 'image/gif', 'gif'],
  [0, 'BM', 'image/bmp', 'bmp'],
  [0, 'II*\0', 'image/tiff', 'tiff'],
  [0, 'MM\0*', 'image/tiff', 'tiff'],
  [0, 'ID3', 'audio/mpeg', 'mp3'],
  [0, 'fLaC', 'audio/flac', 'flac'],
  [0, 'OggS', 'audio/ogg', 'ogg'],
  [0, '#!AMR', 'audio/amr', 'amr'],
  [0, '\x1a\x45\xdf\xa3', 'video/webm', 'webm'],
]

const riffs: { readonly [form: string]: Sniffed } = {
  WEBP: { type: 'image/webp', extension: 'webp' },
  WAVE: { type: 'audio/wav', extension: 'wav' },
}

const brands: { readonly [brand: string]: Sniffed } = {
  avif: { type: 'image/avif', extension: 'avif' },
  avis: { type: 'image/avif', extension: 'avif' },
  heic: { type: 'image/heic', extension: 'heic' },
  heix: { type: 'image/heic', extension: 'heic' },
  mif1: { type: 'image/heif', extension: 'heif' },
  'M4A ': { type: 'audio/mp4', extension: 'm4a' },
  'M4B ': { type: 'audio/mp4', extension: 'm4a' },
}

/**
 * Detects the type of a file by its first bytes (a dozen are enough); `application/octet-stream` if they are unknown.
 * The client's declared type is ignored: SDKs send octet-stream for pictures (`docs/wire.md#forms`).
 */
export function sniff(head: Buffer): Sniffed {
  const text = head.toString('latin1', 0, 16)
  for (const [at, magic, type, extension] of magics) if (text.startsWith(magic, at)) return { type, extension }
  if (text.startsWith('RIFF')) return riffs[text.slice(8, 12)] ?? unknown
  if (text.startsWith('ftyp', 4)) return brands[text.slice(8, 12)] ?? { type: 'video/mp4', extension: 'mp4' }
  return sniffAudioFrame(head)
}

/** Whether the first bytes identify the type of a file. */
export function isKnown(head: Buffer): boolean {
  return sniff(head) !== unknown
}

/** MPEG audio and ADTS frames have no magic but eleven or twelve set bits and a layer. */
function sniffAudioFrame(head: Buffer): Sniffed {
  const second = head[1] ?? 0
  if (head[0] !== 0xff || (second & 0xe0) !== 0xe0) return unknown
  if ((second & 0xf6) === 0xf0) return { type: 'audio/aac', extension: 'aac' }
  return (second & 0x06) === 0 ? unknown : { type: 'audio/mpeg', extension: 'mp3' }
}
