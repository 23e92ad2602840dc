import { secretsOfUpstream, type Stage, type Upstream } from '../kit/index.ts'
import { formCharsMax, formsOf, patternOf, secretParts } from './redact.ts'

/** A shorter text, or one of a kind of letters, may be a word that an answer says: `sk-no-key-required`. */
const secretCharsMin = 20
const spaceMost = 0x20
const backslash = 0x5c
const percent = 0x25
const nothing = Buffer.alloc(0)

/** A secret, and what of it stands as it is in every form: that is looked for. */
type Sought = { readonly bytes: Buffer; readonly run: string; readonly runBytes: Buffer }

/** What an answer may not say. Kept for each upstream: every answer asks for it. */
export type SoughtSecrets = { readonly all: readonly Sought[]; readonly pattern: RegExp; readonly bytesMax: number }

const known = new WeakMap<Upstream, SoughtSecrets>()

/** `signed`: what a signing plugin made for one request, beside the upstream's own. */
export function soughtSecrets(upstream: Upstream, signed: readonly string[] | undefined): SoughtSecrets {
  if (signed && signed.length > 0) return toSought([...secretsOfUpstream(upstream), ...signed])
  let sought = known.get(upstream)
  if (!sought) known.set(upstream, (sought = toSought(secretsOfUpstream(upstream))))
  return sought
}

function toSought(texts: readonly string[]): SoughtSecrets {
  const parts = secretParts(texts).filter(part => part.length >= secretCharsMin && isMixed(part))
  const all = parts.map(part => {
    const run = (part.match(/[\w-]+/g) ?? ['']).reduce((a, b) => (b.length > a.length ? b : a))
    return { bytes: Buffer.from(part), run, runBytes: Buffer.from(run) }
  })
  const longest = all.reduce((most, { bytes }) => Math.max(most, bytes.length), 0)
  return { all, pattern: patternOf(all.map(({ bytes }) => bytes)), bytesMax: longest * formCharsMax }
}

/** Whether a text may have one of them. */
export function mayHave({ all }: SoughtSecrets, text: string): boolean {
  return all.some(({ run }) => text.includes(run))
}

/**
 * Strikes our credentials out of an answer that is one: its errors stand in the middle, or at its end. What has none of them
 * passes as it came, without a copy; held back is only what may be the beginning of one.
 */
export class AnswerRedaction implements Stage {
  readonly letsGo = true
  readonly #sought: SoughtSecrets
  #held: Buffer | undefined

  constructor(sought: SoughtSecrets) {
    this.#sought = sought
  }

  write(chunk: Buffer): Buffer {
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    const end = this.#beginning(bytes)
    const out = this.#strike(bytes, end)
    // A copy: the memory of what is passed on may be another's by the time it is read.
    this.#held = end < out.length ? Buffer.from(out.subarray(end)) : undefined
    return end < out.length ? out.subarray(0, end) : out
  }

  end(): Buffer {
    return this.#held ?? nothing
  }

  /** The bytes without secrets that begin before `end`. */
  #strike(bytes: Buffer, end: number): Buffer {
    const { all, pattern } = this.#sought
    if (!all.some(({ runBytes }) => bytes.includes(runBytes))) return bytes
    const copy = Buffer.from(bytes)
    for (const { index, 0: found } of bytes.toString('latin1').matchAll(pattern))
      if (index < end) copy.fill('*', index, index + found.length)
    return copy
  }

  /** Where a secret begins that the bytes end within; their length where none does. */
  #beginning(bytes: Buffer): number {
    const { all, bytesMax } = this.#sought
    let from = bytes.length
    const least = Math.max(0, from - bytesMax)
    // No secret goes on behind white space, with which events end.
    while (from > least && (bytes[from - 1] as number) > spaceMost) from--
    for (let at = from; at < bytes.length; at++)
      if (all.some(one => mayBegin(bytes[at], one.bytes[0]) && isCut(bytes, at, one.bytes))) return at
    return bytes.length
  }
}

function isMixed(part: string): boolean {
  return /\d/.test(part) || (/[a-z]/.test(part) && /[A-Z]/.test(part))
}

function mayBegin(byte: number | undefined, first: number | undefined): boolean {
  return byte === first || byte === backslash || byte === percent
}

/** Whether a secret begins at `at`, in whatever form, and the bytes end before it does. */
function isCut(bytes: Buffer, at: number, secret: Buffer): boolean {
  let place = at
  for (const byte of secret) {
    if (place >= bytes.length) return true
    if (bytes[place] === byte) {
      place++
      continue
    }
    const rest = bytes.toString('latin1', place, place + formCharsMax).toLowerCase()
    const forms = formsOf(byte)
    if (forms.some(form => rest.length < form.length && form.startsWith(rest))) return true
    const form = forms.find(one => rest.startsWith(one))
    if (form === undefined) return false
    place += form.length
  }
  return false
}
