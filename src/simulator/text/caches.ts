import { randomUUID } from 'node:crypto'
import { answerJson } from '../answer.ts'
import { type Fields, readFields, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, SimulatedUpstream } from '../upstream.ts'
import { findKept, forget, type Kept, keep } from './kept.ts'
import { countWords, listOf, textOf } from './read.ts'
import { googleStyle } from './styles.ts'
import { styled } from './styled.ts'

const usualSeconds = 3_600

const find = (call: Call): Kept => {
  const name = `cachedContents/${call.params['id'] ?? ''}`
  const found = findKept(call, 'cache', name)
  if (!found) throw fail('object_unknown', { message: `Cached content ${name} not found.` })
  return found
}

function endOf(fields: Fields, now: number): string {
  const until = fields.get('expireTime')
  if (typeof until === 'string') return new Date(Date.parse(until)).toISOString()
  const ttl = fields.get('ttl')
  const seconds = typeof ttl === 'string' ? Number.parseFloat(ttl) : usualSeconds
  return new Date(now + seconds * 1_000).toISOString()
}

const create: Handler = call => {
  const fields = readFields(call)
  const now = call.site.now()
  const name = `cachedContents/${randomUUID().replaceAll('-', '').slice(0, 12)}`
  const tokens = listOf(fields.get('contents')).reduce<number>((sum, one) => sum + countWords(textOf(one)), 0)
  const value = {
    name,
    model: readRequired(fields, 'model'),
    displayName: fields.get('displayName') ?? '',
    createTime: new Date(now).toISOString(),
    updateTime: new Date(now).toISOString(),
    expireTime: endOf(fields, now),
    usageMetadata: { totalTokenCount: tokens },
  }
  keep(call, name, { kind: 'cache', value, input: [] })
  return answerJson(200, value)
}

const update: Handler = call => {
  const { value, ...rest } = find(call)
  const now = call.site.now()
  const changed = { ...value, updateTime: new Date(now).toISOString(), expireTime: endOf(readFields(call), now) }
  keep(call, String(value['name']), { ...rest, value: changed })
  return answerJson(200, changed)
}

const remove: Handler = call => {
  forget(call, String(find(call).value['name']))
  return answerJson(200, {})
}

/** Cached contents in the generative-language style. */
export const caches: SimulatedUpstream = {
  'POST /v1beta/cachedContents': styled(googleStyle, create),
  'GET /v1beta/cachedContents/{id}': styled(googleStyle, call => answerJson(200, find(call).value)),
  'PATCH /v1beta/cachedContents/{id}': styled(googleStyle, update),
  'DELETE /v1beta/cachedContents/{id}': styled(googleStyle, remove),
}
