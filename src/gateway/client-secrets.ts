import {
  type Answer,
  type Body,
  callerSlot,
  type Json,
  mayAsk,
  nameOfClientSecret,
  readField,
  showClientSecret,
  type Storage,
} from '../domain/index.ts'
import { modelNotFound } from '../engine/errors.ts'
import type { RequestContext } from '../plugin-api/index.ts'
import { type Clock, createSecret, hashSecret, hintOfSecret, type Random, membersOf } from '../util/index.ts'
import { fail } from './errors.ts'

const unavailableMs = 1_000
const [secondsMin, secondsMax, secondsUsual] = [10, 7_200, 600]

type Parts = {
  readonly storage: Pick<Storage, 'keys'>
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
}

/**
 * Creates a short-lived secret for a browser, for sessions with one model. The key that creates it pays. The gateway
 * issues its own secret, because with a vendor's secret the browser could bypass the gateway.
 */
export async function createClientSecret(
  { storage, clock, random }: Parts,
  context: RequestContext,
  body: Body,
): Promise<Answer> {
  const caller = context.slots.need(callerSlot)
  const session = membersOf(readField(body, 'session'))
  const model = session['model']
  if (typeof model !== 'string')
    throw fail('client_secret_invalid', { why: '`session.model` is missing' }, { param: 'session.model' })
  const known = context.plan.models.get(caller.group.aliases?.get(model) ?? model)
  if (!known?.enabled || !mayAsk(caller, known.name)) throw modelNotFound(context.plan, model, 'session.model')
  const seconds = readSeconds(readField(body, 'expires_after'))
  const expiresAt = Math.floor(clock.now() / 1_000) + seconds
  const value = await createLinkSecret({ storage, random }, context, known.name, expiresAt * 1_000)
  const answer = { value, expires_at: expiresAt, session }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(answer),
  }
}

/** Creates a secret for one model with an expiry, in the form for clients. @throws Failure storage_unavailable */
export async function createLinkSecret(
  { storage, random }: Pick<Parts, 'storage' | 'random'>,
  { slots }: RequestContext,
  model: string,
  expiresAt: number,
): Promise<string> {
  const { key } = slots.need(callerSlot)
  const secret = createSecret(random)
  try {
    await storage.keys.create(
      {
        name: nameOfClientSecret(key.id),
        user: key.user,
        group: key.group,
        kind: 'session',
        models: [model],
        expiresAt,
        hash: hashSecret(secret),
        hint: hintOfSecret(secret),
      },
      key.user,
    )
  } catch (cause) {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  }
  return showClientSecret(secret)
}

/** @throws Failure client_secret_invalid */
function readSeconds(after: Json | undefined): number {
  const seconds = membersOf(after)['seconds']
  if (seconds === undefined) return secondsUsual
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= secondsMin && seconds <= secondsMax)
    return seconds
  const why = `\`expires_after.seconds\` is no whole number from ${secondsMin} to ${secondsMax}`
  throw fail('client_secret_invalid', { why }, { param: 'expires_after.seconds' })
}
