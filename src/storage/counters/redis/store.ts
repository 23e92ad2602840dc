import {
  type SharedTexts,
  CountersDown,
  type LimitRequest,
  type LimitStatus,
  type WhenDown,
  windowMs,
} from '../../../domain/index.ts'
import type { Log } from '../../../plugin-api/index.ts'
import type { Clock } from '../../../util/index.ts'
import { Breaker } from './breaker.ts'
import { connect, type Link, type Script, script } from './connect.ts'
import { textsOf } from './texts.ts'
import { renewScript, repairScript, turnScript } from './scripts.ts'
import { type Part, partsOf, tagOf, tagOfAll } from './slots.ts'
import { type LimitAnswer, keyOf, type SendTurn, sumKeyOf, Turn, type Used } from './turn.ts'

const turnOfStore = script(turnScript)
const renew = script(renewScript)
const repair = script(repairScript)
/** The error of a script that found a value of another form. */
const foreignValue = /WRONGTYPE|user_script:\d+: attempt/

const failuresMax = 3
const probeEveryMs = 250
/** A start waits at most a second. */
const readyAsksMax = 40
const readyEveryMs = 25

export type StoreParts = {
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  readonly leaseMs: number
  readonly commandMs: number
  /** Replaces the server's clock. In microseconds. */
  readonly serverTime: (() => number) | undefined
  /** Called when the store, or one of its nodes, answers again. */
  readonly onBack: () => void
}

/** Nothing was sent, because the store is known to be unavailable. */
export class NotSent extends Error {}

/** The state of a node, or of the store as a whole. `tag` is one of its hash tags. */
type Node = { readonly breaker: Breaker; why: string; tag: string }

/**
 * The Redis that counts for many processes. If counters are spread over a cluster, each owner's counters are in their
 * own Redis slot; calls to it are separate, and wait for no other node: only a node that does not answer is skipped.
 */
export class Store {
  readonly #parts: StoreParts
  readonly #link: Link
  readonly #whole: Node
  readonly #nodes = new Map<string, Node>()
  /** Redis slots with messages to send, or waiting callers. */
  readonly #turns = new Map<string, Turn>()
  #away = 0
  /** The messages of several Redis slots, sent at the end of this turn of the event loop. */
  #due: (() => void)[] = []
  readonly #later = (say: () => void): void => {
    this.#due.push(say)
    if (this.#due.length > 1) return
    setImmediate(() => {
      const due = this.#due
      this.#due = []
      this.#link.together(() => {
        for (const one of due) one()
      })
    })
  }

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#whole = this.#nodeAs({}, tagOfAll)
    this.#link = connect(parts.url, parts, why => {
      this.#whole.why = why
      this.#whole.breaker.failed()
    })
    if (this.#link.isSpread) this.#whole.tag = tagOf(undefined)
  }

  /** Waits until the store answers, or is known to be unavailable. */
  async ready(): Promise<void> {
    const { clock } = this.#parts
    for (let attempt = 0; attempt < readyAsksMax && !this.#whole.breaker.isOpen; attempt++) {
      const isThere = await this.#probe(this.#whole).then(
        () => true,
        () => false,
      )
      if (isThere) {
        this.#whole.breaker.succeeded()
        return this.#lookForOthers()
      }
      await clock.sleep(readyEveryMs)
    }
    this.#whole.breaker.open()
  }

  /** False while any of its nodes does not answer. */
  healthy(): boolean {
    return this.#away === 0
  }

  tagOf({ owner }: LimitRequest): string {
    return this.#link.isSpread ? tagOf(owner) : tagOfAll
  }

  keyOf(demand: LimitRequest): string {
    return keyOf(this.tagOf(demand), demand)
  }

  /** The parts of the demands, each of which can be one step: a single part, unless the store is spread. */
  partsOf(demands: readonly LimitRequest[]): readonly [Part, ...Part[]] {
    if (this.#link.isSpread) return partsOf(demands)
    return [{ tag: tagOfAll, demands }]
  }

  /** Whether the slot of the tag is known to be unavailable. */
  isAway(tag: string): boolean {
    return this.#away > 0 && (this.#whole.breaker.isOpen || this.#nodeAt(tag).breaker.isOpen)
  }

  whyAway(tag: string): string {
    return this.#whole.breaker.isOpen ? this.#whole.why : this.#nodeAt(tag).why
  }

  /** @throws NotAsked, or the error of the call */
  ask(tag: string, how: 'peek' | 'take', member: string, demands: readonly LimitRequest[]): Promise<LimitAnswer> {
    if (!this.isAway(tag)) return this.#turnAt(tag).ask(how, member, demands)
    return Promise.reject(new NotSent(`the counters do not answer: ${this.whyAway(tag)}`))
  }

  /**
   * The status of all limits. For a part whose node does not answer, the status comes from `own`.
   * @throws CountersDown if `whenDown` is `refuse`
   */
  async look(
    demands: readonly LimitRequest[],
    own: readonly LimitStatus[],
    whenDown: WhenDown,
  ): Promise<readonly LimitStatus[]> {
    const statuses = [...own]
    await Promise.all(
      this.partsOf(demands).map(async part => {
        try {
          put(statuses, part, (await this.ask(part.tag, 'peek', '', part.demands)).statuses)
        } catch (error) {
          if (whenDown === 'refuse') throw new CountersDown('the counters do not answer', { cause: error })
        }
      }),
    )
    return statuses
  }

  /** Reports used amounts. Never rejects: without a report the store drops the amounts after a minute. */
  settle(member: string, used: readonly Used[]): Promise<void> {
    if (!this.#link.isSpread) return this.#settleAt(tagOfAll, member, used)
    const byTag = Map.groupBy(used, ([demand]) => tagOf(demand.owner))
    return Promise.all(Array.from(byTag, ([tag, some]) => this.#settleAt(tag, member, some))).then(() => undefined)
  }

  /** Renews the leases of tickets: `members` has one for each of the keys, which have one tag. */
  async renew(tag: string, keys: readonly string[], members: readonly string[]): Promise<void> {
    if (this.isAway(tag)) return
    const words = keys.flatMap(key => [key, sumKeyOf(key)])
    await this.#send(renew, { tag, keys: words, args: members, operations: 1 }).catch((error: unknown) =>
      this.#parts.log.warn({ error: String(error) }, 'in-flight slots could not be renewed'),
    )
  }

  get texts(): SharedTexts {
    return textsOf(this.#link, () => this.#whole.breaker.isOpen)
  }

  /** Sends pending reports first, if the store answers. */
  async close(): Promise<void> {
    const reachable = [...this.#turns].filter(([tag]) => !this.isAway(tag))
    await Promise.all(reachable.map(([, turn]) => turn.end()))
    for (const { breaker } of [this.#whole, ...this.#nodes.values()]) breaker.close()
    this.#link.close()
  }

  async #settleAt(tag: string, member: string, used: readonly Used[]): Promise<void> {
    await this.#turnAt(tag)
      .settle(member, used)
      .catch((error: unknown) =>
        this.#parts.log.debug({ error: String(error) }, 'the counters did not receive the usage of a request'),
      )
  }

  #turnAt(tag: string): Turn {
    const known = this.#turns.get(tag)
    if (known) return known
    const send: SendTurn = (keys, args, operations) => this.#send(turnOfStore, { tag, keys, args, operations })
    const turn = this.#link.isSpread
      ? new Turn(tag, send, this.#later, () => void this.#turns.delete(tag))
      : new Turn(tag, send)
    this.#turns.set(tag, turn)
    return turn
  }

  #nodeAt(tag: string): Node {
    const address = this.#link.isSpread ? this.#link.nodeOf(tag) : undefined
    if (address === undefined) return this.#whole
    let node = this.#nodes.get(address)
    if (!node) {
      node = this.#nodeAs({ node: address }, tag)
      this.#nodes.set(address, node)
    }
    return node
  }

  #nodeAs(facts: { readonly node?: string }, tag: string): Node {
    const { clock, log, onBack } = this.#parts
    const onChange = (isOpen: boolean): void => {
      this.#away += isOpen ? 1 : -1
      if (isOpen) return log.error({ ...facts, why: node.why }, 'the counter store does not respond')
      log.info(facts, 'the counter store responds again')
      onBack()
    }
    const breaker = new Breaker({ clock, probe: () => this.#probe(node), onChange, failuresMax, probeEveryMs })
    const node: Node = { breaker, why: '', tag }
    return node
  }

  /** Writes in a probe: a store that answers but refuses writes, or those of this process, cannot count. */
  async #probe(node: Node): Promise<void> {
    const key = `${node.tag}:probe`
    try {
      await this.#link.run(renew, [key, sumKeyOf(key)], [...this.#times(), 'probe'])
    } catch (error) {
      node.why = messageOf(error)
      this.#repairAfter(error, [key], 0)
      throw error
    }
  }

  /** Removes values that no gateway has written: otherwise every turn with one of them would fail. */
  #repairAfter(error: unknown, keys: readonly string[], windows: number): void {
    if (!foreignValue.test(messageOf(error))) return
    this.#link.run(repair, keys, [windows]).then(
      removed => {
        if (Array.isArray(removed) && removed.length > 0)
          this.#parts.log.warn({ keys: removed }, 'counters with values of another program were removed')
      },
      () => undefined,
    )
  }

  async #send(
    which: Script,
    {
      tag,
      keys,
      args,
      operations,
    }: {
      readonly tag: string
      readonly keys: readonly string[]
      readonly args: readonly (string | number)[]
      readonly operations: number
    },
  ): Promise<unknown> {
    const node = this.#nodeAt(tag)
    try {
      const reply = await this.#link.run(which, keys, [...this.#times(), ...args])
      node.breaker.succeeded()
      // If the whole cluster was unreachable for a moment, one answer of a node is enough to close its breaker.
      if (node !== this.#whole) this.#whole.breaker.succeeded()
      return reply
    } catch (error) {
      node.why = messageOf(error)
      node.tag = tag
      this.#repairAfter(error, keys, which === turnOfStore ? Number(args[0]) : 0)
      for (let i = 0; i < operations; i++) node.breaker.failed()
      throw error
    }
  }

  #times(): readonly (string | number)[] {
    return [this.#parts.serverTime?.() ?? '', windowMs * 1000, this.#parts.leaseMs * 1000]
  }

  /** Finds gateways that count in one Redis slot: they do not see what is counted here, and the reverse. */
  async #lookForOthers(): Promise<void> {
    if (!this.#link.isSpread) return
    const keys = await this.#link.countKeys(tagOfAll).catch(() => 0)
    if (keys > 0)
      this.#parts.log.warn(
        { keys },
        'other processes count limits in one slot of this cluster: together with them twice the limit may be admitted, until a minute after the last has gone',
      )
  }
}

/** Puts the answers of one part at their positions among all. */
export function put(statuses: LimitStatus[], { places }: Part, some: readonly LimitStatus[]): void {
  for (const [i, status] of some.entries()) statuses[places?.[i] ?? i] = status
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
