import type { Conversation, Part } from './neutral/index.ts'

/** Approximate bytes of text per token. Vendors count differently, so the result is marked as an estimate. */
const bytesPerToken = 3.6
const tokensPerTurn = 4
const tokensPerImage = 1_500
/** Bytes of a document per token, as base64. */
const documentBytesPerToken = 30

/** The approximate number of tokens in the input of a request. */
export function estimateInput({ turns, tools }: Conversation): number {
  const ofTurns = turns.reduce((sum, turn) => sum + tokensPerTurn + tokensOf(turn.parts), 0)
  return Math.ceil(ofTurns + tools.reduce((sum, tool) => sum + tokensOfText(JSON.stringify(tool)), 0))
}

function tokensOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + tokensOfPart(part), 0)
}

function tokensOfPart(part: Part): number {
  if (part.kind === 'call') return tokensOfText(part.name) + tokensOfText(part.arguments)
  if (part.kind === 'result') return tokensOf(part.parts)
  if (part.kind !== 'media') return tokensOfText(part.text)
  if (part.source.kind === 'text') return tokensOfText(part.source.text)
  if (part.media === 'image' || part.source.kind !== 'bytes') return tokensPerImage
  return part.source.base64.length / documentBytesPerToken
}

/** The approximate number of tokens in a text. */
export function tokensOfText(text: string): number {
  return Buffer.byteLength(text) / bytesPerToken
}
