import { createHmac } from 'node:crypto'
import {
  andThen,
  type Attribution,
  attributionSlot,
  type Awaitable,
  callerSlot,
  definePlugin,
  isPromise,
  type LabelKind,
  OnceAMinute,
  otherLabels,
  otherName,
  type RequestContext,
} from '../../src/plugin-api/index.ts'
import { findName, findTags, parseSource } from './read-sources.ts'
import { optionsSchema } from './schema.ts'

/** Characters of a hash that are stored: 132 bits. */
const hashCharacters = 22
const controls = /\p{C}+/gu

/** Attributes each request to an end user and to tags (`docs/attribution.md`). */
export const attribution = definePlugin({
  name: 'attribution',
  options: optionsSchema,
  needs: [callerSlot],
  gives: [attributionSlot],
  inspectOptions({ end_user, tags, hash, hash_secret }) {
    if (end_user.length + tags.length === 0)
      return [
        {
          severity: 'warning',
          code: 'attribution_without_sources',
          message: 'attribution has no sources, so it does nothing',
          remedy: 'name sources, such as end_user: [body:user]',
          path: [],
        },
      ]
    if (hash.length > 0 && hash_secret === undefined)
      return [
        {
          severity: 'error',
          code: 'attribution_without_secret',
          message: 'hash needs a hash_secret',
          remedy: 'set hash_secret: "${ATTRIBUTION_SECRET}"',
          path: ['hash'],
        },
      ]
    return []
  },
  create(options, host) {
    const { stores, clock, log } = host
    const endUserSources = options.end_user.map(parseSource)
    const tagSources = options.tags.map(parseSource)
    const most: { readonly [K in LabelKind]: number } = { end_user: options.end_users_max, tag: options.tags_max }
    const hashed = new Set<LabelKind>(options.hash)
    const folds = host.keep('folds', () => new OnceAMinute(clock))

    /** The stored form of a name. */
    function nameOf(kind: LabelKind, text: string): string {
      const plain = text.toWellFormed().replace(controls, ' ').trim().slice(0, options.characters_max).toWellFormed()
      if (!hashed.has(kind) || options.hash_secret === undefined) return plain
      // Hashes the whole text: two long names may begin alike.
      return createHmac('sha256', options.hash_secret)
        .update(`${kind} ${text}`)
        .digest('base64url')
        .slice(0, hashCharacters)
    }

    function idOf(context: RequestContext, kind: LabelKind, name: string): Awaitable<string> {
      const { key } = context.slots.need(callerSlot)
      const mostPerKey = Math.max(1, Math.floor((most[kind] * options.share_percent) / 100))
      const found = findId(() => stores.labels.idOf({ kind, name, keyId: key.id, most: most[kind], mostPerKey }), kind)
      return andThen(found, id => {
        if (id === otherLabels[kind]) noteFold(context, kind, key.id)
        return id
      })
    }

    /** If the storage does not answer, requests without a charge continue. */
    function findId(find: () => Awaitable<string>, kind: LabelKind): Awaitable<string> {
      const failed = (error: unknown): string => {
        const times = folds.count('failed')
        if (times > 0) log.warn({ err: error, times }, 'the storage did not give the id of an end user or tag')
        return otherLabels[kind]
      }
      try {
        const found = find()
        return isPromise(found) ? found.catch(failed) : found
      } catch (error) {
        return failed(error)
      }
    }

    function noteFold(context: RequestContext, kind: LabelKind, key: string): void {
      context.notes.folded = [...(context.notes.folded ?? []), kind]
      const times = folds.count(kind)
      if (times > 0)
        log.warn(
          { request: context.id, key, kind, max: most[kind], share_percent: options.share_percent, times },
          'more end users or tags than attribution stores: further ones count as (other)',
        )
    }

    function put(
      context: RequestContext,
      endUser: string | undefined,
      tags: readonly string[],
      ids: readonly string[],
    ) {
      const endUserId = endUser === undefined ? null : (ids[0] as string)
      const isOther = endUserId === otherLabels.end_user
      const found: Attribution = {
        endUser: endUser === undefined ? null : isOther ? otherName : endUser,
        endUserId,
        tags,
        ids: [...new Set(ids)].join(' '),
      }
      context.slots.put(attributionSlot, found)
    }

    return {
      onTarget(context, { body }) {
        const { key } = context.slots.need(callerSlot)
        // For a translated request the client's own fields, because the client wrote the names.
        const own = context.client?.body ?? body
        const request = { head: context.head, body: own, keyTags: key.tags ?? [] }
        const text = findName(endUserSources, request)
        const endUser = text === undefined ? undefined : nameOf('end_user', text)
        const tags = findTags(tagSources, request, options.tags_of_request_max).map(tag => nameOf('tag', tag))
        const pendingIds = [
          ...(endUser ? [idOf(context, 'end_user', endUser)] : []),
          ...tags.filter(tag => tag !== '').map(tag => idOf(context, 'tag', tag)),
        ]
        if (pendingIds.length === 0) return
        // Names in memory need no wait.
        if (!pendingIds.some(isPromise)) return put(context, endUser || undefined, tags, pendingIds as string[])
        return Promise.all(pendingIds.map(async id => id)).then(ids => put(context, endUser || undefined, tags, ids))
      },
    }
  },
})
