import {
  endStoredObject,
  objectPosition,
  readObjectPosition,
  showObject,
  storedKinds,
  type VendorDeletion,
} from '../../domain/index.ts'
import { endedObjectAnswer, storedObjectsAnswer } from '../response-schemas.ts'
import { defineRoute } from '../api.ts'
import { fail } from '../errors.ts'
import { namesOfKeys } from '../key-names.ts'
import { pageOf } from '../page-of.ts'
import { refuse } from '../reasons.ts'
import { pageLimit, reason, rowId } from '../schemas.ts'
import { sessionUserOf } from '../session-user.ts'

const kind = { type: 'string', enum: storedKinds } as const

/** Objects that upstreams store for clients. */
export const storedObjectRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/objects',
    access: 'operators',
    summary: 'List what upstreams store for clients, newest first. Deleted objects are listed for 30 days.',
    query: {
      type: 'object',
      additionalProperties: false,
      properties: {
        key: { ...rowId, description: 'Only objects of this key.' },
        kind: { ...kind, description: 'Only objects of this kind.' },
        limit: pageLimit,
        before: { type: 'string', minLength: 1, maxLength: 2_000, description: 'The `next` of the previous page.' },
      },
    },
    answer: storedObjectsAnswer,
    async handle(request) {
      const { parts, query } = request
      const { key: keyId, kind, limit, before } = query
      const position = before === undefined ? undefined : readObjectPosition(before)
      if (before !== undefined && !position)
        throw refuse('invalid', 'not_position', { field: 'before' }, { param: 'before' })
      const filter = {
        ...(keyId !== undefined && { keyId }),
        ...(kind !== undefined && { kind }),
        ...(position && { before: position }),
      }
      const { rows, next } = await pageOf(limit, objectPosition, limit =>
        parts.storage.objects.list({ ...filter, limit }),
      )
      const { key_names } = await namesOfKeys(
        request,
        rows.map(({ keyId }) => keyId),
      )
      return { objects: rows.map(showObject), next, key_names }
    },
  }),
  defineRoute({
    method: 'POST',
    url: '/api/objects/end',
    access: 'admin',
    summary:
      'End a stored object: no request reaches it any more. Then the vendor is called to delete it, unless `keep` is true.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['key', 'kind', 'id', 'reason'],
      properties: {
        key: rowId,
        kind,
        id: { type: 'string', minLength: 1, maxLength: 1_000 },
        reason,
        keep: {
          type: 'boolean',
          description: 'true ends only the record: the vendor is not called, and keeps the object.',
        },
      },
    },
    answer: endedObjectAnswer,
    async handle(request) {
      const { parts, body } = request
      const { storage } = parts
      const found = await storage.objects.list({ id: body.id, keyId: body.key, kind: body.kind, limit: 1 })
      const [object] = found
      if (!object || object.deletedAt !== null) throw fail('not_found')
      const { user } = sessionUserOf(request)
      if (!(await endStoredObject(storage, object, { by: user.name, reason: body.reason }))) throw fail('not_found')
      const deletion = body.keep ? { kind: 'kept' as const } : await parts.deleteAtVendor(object)
      return {
        object: showObject({ ...object, deletedAt: parts.clock.now() }),
        vendor: deletion.kind,
        detail: detailOf(deletion),
      }
    },
  }),
]

function detailOf(deletion: VendorDeletion | { readonly kind: 'kept' }): string | null {
  if (deletion.kind === 'refused') return `HTTP ${deletion.status}`
  return deletion.kind === 'unreached' ? deletion.why : null
}
