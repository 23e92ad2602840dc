import type { Seal } from './conversation.ts'

/** Only the gateway writes this prefix. */
const mark = 'tollgate-seal.'

/** The text in which a client stores a seal of any issuer. It is base64, because clients of one format decode it. */
export function packSeal({ issuer, value }: Seal): string {
  return Buffer.from(`${mark}${issuer}.${value}`).toString('base64')
}

/** The beginning of every packed seal, without the character that depends on the following bytes. */
export const packedBegin = Buffer.from(mark)
  .toString('base64')
  .slice(0, Math.floor((mark.length * 8) / 6))

/** Whether a member of a request is a seal that the gateway packed. */
export function isPacked(member: unknown): boolean {
  return typeof member === 'string' && member.startsWith(packedBegin)
}

/** The seal from a client. A seal that the gateway did not pack belongs to `issuer`. */
export function unpackSeal(text: string, issuer: string): Seal {
  const packed = Buffer.from(text, 'base64').toString()
  const end = packed.indexOf('.', mark.length)
  if (!packed.startsWith(mark) || end === -1) return { issuer, value: text }
  return { issuer: packed.slice(mark.length, end), value: packed.slice(end + 1) }
}

const callMark = 'call.'

/** A call's seal, for a format in which only thoughts have seals: in a hidden thought directly before the call. */
export function packCallSeal({ issuer, value }: Seal): string {
  return packSeal({ issuer, value: callMark + value })
}

/** The seal for the next call in a hidden thought; undefined for a thought's own seal. */
export function sealOfNextCall({ issuer, value }: Seal): Seal | undefined {
  return value.startsWith(callMark) ? { issuer, value: value.slice(callMark.length) } : undefined
}
