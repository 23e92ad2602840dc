import type { Row } from '../world/storage.ts'
import { bodyRefusalNames } from '../play/answers.ts'
import { type Arrival, type Ask, codeOf, isRepeated, isReplay, statusOf } from '../play/asks.ts'
import type { Books } from '../play/books.ts'
import { backMs, effectOf, nameOf, type PoolKey, poolKeys, secretOf, servesModel } from '../play/pool.ts'
import { hosts } from '../play/settings.ts'
import type { Stage } from '../play/stage.ts'
import type { Finding, Oracle } from './oracle.ts'

const minute = 60_000
/**
 * The maximum time for an answer to reach the gateway, and for its next request to reach the next vendor, on a slow
 * network.
 */
const atOnceMs = 10_000
/** The delay after which other processes know what one knows about a key, or what a person has changed. */
const heardMs = 8_000
/** The delay after which a gateway's finding is on the disk, without any fault of the disk. */
const writtenMs = 20_000
/** Retry delays when no other key is left: after a second, then doubled each time, up to half a minute. */
const resortsAt = [1, 3, 7, 15, 31].map(seconds => seconds * 1_000)
const resortMs = 30_000
/** How often a key without credit is tried. */
const trialMs = 30 * minute
/** The maximum time until a charge that the caller does not know of has ended. */
const chargedMs = 5_000
/** The price of one image, which is more than a text costs. */
const dearest = 80_000
/** The maximum number of keys tried that fail for reasons other than the request. */
const unableMost = 2

export const vendorKeys: Oracle = {
  name: 'vendor-keys',
  promise:
    "What was not sold goes to a vendor's next key at once, what may have been sold to none; one that is refused is paused until it is well; and callers hear nothing of it.",
  *judge({ stage, books }) {
    const asks = stage.asks.filter(ask => ask.first === ask && ask.wish.model.startsWith('pool-'))
    if (asks.length === 0) return
    for (const ask of asks) {
      const isOneOfSeveral = isRepeated(stage.asks, ask)
      yield* judgeOrder(ask, isOneOfSeveral)
      yield* judgeWords(ask, isOneOfSeveral)
      yield* judgeFailure(stage, asks, ask)
      yield* judgeCharge(stage, books, ask)
    }
    yield* judgeSuspended(stage, asks)
    yield* judgeWithdrawn(stage, asks)
    yield* judgeLimits(stage, asks)
    yield* judgeBudgets(stage, books, asks)
    for (const stuck of stage.upstreams.keys.stuck) yield ['a key that is well stays suspended', stuck]
    for (const { key, isAlone, status, code, asked } of stage.upstreams.keys.returns) {
      const detail = `${key}: ${status} ${code ?? ''}, asked ${asked.join(', ')}`
      if (status !== 200 || nameOf(asked.at(-1) ?? '') !== key) yield ['a key that is well is not asked again', detail]
      else if (isAlone && asked.length > 1) yield ['a key is asked that a person has suspended', detail]
    }
  },
}

const isUnsold = ({ refusal }: Arrival): boolean => refusal

/** No further call after a possible sale, and each key at most once. */
function* judgeOrder(ask: Ask, isOneOfSeveral: boolean): Iterable<Finding> {
  // A client's repetition is bought again if nothing was sold: which arrival belongs to which is not observable.
  const own = ask.arrivals.filter(({ at, life }) => at <= (ask.endedAt ?? Infinity) && life === ask.life)
  const isAlone = !isOneOfSeveral && own.length === ask.arrivals.length
  const detail = `ask ${ask.no}: ${own.map(({ secret, shape }) => `${secret} ${shape}`).join(', ')}`
  for (const [i, one] of own.entries()) {
    const next = own[i + 1]
    if (!next || !isAlone) continue
    if (!isUnsold(one)) yield ['what may have been sold is asked for again', detail]
    else if (next.at - (one.wholeAt ?? one.at) > atOnceMs && ask.disturbed === undefined)
      yield [
        'the next key is not asked at once',
        `${detail}: after ${Math.round(next.at - (one.wholeAt ?? one.at))} ms`,
      ]
  }
  if (isAlone && new Set(own.map(({ secret }) => secret)).size < own.length)
    yield ['a key is asked twice in one request', detail]
}

/** A fault of a vendor's key never appears as the caller's fault, and no vendor's secret appears in an answer. */
function* judgeWords(ask: Ask, isOneOfSeveral: boolean): Iterable<Finding> {
  const status = statusOf(ask)
  const text = ask.answer?.body.toString('latin1') ?? ''
  const detail = `ask ${ask.no}: ${status} ${codeOf(ask) ?? ''}, ${ask.arrivals.map(one => one.shape).join(', ')}`
  if (text.includes('pool-secret-')) yield ["a vendor's key is shown to a caller", detail]
  const last = ask.arrivals.at(-1)
  if (!last?.ill || isReplay(ask) || isOneOfSeveral) return
  const effect = effectOf(last.ill)
  const isOfKey = effect === 'invalid' || effect === 'no_credit'
  if (isOfKey && ask.disturbed === undefined && !ask.left && ask.endedAt !== undefined) {
    if (status !== 502 && status !== 429) yield ['a caller is told that a key is bad', detail]
    else if (!['upstream_credentials', 'upstream_limited'].includes(codeOf(ask) ?? ''))
      yield ["a caller reads a vendor's words about a key", detail]
  }
  if (status === 200 && last.wholeAt !== undefined && !ask.left) yield ['an error is handed out as an answer', detail]
}

/** If no key is left, each key must have been ill, at a limit, out of budget or suspended. */
function* judgeFailure(stage: Stage, asks: readonly Ask[], ask: Ask): Iterable<Finding> {
  const code = codeOf(ask)
  if (ask.endedAt === undefined || ask.disturbed !== undefined || ask.left || isReplay(ask)) return
  // One client's requests never block other clients; they may block that client for a while.
  if (hasBroughtAbout(asks, ask)) return
  const last = ask.arrivals.at(-1)
  const isGivenUp = code === 'upstream_credentials' || code === 'upstream_limited'
  // An error of the vendor's own without a sale is passed on when no other vendor is left.
  const isHandedOn = last !== undefined && last.ill !== undefined && isUnsold(last) && statusOf(ask) !== 200
  if (!isGivenUp && !isHandedOn) return
  const unable = ask.arrivals.filter(({ ill }) => ill !== undefined && effectOf(ill) === 'none').length
  for (const key of poolKeys) {
    if (!servesModel(key, ask.wish.model)) continue
    // Two failing keys of one vendor are enough; its second key was then not tried.
    if (key.upstream === 'pool' && unable >= unableMost) continue
    if (isSurelyOpen(stage, asks, ask, key))
      yield [
        'refused although a key was well',
        `ask ${ask.no}: ${statusOf(ask)} ${code ?? ''} after ${ask.arrivals.map(one => `${one.secret} ${one.shape}`).join(', ') || 'nobody'}: ${key.name} was well`,
      ]
  }
}

function hasBroughtAbout(asks: readonly Ask[], { wish, sentAt, endedAt = Infinity }: Ask): boolean {
  return asks.some(
    one =>
      one.wish.key === wish.key &&
      one.sentAt <= endedAt &&
      (one.endedAt ?? Infinity) > sentAt - 30 * minute &&
      one.arrivals.some(({ shape }) => bodyRefusalNames.includes(shape)),
  )
}

/** The key is in the file, well for long enough, not suspended, and below its limits and budget. */
function isSurelyOpen(stage: Stage, asks: readonly Ask[], ask: Ask, key: PoolKey): boolean {
  const { keys } = stage.upstreams
  const end = ask.endedAt ?? Infinity
  const secrets = new Set(stage.settingsOf(ask).map(({ pool }) => secretOf(key, pool)))
  const [secret] = secrets
  if (secrets.size !== 1 || secret === undefined || ask.arrivals.some(one => one.secret === secret)) return false
  // After a clock change, elapsed times are not reliable.
  const since = Math.max(0, ...stage.jumps.filter(at => at < end))
  for (const { secret: of, ill, from, until } of keys.ills) {
    if (nameOf(of) !== key.name || from > end) continue
    const isOver = until + backMs[effectOf(ill)] + heardMs < ask.sentAt && (stage.jumps.length === 0 || from > since)
    if (of === secret && !isOver && backMs[effectOf(ill)] + (until - ask.sentAt) > 0) return false
    if (of === secret && until > ask.sentAt) return false
  }
  if (keys.words.some(one => one.key === key.name && one.from <= end && isHeard(stage, one, ask))) return false
  const mine = asks.filter(
    one => one.no !== ask.no && one.arrivals.some(arrival => nameOf(arrival.secret ?? '') === key.name),
  )
  if (key.budget !== undefined && mine.reduce((sum, { wish }) => sum + wish.n * dearest, 0) >= key.budget) return false
  // A request whose client left may have taken a place of the key before it reached the vendor.
  const unseen = asks.filter(one => one.no !== ask.no && one.left && one.arrivals.length === 0)
  const near = [...mine, ...unseen].filter(
    one => one.sentAt <= end && (one.endedAt ?? Infinity) > ask.sentAt - 2 * minute,
  )
  // A repeated request has taken a place each time.
  const places = near.reduce(
    (sum, { arrivals }) => sum + Math.max(1, arrivals.filter(({ secret = '' }) => nameOf(secret) === key.name).length),
    0,
  )
  return places < Math.min(key.rpm ?? Infinity, key.concurrency ?? Infinity)
}

/** A person's change may still affect this request. */
function isHeard(stage: Stage, { until }: { readonly until: number }, ask: Ask): boolean {
  return until + heardMs > ask.sentAt || stage.jumps.length > 0
}

/** A charge names the vendor that sold it. */
function* judgeCharge(stage: Stage, books: Books, ask: Ask): Iterable<Finding> {
  const charge = books.chargeOf(ask)
  const seller = ask.arrivals.find(({ made, usage }) => made.length > 0 || usage !== undefined)
  if (!charge || !seller || stage.asks.some(one => one !== ask && one.first === ask)) return
  const name = seller.host === hosts.pool ? 'pool' : 'spare'
  if (charge['upstream'] !== name)
    yield ['a charge names another upstream', `ask ${ask.no}: ${String(charge['upstream'])}, sold by ${name}`]
}

function isRefusal({ ill, shape }: Arrival): boolean {
  return ill !== undefined || bodyRefusalNames.includes(shape)
}

/** A refused key gets no paid requests until a free probe, a person or its deadline ends the suspension. */
function* judgeSuspended(stage: Stage, asks: readonly Ask[]): Iterable<Finding> {
  const { keys } = stage.upstreams
  const arrivals = asks.flatMap(ask => ask.arrivals.map(arrival => ({ ask, arrival })))
  for (const { ask, arrival } of arrivals) {
    const { secret, ill, wholeAt } = arrival
    if (secret === undefined || ill === undefined || wholeAt === undefined || ask.left) continue
    const effect = effectOf(ill)
    // One request changes the state of one key: this one, only if no earlier one may have confirmed another request's
    // refusal.
    const isFirst = ask.arrivals.find(isRefusal)?.secret === secret
    if ((effect !== 'invalid' && ill !== 'out of quota') || !isFirst) continue
    const ends = [
      ...keys.looks.filter(look => look.secret === secret && look.status !== 401).map(({ at }) => at),
      ...keys.words.filter(({ key }) => key === nameOf(secret)).flatMap(({ from, until }) => [from, until]),
      ...stage.jumps,
      ...stage.lives.crashes.filter(at => !isWritten(stage, wholeAt, at)),
      ...(effect === 'no_credit' ? [wholeAt + trialMs - 1_000] : []),
    ]
    const release = Math.min(...ends.filter(at => at > wholeAt - heardMs))
    const laters = arrivals.filter(
      later =>
        later.arrival.secret === secret &&
        later.ask.sentAt > wholeAt + heardMs &&
        later.arrival.at < release &&
        later.ask.disturbed === undefined &&
        !isReplaced(stage, secret, wholeAt, later.arrival.at) &&
        !isBroken(stage, wholeAt),
    )
    for (const [i, later] of laters.entries())
      if (i + 1 > resortsWithin(later.arrival.at - wholeAt) || hasAnother(stage, asks, later))
        yield [
          'a suspended key is asked',
          `${secret}: ${ill} for ask ${ask.no} at ${Math.round(wholeAt)}, asked by ask ${later.ask.no} at ${Math.round(later.arrival.at)}`,
        ]
      // Tried for lack of another key and successful, the key is active again.
      else if (!isRefusal(later.arrival)) break
  }
}

/**
 * Whether the file named another secret for the key in between: a secret that returns starts active, like a new key.
 */
function isReplaced(stage: Stage, secret: string, from: number, until: number): boolean {
  const key = poolKeys.find(({ name }) => name === nameOf(secret))
  return key !== undefined && stage.settingsBetween(from, until).some(({ pool }) => secretOf(key, pool) !== secret)
}

type AskedWith = { readonly ask: Ask; readonly arrival: Arrival }

/** A suspended key is tried only for lack of another key of its vendor. */
function hasAnother(stage: Stage, asks: readonly Ask[], { ask, arrival }: AskedWith): boolean {
  const own = poolKeys.find(({ name }) => name === nameOf(arrival.secret ?? ''))
  const before = { ...ask, arrivals: ask.arrivals.filter(one => one.at < arrival.at) }
  return poolKeys.some(
    other =>
      other !== own &&
      other.upstream === own?.upstream &&
      servesModel(other, ask.wish.model) &&
      isSurelyOpen(stage, asks, before, other),
  )
}

/** The maximum number of tries of a key for lack of another one. */
function resortsWithin(ms: number): number {
  const last = resortsAt.at(-1) ?? 0
  return resortsAt.filter(at => at <= ms).length + Math.max(0, Math.floor((ms - last) / resortMs))
}

/** Whether a finding must be in the storage at the time of a crash. */
function isWritten(stage: Stage, foundAt: number, diedAt: number): boolean {
  return diedAt - foundAt > writtenMs && !isBroken(stage, foundAt)
}

/** Whether a machine had a fault around the time of the finding. */
function isBroken({ disturbances }: Stage, at: number): boolean {
  return disturbances.some(({ from, until }) => from < at + writtenMs && until > at - heardMs)
}

/** Every decision of a person and every setting of the file is respected. */
function* judgeWithdrawn(stage: Stage, asks: readonly Ask[]): Iterable<Finding> {
  const { keys } = stage.upstreams
  for (const ask of asks)
    for (const { secret = '', at } of ask.arrivals) {
      const name = nameOf(secret)
      const detail = `ask ${ask.no}, sent at ${Math.round(ask.sentAt)}: ${secret} at ${Math.round(at)}`
      const key = poolKeys.find(one => one.name === name)
      const settings = stage.asks.filter(({ first }) => first === ask).flatMap(one => stage.settingsOf(one))
      const isInFile = settings.some(({ pool }) => key && secretOf(key, pool) === secret)
      if (!isInFile && ask.endedAt !== undefined) yield ['a key that is not in the file is asked', detail]
      // A later decision replaces an earlier one, even with an earlier end.
      const word = keys.words.findLast(one => one.key === name && one.from <= at)
      const isSaid = word?.isKnown === true && ask.sentAt > word.from + heardMs && at < word.until
      // The wall clock determines how long it lasts.
      if (isSaid && ask.disturbed === undefined && stage.jumps.length === 0 && !isBroken(stage, ask.sentAt))
        yield ['a key that a person has suspended is asked', detail]
    }
}

/** Per minute, and concurrent: within one life, since the next one starts counting from zero. */
function* judgeLimits(stage: Stage, asks: readonly Ask[]): Iterable<Finding> {
  if (stage.lives.count === 0 && stage.lives.gateway === undefined) return
  for (const { name, rpm = Infinity } of poolKeys) {
    const let_in = asks.flatMap(ask =>
      ask.arrivals.flatMap(({ secret = '', at, life }) =>
        nameOf(secret) === name ? { from: ask.sentAt, until: at, life } : [],
      ),
    )
    for (const first of let_in) {
      const within = let_in.filter(
        one => one.life === first.life && one.from >= first.from && one.until < first.from + minute,
      )
      if (within.length <= rpm) continue
      yield ["more requests than a vendor's key allows", `${name}: ${within.length} of ${rpm} from ${first.from} ms`]
      break
    }
  }
  for (const { name, concurrency = Infinity } of poolKeys) {
    const spans = asks.flatMap(ask =>
      ask.arrivals.flatMap(({ secret = '', at, life, wholeAt, cutOffAt }) =>
        nameOf(secret) === name ? { at, until: wholeAt ?? cutOffAt ?? at, life } : [],
      ),
    )
    for (const { at, life } of spans) {
      const together = spans.filter(one => one.life === life && one.at <= at && one.until > at).length
      if (together <= concurrency) continue
      yield ["more requests at once than a vendor's key allows", `${name}: ${together} of ${concurrency} at ${at}`]
      break
    }
  }
}

/** No key is used after its budget was spent by settled charges. */
function* judgeBudgets(stage: Stage, books: Books, asks: readonly Ask[]): Iterable<Finding> {
  for (const { name, budget } of poolKeys) {
    if (budget === undefined) continue
    const sold = asks.flatMap(ask => {
      const seller = ask.arrivals.at(-1)
      const charge = books.chargeOf(ask)
      return seller && nameOf(seller.secret ?? '') === name && charge?.['state'] === 'settled' ? { ask, charge } : []
    })
    const isSure = ({ ask, charge }: { readonly ask: Ask; readonly charge: Row }): boolean =>
      ask.disturbed === undefined &&
      ask.endedAt !== undefined &&
      !ask.left &&
      !stage.decisions.some(one => one.id === charge['id']) &&
      !stage.asks.some(one => one !== ask && one.first === ask) &&
      !isBroken(stage, ask.endedAt) &&
      !stage.lives.crashes.some(at => at > (ask.endedAt ?? 0) && at < (ask.endedAt ?? 0) + writtenMs)
    const sure = sold.filter(isSure)
    for (const ask of asks) {
      const arrival = ask.arrivals.find(({ secret = '' }) => nameOf(secret) === name)
      if (!arrival || ask.disturbed !== undefined) continue
      const before = sure.filter(one => (one.ask.endedAt ?? Infinity) + chargedMs + heardMs < ask.sentAt)
      const spent = before.reduce((sum, { charge }) => sum + Number(charge['amount']), 0)
      if (spent < budget) continue
      yield ['a key is asked whose budget is spent', `${name}: ${spent} of ${budget} before ask ${ask.no}`]
      break
    }
    const least = sure.reduce((sum, { charge }) => sum + Number(charge['amount']), 0)
    const found = stage.upstreams.keys.spent.find(one => one.key === name)?.spent ?? 0
    if (found < least && stage.upstreams.keys.spent.length > 0)
      yield ['what a key has spent is forgotten', `${name}: ${found}, at least ${least}`]
  }
}
