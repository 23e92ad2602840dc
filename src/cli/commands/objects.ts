import {
  deleteAtVendor,
  endStoredObject,
  keptHere,
  loadConfig,
  showObject,
  type StoredObject,
  type VendorDeletion,
} from '../../index.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'

type Listing = {
  readonly config: string
  readonly format: string
  readonly limit: number
  readonly key?: string
  readonly kind?: string
}
type Ending = { readonly config: string; readonly key?: string; readonly reason?: string; readonly keep?: boolean }

/** The number of keys that may have an object with the same id. */
const sameMax = 100

/** Lists objects that upstreams store for clients, newest first. */
export async function listObjects({ config, format, limit, key: keyId, kind }: Listing): Promise<void> {
  await withStorage(config, async storage => {
    const found = await storage.objects.list({ limit, ...(keyId && { keyId }), ...(kind && { kind }) })
    if (found.length === 0) say('No stored objects are recorded.')
    else if (format === 'json') for (const one of found) print(JSON.stringify(showObject(one)))
    else print(formatObjects(found))
  })
}

/** Takes an object from its key, so that no request reaches it any more. Then sends the deletion to its vendor. */
export async function endObject(id: string, { config, key: keyId, reason, keep }: Ending): Promise<void> {
  await withStorage(config, async storage => {
    const found = await storage.objects.list({ id, limit: sameMax, ...(keyId && { keyId }) })
    const open = found.filter(({ deletedAt }) => deletedAt === null)
    const [one, ...others] = open
    if (!one) throw new Exit(exitCodes.failure, `there is no stored object '${id}' (tollgate objects list)`)
    if (others.length > 0)
      throw new Exit(exitCodes.usage, `${countOf(open.length, 'key')} have an object '${id}': name one with --key`)
    await endStoredObject(storage, one, { by: actor, reason: reason ?? null })
    const object = `The ${one.kind} '${one.id}' of ${one.keyId}`
    if (one.upstream === keptHere) return say(`${object} is ended, and its content is deleted.`)
    if (keep) return say(`${object} is ended. It is still at upstream '${one.upstream}'.`)
    const deletion = await deleteThere(config, one)
    if (deletion.kind === 'deleted' || deletion.kind === 'gone')
      return say(`${object} is ended, and it is no longer at upstream '${one.upstream}'.`)
    const left = `${object} is ended, but it may still be at upstream '${one.upstream}': ${sayDeletion(deletion)}`
    if (deletion.kind === 'refused' || deletion.kind === 'unreached') throw new Exit(exitCodes.failure, left)
    say(left)
  })
}

type Deletion = VendorDeletion | { readonly kind: 'secretless' }

/** Deletes an object at its vendor. This needs the configuration's secrets, unlike the change in the storage. */
async function deleteThere(config: string, object: StoredObject): Promise<Deletion> {
  const loaded = await loadConfig(config, process.env)
  return loaded.ok ? deleteAtVendor(loaded.plan, object) : { kind: 'secretless' }
}

function sayDeletion(deletion: Exclude<Deletion, { readonly kind: 'deleted' | 'gone' }>): string {
  if (deletion.kind === 'refused') return `it answered ${deletion.status}`
  if (deletion.kind === 'unreached') return deletion.why
  if (deletion.kind === 'secretless') return 'the secrets of the configuration are not set in this terminal'
  return 'no family of its models has an operation that deletes it'
}

function formatObjects(objects: readonly StoredObject[]): string {
  return formatTable(
    ['id', 'kind', 'key', 'model', 'upstream', 'vendor key', 'bytes', 'created', 'expires', 'ended'],
    objects.map(one => {
      const { id, kind, key_id, model, upstream, vendor_key, bytes, created, expires, ended } = showObject(one)
      const place = [model, upstream, vendor_key ?? '', String(bytes)]
      return [id, kind, key_id, ...place, created, expires ?? '', ended ?? '']
    }),
  )
}
