import type { Message } from '../world/http-wire.ts'
import type { Random } from '../world/random.ts'
import type { World } from '../world/world.ts'
import type { Answer } from './answers.ts'
import type { Ill } from './ills.ts'

/** What an ill says of the key, whatever a gateway makes of it; `maybe`: it may have been sold. */
export type Effect = 'invalid' | 'no_credit' | 'cooling' | 'model' | 'none' | 'maybe'

type Said = { readonly status: number; readonly error: object; readonly headers?: { readonly [name: string]: string } }

const minute = 60_000

/** How each shows: in a status, in an answer of 200, or as the first event of a stream of 200. */
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

/** How long a gateway may take to ask a key again that is well: as its documents say, and some seconds. */
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
  /** In a minute. */
  readonly rpm?: number
  readonly concurrency?: number
  /** In micro-units, for all of its life. */
  readonly budget?: number
  readonly weight?: number
  /** It is in the file only when somebody has added it. */
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

/** What people change of the pools' keys: other secrets, by how often; keys that are taken out; one that is added. */
export type PoolFile = {
  readonly secrets: { readonly [key: string]: number }
  readonly without: readonly string[]
  readonly hasExtra: boolean
}
export const plainPool: PoolFile = { secrets: {}, without: [], hasExtra: false }

/** Models on the pools: one on both, one on the first alone, and a text. */
export const poolModels = { image: ['pool-image', 'pool-pair'], chat: ['pool-chat'] } as const

export function servesModel({ upstream, models }: PoolKey, model: string): boolean {
  if (upstream === 'spare') return model === 'pool-pair'
  return models?.includes(model) ?? true
}

/** The secret of a key in a file; undefined where it is not there. */
export function secretOf({ name, isExtra = false }: PoolKey, file: PoolFile = plainPool): string | undefined {
  if (file.without.includes(name) || (isExtra && !file.hasExtra)) return undefined
  return `pool-secret-${name}-${file.secrets[name] ?? 0}`
}

export function nameOf(secret: string): string {
  return secret.split('-')[2] ?? ''
}

/** The pools as the file has them. */
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

/** A time in which something held, by the world. */
export type Spell = { readonly from: number; until: number }

/** What a person has said: a key is not to be asked, by its name. `isKnown`: whoever said it was told that it was done. */
export type Word = { from: number; until: number; readonly key: string; isKnown: boolean }

export type Returned = {
  readonly key: string
  /** People have suspended all others; otherwise their vendors limit them. */
  readonly isAlone: boolean
  readonly status: number | undefined
  readonly code: string | undefined
  /** The secrets with which the vendor was asked. */
  readonly asked: readonly (string | undefined)[]
}

/** What the vendor's desk knows of keys: which are ill and were, and who looked at them for free. */
export class KeyDesk {
  readonly ills: (Spell & { readonly secret: string; readonly ill: Ill })[] = []
  readonly looks: { readonly at: number; readonly secret: string; readonly status: number }[] = []
  readonly words: Word[] = []
  /** For each key that was well at the end, and the only one that was to be asked, what became of a request. */
  readonly returns: Returned[] = []
  /** Keys that were well for as long as it takes, and that the storage has as suspended all the same. */
  stuck: readonly string[] = []
  /** What the storage has of what was charged for what was asked with keys, in all, at the end. */
  spent: readonly { readonly key: string; readonly spent: number }[] = []
  readonly #world: World
  #isOver = false

  constructor(world: World) {
    this.#world = world
  }

  fall(secret: string, ill: Ill, ms: number): void {
    if (!this.#isOver) this.#fall(secret, ill, ms)
  }

  /** Even when all are to be well for good: by what is tried of them then. */
  fallAnyway(secret: string, ill: Ill, ms: number): void {
    this.#fall(secret, ill, ms)
  }

  #fall(secret: string, ill: Ill, ms: number): void {
    this.heal(secret)
    const from = this.#world.time.tick
    this.ills.push({ secret, ill, from, until: from + ms })
  }

  /** All of them, for good, where none is named. */
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

  /** A free look at a key. @returns what is said to it; undefined for nothing, ever */
  look(message: Message): string | undefined {
    const secret = secretIn(message) ?? ''
    const ill = this.illOf(secret)
    if (ill === 'hanging') return undefined
    const { effect, said } = ill === undefined ? { effect: undefined, said: undefined } : ills[ill]
    // A key without credit is let in; a fault is one whatever is asked for.
    const isRefused = effect === 'invalid' || ill === 'a fault' || ill === 'overloaded' || ill === 'limited'
    const status = isRefused ? (said?.status ?? 200) : 200
    this.looks.push({ at: this.#world.time.tick, secret, status: effect === 'invalid' ? 401 : status })
    this.#world.mark('a key is looked at for free')
    const body = JSON.stringify(isRefused ? { error: said?.error } : { object: 'list', data: [] })
    return `HTTP/1.1 ${status} Said\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
}

/** The key that a request came with. */
export function secretIn({ headers }: Message): string | undefined {
  return /^Bearer (pool-secret-\S+)$/.exec(headers.get('authorization') ?? '')?.[1]
}

/** What is answered with a key that is ill. Vendors quote the key that they refuse. */
export function answerIll(ill: Ill, secret: string, stream: boolean, random: Random): Answer {
  const { said } = ills[ill]
  const nothing = { made: [], known: false, usage: undefined } as const
  if (!said) return { ...nothing, status: 200, type: 'application/json', pieces: [], breaks: 'never' }
  const { status, error, headers = {} } = said
  const body = JSON.stringify({ error: { message: `no: ${secret}`, ...error } })
  if (status !== 200 || !stream) return { ...nothing, status, type: 'application/json', headers, pieces: [body] }
  // Some greet first, some name the event.
  const before = random.pick(['', ': welcome\n\n', 'retry: 100\n\n'])
  const name = random.pick(['', 'event: error\n'])
  return { ...nothing, status, type: 'text/event-stream', pieces: [`${before}${name}data: ${body}\n\n`] }
}
