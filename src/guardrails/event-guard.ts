import type { Json, Passed, Stage } from '../domain/index.ts'
import { parseJsonIfValid, RecordReader, type RecordVisitor } from '../wire/index.ts'
import type { Edit, PartVerdict, Verdict } from './contract.ts'
import { readEvent, type TextPart } from './stream-texts.ts'
import { leaveOutPieces } from './texts.ts'

/** The maximum bytes of a stream that wait for the guard. */
const heldBytesMax = 8 * 1024 * 1024
/** The maximum bytes of one event: images in events have many. */
const eventBytesMax = 64 * 1024 * 1024
const none: readonly Buffer[] = []

export type StreamChecks = {
  part(text: string, isEnd: boolean): Promise<PartVerdict> | PartVerdict
  whole(texts: readonly string[]): Promise<Verdict> | Verdict
  /**
   * Blocks the rest of the stream.
   * @returns the bytes that end it for the client
   * @throws Failure if the format cannot end it with an error
   */
  block(rule: string): Buffer
}

/** One text of the stream; positions count from its beginning. */
type Channel = { unsent: string; sentTo: number; readonly edits: Edit[] }
type Slot = { readonly part: TextPart; readonly channel: Channel; readonly from: number; readonly to: number }
type Held = {
  readonly raw: Buffer
  readonly fields: readonly string[]
  json: Json | undefined
  isEdited: boolean
  readonly slots: readonly Slot[]
}

/**
 * Holds the events of a stream until a guard has released their text, and applies the guard's edits. Events keep their
 * order, and unedited ones their bytes.
 */
export class EventGuard implements Stage, RecordVisitor {
  readonly bare = true
  readonly #checks: StreamChecks
  readonly #records = new RecordReader(this)
  readonly #channels = new Map<string, Channel>()
  readonly #held: Held[] = []
  #heldBytes = 0
  /** The bytes from `#rawFrom` on: of the unfinished record, and of the chunk that is being read. */
  #raw: Buffer[] = []
  #rawFrom = 0
  #end = 0
  #data: Buffer[] = []
  #fields: string[] = []
  #arrived: { readonly raw: Buffer; readonly data: string; readonly fields: readonly string[] }[] = []
  #isBlocked = false

  constructor(checks: StreamChecks) {
    this.#checks = checks
  }

  async write(chunk: Buffer): Promise<Passed> {
    if (this.#isBlocked) return none
    this.#raw.push(chunk)
    const base = this.#end
    this.#end += chunk.length
    this.#records.read(chunk, base)
    return this.#advance(false)
  }

  async end(): Promise<Passed> {
    if (this.#isBlocked) return none
    this.#records.end(this.#end)
    return this.#advance(true)
  }

  data(piece: Buffer): void {
    this.#data.push(piece)
  }

  field(name: string, value: string): void {
    this.#fields.push(name === '' ? `:${value}` : `${name}: ${value}`)
  }

  recordEnd(next: number): void {
    // Joined once for each record: a record may arrive in many chunks.
    const all = this.#raw.length === 1 ? (this.#raw[0] as Buffer) : Buffer.concat(this.#raw)
    const raw = all.subarray(0, next - this.#rawFrom)
    if (raw.length === 0) return
    this.#arrived.push({ raw, data: Buffer.concat(this.#data).toString(), fields: this.#fields })
    this.#raw = [all.subarray(raw.length)]
    this.#rawFrom = next
    this.#data = []
    this.#fields = []
  }

  /** Checks the records that have arrived, and returns the bytes that may be sent now. */
  async #advance(isOver: boolean): Promise<Passed> {
    const arrived = this.#arrived
    this.#arrived = []
    let rule: string | undefined
    for (const record of arrived) rule ??= await this.#hold(record)
    if (rule === undefined && isOver) rule = await this.#checkAll(true)
    const sent = this.#release()
    const isTooLong = this.#heldBytes > heldBytesMax || this.#end - this.#rawFrom > eventBytesMax
    if (rule === undefined && isTooLong) rule = 'response_too_long'
    if (rule === undefined) return sent
    this.#isBlocked = true
    return [...sent, this.#checks.block(rule)]
  }

  /** @returns the rule that blocks the record */
  async #hold({
    raw,
    data,
    fields,
  }: {
    raw: Buffer
    data: string
    fields: readonly string[]
  }): Promise<string | undefined> {
    const json = parseJsonIfValid(data)
    const { parts, wholes, isEnd } = readEvent(json ?? null)
    const touched = new Set<Channel>()
    const slots = parts.map(part => {
      const channel = this.#channelOf(part.channel)
      const from = channel.sentTo + channel.unsent.length
      channel.unsent += part.text
      touched.add(channel)
      return { part, channel, from, to: from + part.text.length }
    })
    const held: Held = { raw, fields, json, isEdited: false, slots }
    this.#held.push(held)
    this.#heldBytes += raw.length
    for (const channel of touched) {
      const rule = await this.#check(channel, false)
      if (rule !== undefined) return rule
    }
    const ended = isEnd ? await this.#checkAll(true) : undefined
    if (ended !== undefined || wholes.length === 0) return ended
    const verdict = await this.#checks.whole(wholes.map(({ text }) => text))
    if (verdict.kind === 'edit')
      for (const [i, text] of verdict.texts.entries())
        if (text !== wholes[i]?.text) {
          wholes[i]?.put(text)
          held.isEdited = true
        }
    if (verdict.kind !== 'block') return undefined
    // This record waits for no part of a text, so releasing events now would send it.
    this.#held.pop()
    return verdict.rule
  }

  async #checkAll(isEnd: boolean): Promise<string | undefined> {
    for (const channel of this.#channels.values()) {
      const rule = channel.unsent === '' ? undefined : await this.#check(channel, isEnd)
      if (rule !== undefined) return rule
    }
    return undefined
  }

  /** @returns the rule that blocks the text */
  async #check(channel: Channel, isEnd: boolean): Promise<string | undefined> {
    const verdict = await this.#checks.part(channel.unsent, isEnd)
    if (verdict.kind === 'block') return verdict.rule
    const { upTo, edits } = verdict
    channel.edits.push(
      ...edits.map(({ from, to, put }) => ({ from: from + channel.sentTo, to: to + channel.sentTo, put })),
    )
    channel.sentTo += upTo
    channel.unsent = channel.unsent.slice(upTo)
    return undefined
  }

  #channelOf(name: string): Channel {
    const known = this.#channels.get(name)
    if (known) return known
    const channel: Channel = { unsent: '', sentTo: 0, edits: [] }
    this.#channels.set(name, channel)
    return channel
  }

  /** Returns the events whose texts are released, up to the first one that has to wait. */
  #release(): Buffer[] {
    const sent: Buffer[] = []
    for (;;) {
      const [first] = this.#held
      if (!first || first.slots.some(({ channel, to }) => to > channel.sentTo)) return sent
      this.#held.shift()
      this.#heldBytes -= first.raw.length
      for (const slot of first.slots) if (applyEdits(slot)) first.isEdited = true
      sent.push(first.isEdited ? writeRecord(first) : first.raw)
    }
  }
}

/**
 * Applies the edits of a text to the part in a record.
 * @returns whether there were any
 */
function applyEdits({ part, channel, from, to }: Slot): boolean {
  const edits = channel.edits.filter(edit => edit.from < to)
  // Those that end here concern no later part.
  channel.edits.splice(0, edits.filter(edit => edit.to <= to).length)
  if (edits.length === 0) return false
  let text = ''
  let at = from
  for (const edit of edits) {
    text += part.text.slice(Math.max(0, at - from), Math.max(0, edit.from - from))
    // The replacement is written whole, in the part in which the edit begins.
    if (edit.from >= from) text += edit.put
    at = Math.min(to, edit.to)
  }
  part.put(text + part.text.slice(at - from))
  return true
}

function writeRecord({ fields, json }: Held): Buffer {
  leaveOutPieces(json)
  return Buffer.from([...fields, `data: ${JSON.stringify(json)}`, '', ''].join('\n'))
}
