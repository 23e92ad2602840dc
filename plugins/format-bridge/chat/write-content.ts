import type { Json } from '../../../src/plugin-api/index.ts'
import {
  compact,
  dataUrl,
  type JsonObject,
  type Loss,
  type MediaPart,
  type Part,
  type UpstreamFacts,
} from '../neutral/index.ts'

type Place = { readonly to: UpstreamFacts; readonly losses: Loss[] }

/** The text of all parts that contain text. */
export function writeText(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.text : '')).join('')
}

/** A list of texts becomes one text, which every vendor accepts; anything else stays a list. */
export function writeParts(parts: readonly Part[], place: Place): Json {
  const texts = parts.filter(part => part.kind === 'text')
  if (texts.length === parts.length && texts.length <= 1) return writeText(parts)
  return parts.flatMap(part => {
    if (part.kind === 'text') return [{ type: 'text', text: part.text }]
    if (part.kind === 'media') return writeMedia(part, place) ?? []
    place.losses.push({ feature: 'unknown_part' })
    return []
  })
}

const soundFormats: { readonly [mime: string]: string } = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
}

function writeMedia(part: MediaPart, { to, losses }: Place): JsonObject | undefined {
  const { media, source, detail, name } = part
  const mime = part.mime ?? ''
  if (source.kind === 'text')
    return { type: 'text', text: name === undefined ? source.text : `${name}\n\n${source.text}` }
  if (source.kind === 'file') return void losses.push({ feature: 'vendor_file' })
  if (source.kind === 'link') {
    if (media === 'image' && to.links) return { type: 'image_url', image_url: compact({ url: source.url, detail }) }
    return void losses.push({ feature: 'media_link' })
  }
  const { base64 } = source
  if (media === 'image')
    return { type: 'image_url', image_url: compact({ url: dataUrl(mime || 'image/png', base64), detail }) }
  const format = soundFormats[mime]
  if (media === 'audio' && format !== undefined) return { type: 'input_audio', input_audio: { data: base64, format } }
  if (media !== 'document') return void losses.push({ feature: 'media' })
  if (mime.startsWith('text/')) return { type: 'text', text: Buffer.from(base64, 'base64').toString() }
  const filename = name ?? 'document.pdf'
  return { type: 'file', file: { filename, file_data: dataUrl(mime || 'application/pdf', base64) } }
}
