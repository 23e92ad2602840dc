import type { Message } from '../world/http-wire.ts'
import type { Random } from '../world/random.ts'
import type { World } from '../world/world.ts'
import type { Answer } from './answers.ts'
import type { Ill } from './ills.ts'

/** The meaning of an ill for the key, independent of the gateway; `maybe`: it may have been sold. */
export type Effect = 'invalid' | 'no_credit' | 'cooling' | 'model' | 'none' | 'maybe'

type Said = { readonly status: number; readonly error: object; readonly headers?: { readonly [name: string]: string } }

const minute = 60_000

/** The form of each: a status, an answer of 200, or the first event of a stream of 200. */
const ills: {
  readonly [ill in Ill]: { readonly effect: Effect; readonly said?: Said }
} = {
  revoked: { effect: 'invalid', said: { status: 401, error: { code: 'invalid_api_key' } } },
  'not valid': {
    effect: 'invalid',
    said: {
      status: 400,
      error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] },
    },
  },
  forbidden: { effect: 'invalid', said: { status: 403, error: { code: 'key_revoked' } } },
  unpaid: { effect: 'no_credit', said: { status: 402, error: { code: 'payment_required' } } },
  'out of quota': { effect: 'no_credit', said: { status: 429, error: { code: 'insufficient_quota' } } },
  limited: { effect: 'cooling', said: { status: 429, error: { code: 'rate_limit_exceeded' } } },
  'limited for a while': {
    effect: 'cooling',
    said: { status: 429, error: { code: 'rate_limit_exceeded' }, headers: { 'retry-after': '20' } },
  },
  'refused inside': { effect: 'invalid', said: { status: 200, error: { code: 'invalid_api_key' } } },
  'unpaid inside': { effect: 'no_credit', said: { status: 200, error: { code: 402 } } },
  'limited inside': { effect: 'cooling', said: { status: 200, error: { code: 429 } } },
  'no such model': { effect: 'model', said: { status: 404, error: { code: 'model_not_found' } } },
  overloaded: { effect: 'none', said: { status: 503, error: { type: 'overloaded_error' } } },
  'a fault': { effect: 'maybe', said: { status: 500, error: { code: 'server_error' } } },
  'a fault inside': { effect: 'maybe', said: { status: 200, error: { code: 500 } } },
  hanging: { effect: 'maybe' },
}
export const illNames = Object.keys(ills) as readonly Ill[]

export function effectOf(ill: Ill): Effect {
  return ills[ill].effect
}

/** The maximum time until a gateway uses a recovered key again: as documented, and some seconds. */
export const backMs: { readonly [effect in Effect]: number } = {
  invalid: 61 * minute,
  no_credit: 30 * minute + 10_000,
  cooling: 5 * minute + 10_000,
  model: 10 * minute + 10_000,
  none: 0,
  maybe: 0,
}

/** A key in the file. */
export type PoolKey = {
  readonly upstream: 'pool' | 'spare'
  readonly name: string
  readonly models?: readonly string[]
  /** Requests per minute. */
  readonly rpm?: number
  readonly concurrency?: number
  /** In micro-units, over its whole life. */
  readonly budget?: number
  readonly weight?: number
  /** Whether it is in the file only after an operator has added it. */
  readonly isExtra?: boolean
}

export const poolKeys: readonly PoolKey[] = [
  { upstream: 'pool', name: 'one', weight: 3 },
  { upstream: 'pool', name: 'two', rpm: 8 },
  { upstream: 'pool', name: 'three', budget: 600_000 },
  { upstream: 'pool', name: 'four', models: ['pool-image', 'pool-pair'], concurrency: 2 },
  { upstream: 'pool', name: 'five', isExtra: true },
  { upstream: 'spare', name: 'solo' },
]

/** Changes of the pools' keys: new secrets, by their number; removed keys; an added one. */
export type PoolFile = {
  readonly secrets: { readonly [key: string]: number }
  readonly without: readonly string[]
  readonly hasExtra: boolean
}
export const plainPool: PoolFile = { secrets: {}, without: [], hasExtra: false }

/** Models on the pools: one on both, one on the first alone, and a text model. */
export const poolModels = { image: ['pool-image', 'pool-pair'], chat: ['pool-chat'] } as const

export function servesModel({ upstream, models }: PoolKey, model: string): boolean {
  if (upstream === 'spare') return model === 'pool-pair'
  return models?.includes(model) ?? true
}

/** The secret of a key in a file; undefined if the key is not there. */
export function secretOf({ name, isExtra = false }: PoolKey, file: PoolFile = plainPool): string | undefined {
  if (file.without.includes(name) || (isExtra && !file.hasExtra)) return undefined
  return `pool-secret-${name}-${file.secrets[name] ?? 0}`
}

export function nameOf(secret: string): string {
  return secret.split('-')[2] ?? ''
}

/** The pools in the form of the file. */
export function poolsOf(file: PoolFile, hosts: { readonly pool: string; readonly spare: string }): string {
  const upstream = (name: 'pool' | 'spare'): string => {
    const keys = poolKeys.flatMap(key => {
      const value = key.upstream === name ? secretOf(key, file) : undefined
      if (value === undefined) return []
      const { budget, upstream: _upstream, name: own, isExtra: _isExtra, ...plain } = key
      const more = budget === undefined ? {} : { budget: { amount: String(budget / 1_000_000) } }
      return `      ${own}: ${JSON.stringify({ value, ...plain, ...more })}`
    })
    return `
  ${name}:
    url: "http://${hosts[name]}"
    credential: { header: authorization, value: "Bearer {key}" }
    keys:
${keys.join('\n')}`
  }
  return upstream('pool') + upstream('spare')
}

/** A period in the world's time. */
export type Spell = { readonly from: number; until: number }

/** A person's suspension of a key, by name. `isKnown`: whether it was acknowledged. */
export type Word = { from: number; until: number; readonly key: string; isKnown: boolean }

export type Returned = {
  readonly key: string
  /** Whether people have suspended all others; otherwise their vendors limit them. */
  readonly isAlone: boolean
  readonly status: number | undefined
  readonly code: string | undefined
  /** The secrets that the vendor received. */
  readonly asked: readonly (string | undefined)[]
}

/** The vendor's state of its keys: present and past ills, and the free probes. */
export class KeyDesk {
  readonly ills: (Spell & { readonly secret: string; readonly ill: Ill })[] = []
  readonly looks: { readonly at: number; readonly secret: string; readonly status: number }[] = []
  readonly words: Word[] = []
  /** For each key that was well at the end, and the only usable one, the result of a request. */
  readonly returns: Returned[] = []
  /** Keys that were well for long enough, but that the storage still has as suspended. */
  stuck: readonly string[] = []
  /** The storage's final sum of charges of requests with each key. */
  spent: readonly { readonly key: string; readonly spent: number }[] = []
  readonly #world: World
  #isOver = false

  constructor(world: World) {
    this.#world = world
  }

  fall(secret: string, ill: Ill, ms: number): void {
    if (!this.#isOver) this.#fall(secret, ill, ms)
  }

  /** Applies even when all keys are to stay well: for the tests at the end. */
  fallAnyway(secret: string, ill: Ill, ms: number): void {
    this.#fall(secret, ill, ms)
  }

  #fall(secret: string, ill: Ill, ms: number): void {
    this.heal(secret)
    const from = this.#world.time.tick
    this.ills.push({ secret, ill, from, until: from + ms })
  }

  /** All of them, permanently, if none is named. */
  heal(secret?: string): void {
    const { tick } = this.#world.time
    this.#isOver ||= secret === undefined
    for (const one of this.ills)
      if (secret === undefined || one.secret === secret) one.until = Math.min(one.until, tick)
  }

  illOf(secret: string): Ill | undefined {
    const { tick } = this.#world.time
    return this.ills.findLast(one => one.secret === secret && one.from <= tick && one.until > tick)?.ill
  }

  /** A free probe of a key. @returns the answer; undefined if there is never one */
  look(message: Message): string | undefined {
    const secret = secretIn(message) ?? ''
    const ill = this.illOf(secret)
    if (ill === 'hanging') return undefined
    const { effect, said } = ill === undefined ? { effect: undefined, said: undefined } : ills[ill]
    // A key without credit passes a probe; a fault fails every request.
    const isRefused = effect === 'invalid' || ill === 'a fault' || ill === 'overloaded' || ill === 'limited'
    const status = isRefused ? (said?.status ?? 200) : 200
    this.looks.push({ at: this.#world.time.tick, secret, status: effect === 'invalid' ? 401 : status })
    this.#world.mark('a key is looked at for free')
    const body = JSON.stringify(isRefused ? { error: said?.error } : { object: 'list', data: [] })
    return `HTTP/1.1 ${status} Said\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
}

/** The key in a request. */
export function secretIn({ headers }: Message): string | undefined {
  return /^Bearer (pool-secret-\S+)$/.exec(headers.get('authorization') ?? '')?.[1]
}

/** The answer with a key that is ill. Vendors quote the refused key. */
export function answerIll(ill: Ill, secret: string, stream: boolean, random: Random): Answer {
  const { said } = ills[ill]
  const nothing = { made: [], known: false, usage: undefined } as const
  if (!said) return { ...nothing, status: 200, type: 'application/json', pieces: [], breaks: 'never' }
  const { status, error, headers = {} } = said
  const body = JSON.stringify({ error: { message: `no: ${secret}`, ...error } })
  if (status !== 200 || !stream) return { ...nothing, status, type: 'application/json', headers, pieces: [body] }
  // Some vendors greet first, some name the event.
  const before = random.pick(['', ': welcome\n\n', 'retry: 100\n\n'])
  const name = random.pick(['', 'event: error\n'])
  return { ...nothing, status, type: 'text/event-stream', pieces: [`${before}${name}data: ${body}\n\n`] }
}
