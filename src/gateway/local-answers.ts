import type { LocalAnswer } from '../engine/engine-parts.ts'
import { fail } from './errors.ts'
import {
  type Answer,
  billingRecord,
  type Charge,
  callerSlot,
  type Family,
  type Job,
  mayAsk,
  type CompiledConfig,
  type Storage,
  type StoredObject,
} from '../domain/index.ts'
import type { RequestContext, ListedModel } from '../plugin-api/index.ts'
import { modelNotFound } from '../engine/errors.ts'
import { createClientSecret } from './client-secrets.ts'
import type { Clock, Random } from '../util/index.ts'
import { jobJson } from './job-json.ts'

const unavailableMs = 1_000

/**
 * The routes with `serve:` in `gateway.yaml`, by name. The gateway answers these itself, for the key of the request.
 */
export function createLocalAnswers(
  storage: Storage,
  startedAt: number,
  parts: { readonly clock: Pick<Clock, 'now'>; readonly random: Pick<Random, 'bytes'> },
): ReadonlyMap<string, LocalAnswer> {
  return new Map<string, LocalAnswer>([
    ['models', context => toJson(context.dialect.modelList(offered(context, startedAt), context.head.query))],
    [
      'model',
      context => {
        const name = context.params['model'] ?? context.params['id'] ?? ''
        const model = offered(context, startedAt).find(one => one.name === name)
        if (!model) throw modelNotFound(context.plan, name)
        return toJson(context.dialect.modelOne(model))
      },
    ],
    [
      'charge',
      async context => {
        const id = context.params['id'] ?? ''
        const charge = await findCharge(storage, id)
        // Another key's charge counts as missing.
        if (!charge || charge.keyId !== context.slots.need(callerSlot).key.id)
          throw fail('charge_not_found', { id: id.slice(0, 80) })
        return toJson(billingRecord(charge, context.plan.plugins.known))
      },
    ],
    ['objects', context => listObjects(storage, context)],
    ['client-secret', (context, body) => createClientSecret({ storage, ...parts }, context, body)],
    [
      'job',
      async context => {
        const id = context.params['id'] ?? ''
        const job = await findJob(storage, id)
        if (!job || job.keyId !== context.slots.need(callerSlot).key.id)
          throw fail('job_not_found', { id: id.slice(0, 80) })
        return { status: 200, headers: json, body: await jobJson(job) }
      },
    ],
  ])
}

/** A page of the objects of a key, as the upstreams returned them. @throws Failure storage_unavailable */
async function listObjects({ objects }: Storage, context: RequestContext): Promise<Answer> {
  const { objectList } = context.dialect
  const lists = context.route.object?.lists
  if (!lists) throw new Error(`route ${context.route.path} lists nothing`)
  const { limit, isReversed, ...query } = objectList.query(context.head.query)
  const keyId = context.slots.need(callerSlot).key.id
  let found: readonly StoredObject[]
  try {
    found = await objects.page({ keyId, kind: lists.kind, limit: limit + 1, ...query })
  } catch (cause) {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  }
  const cut = found.slice(0, limit)
  const rows = isReversed ? cut.toReversed() : cut
  return toJson(
    objectList.page({
      objects: rows.map(({ shown }) => JSON.parse(shown ?? 'null') as object),
      ids: rows.map(({ id }) => id),
      hasMore: found.length > limit,
      member: lists.member ?? 'data',
    }),
  )
}

/** @throws Failure storage_unavailable */
async function findJob(storage: Storage, id: string): Promise<Job | undefined> {
  try {
    return await storage.jobs.find(id)
  } catch (cause) {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  }
}

/** @throws Failure storage_unavailable */
async function findCharge(storage: Storage, id: string): Promise<Charge | undefined> {
  try {
    return await storage.ledger.find(id)
  } catch (cause) {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  }
}

function offered(context: RequestContext, since: number): readonly ListedModel[] {
  const caller = context.slots.get(callerSlot)
  const { models } = context.plan
  const aliases = caller?.group.aliases ?? new Map<string, string>()
  const named = [
    ...[...models.values()].filter(({ name }) => !aliases.has(name)).map(model => ({ name: model.name, model })),
    ...[...aliases].flatMap(([name, of]) => {
      const model = models.get(of)
      return model ? [{ name, model }] : []
    }),
  ]
  return named
    .filter(({ model }) => model.enabled && (!caller || mayAsk(caller, model.name)))
    .map(({ name, model: { family, ends, accepts = [] } }) => ({
      name,
      family: family.name,
      operations: [...new Set([...operationsOf(family, context.plan), ...accepts])],
      since,
      ...(ends && { ends: ends.date }),
    }))
}

/** A family without a list of operations supports all. */
function operationsOf(family: Family, plan: CompiledConfig): readonly string[] {
  if (family.forward.size > 0) return [...family.forward.keys()]
  return [...new Set(plan.routes.filter(route => route.serve === undefined).map(route => route.operation))]
}

const json = { 'content-type': 'application/json' }

function toJson(value: object): Answer {
  return { status: 200, headers: json, body: JSON.stringify(value) }
}
