import type { JsonWalk } from '../../src/wire/index.ts'
import { cutEscape, unescapeText } from './detect-picture.ts'
import { TextChannel, type TextPicture } from './text-channel.ts'

/**
 * The maximum number of members whose texts are assembled separately by path; the texts of all other members are
 * assembled together.
 */
const channelsMax = 64
/** The maximum number of bytes that wait for the end of a picture or of a list of links. */
const heldBytesMax = 1024 * 1024
/** The maximum length of a string that is read at its end; longer ones are read as they arrive. */
const readAtOnceBytes = 16 * 1024
/** Members that contain addresses, where a link is expected. */
const addressName = /(?:ur[il]|link|href)s?$/i

type Channels = Map<string, TextChannel>
const none: readonly TextPicture[] = []
type Waiting = { key: string; readonly text: string; readonly at: number }

/** Assembles the texts of an answer: pieces of one member in several records or elements are joined. */
export class AnswerTexts {
  readonly #perRecord: boolean
  readonly #channels: Channels = new Map()
  /** Channels of members that cannot contain a picture. */
  readonly #strays: Channels = new Map()
  /** Texts of the current record, which wait because the index of their list element may come after them. */
  #waiting: Waiting[] = []
  /** By depth: the number of waiting texts at the beginning of the container, and the container's `index`. */
  readonly #begun: number[] = []
  readonly #indexes: (string | undefined)[] = []
  /** The string that is currently read as it arrives, and the unfinished escape of its last piece. */
  #current: TextChannel | undefined
  #escape = ''
  /** Links found in texts. */
  readonly #links = new Set<string>()

  /** @param perRecord the answer arrives in records, which may contain parts of texts */
  constructor(perRecord: boolean) {
    this.#perRecord = perRecord
  }

  /** The offset of the first byte that has to wait. */
  get from(): number | undefined {
    let from = this.#waiting[0]?.at
    if (this.#channels.size === 0) return from
    for (const channel of this.#channels.values())
      if (channel.from !== undefined && (from === undefined || channel.from < from)) from = channel.from
    return from
  }

  /** The pictures found since the last call. */
  take(): readonly TextPicture[] {
    if (this.#channels.size === 0) return none
    const found = [...this.#channels.values()].flatMap(channel => channel.take())
    for (const { image, mark } of found) if (image.kind === 'link') this.#links.add(mark)
    return found
  }

  /** Whether a text was this link, which was charged as a picture. */
  hasLink(link: string): boolean {
    return this.#links.has(link)
  }

  opened(depth: number): void {
    this.#begun[depth] = this.#waiting.length
    this.#indexes[depth] = undefined
  }

  /** Ends a container of that depth; its index applies to the texts in it. */
  closed(depth: number): void {
    const index = this.#indexes[depth]
    if (index === undefined) return
    for (const one of this.#waiting.slice(this.#begun[depth])) one.key = `${index} ${one.key}`
    this.#indexes[depth] = undefined
  }

  scalar(walk: JsonWalk, value: string): void {
    if (walk.name === 'index') this.#indexes[walk.depth] = value
  }

  /** Whether a string is currently read as it arrives. */
  get isReading(): boolean {
    return this.#current !== undefined
  }

  /** Reads a piece of a long string whose pictures are charged. @returns whether it is inside a picture */
  readOn(walk: JsonWalk, pieces: readonly Buffer[], length: number, at: number): boolean {
    if (!this.#current && length <= readAtOnceBytes) return false
    if (!this.#current) {
      this.flush()
      this.#current = channelOf(this.#channels, walk.path())
    }
    const [whole, escape] = cutEscape(this.#escape + Buffer.concat(pieces).toString('latin1'))
    this.#escape = escape
    this.#current.write(unescapeText(Buffer.from(whole, 'latin1')), at)
    return this.#current.hasPicture
  }

  /** Ends a string whose pictures are charged. */
  end(walk: JsonWalk, text: string, at: number): void {
    if (this.#current) this.#endString(this.#current)
    else if (this.#perRecord) this.#waiting.push({ key: walk.path(), text, at })
    else {
      const channel = channelOf(this.#channels, walk.path())
      channel.write(text, at)
      this.#endString(channel)
    }
    this.#current = undefined
    this.#escape = ''
  }

  #endString(channel: TextChannel): void {
    if (!this.#perRecord) channel.endString()
  }

  /** Reads a string that cannot contain a picture. @returns whether it contains part of one */
  isPicture(walk: JsonWalk, text: string, at: number): boolean {
    const channel = channelOf(this.#strays, walk.path(), false)
    channel.write(text, at)
    channel.settle()
    channel.take()
    return channel.hasPicture
  }

  /** Ends a record that is delivered. */
  flush(): void {
    for (const { key, text, at } of this.#waiting) channelOf(this.#channels, key).write(text, at)
    this.#waiting = []
  }

  /** Ends a record; another begins. */
  forget(): void {
    this.#waiting = []
    this.#indexes.length = 0
    this.#current = undefined
    this.#escape = ''
  }

  /** Ends the answer. */
  endAll(): void {
    this.flush()
    for (const channel of this.#channels.values()) channel.end()
  }

  /** Reads up to `end`. Stops waiting if too much would be held. */
  bound(end: number): void {
    const { from } = this
    if (from !== undefined && end - from > heldBytesMax) for (const channel of this.#channels.values()) channel.settle()
  }
}

function channelOf(channels: Channels, path: string, areTexts = true): TextChannel {
  const key = channels.has(path) || channels.size < channelsMax ? path : ''
  let channel = channels.get(key)
  if (!channel) channels.set(key, (channel = new TextChannel(areTexts && !addressName.test(key))))
  return channel
}
