import type { MediaSource } from './conversation.ts'

/** A link as a source: a `data:` URL contains the bytes themselves. */
export function sourceOfUrl(url: string): { readonly source: MediaSource; readonly mime?: string } {
  const comma = url.indexOf(',')
  if (!url.startsWith('data:') || comma === -1) return { source: { kind: 'link', url } }
  const [given = '', ...rest] = url.slice('data:'.length, comma).split(';')
  // Clients write this name, and some vendors refuse it.
  const mime = given === 'image/jpg' ? 'image/jpeg' : given
  const data = url.slice(comma + 1)
  const base64 = rest.includes('base64') ? data : Buffer.from(decodeText(data)).toString('base64')
  return { source: { kind: 'bytes', base64 }, ...(mime !== '' && { mime }) }
}

export function dataUrl(mime: string, base64: string): string {
  return `data:${mime};base64,${base64}`
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
