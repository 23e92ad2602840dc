import type { Operation } from './operation.ts'
import { text } from './schemas.ts'

/** Changes when cached content expires. Time beyond its former end costs storage. */
export const cachesUpdate: Operation = {
  name: 'caches.update',
  style: 'google',
  path: '/v1beta/cachedContents/{id}',
  method: 'PATCH',
  body: 'json',
  words: {
    en: { label: 'Extend cached content', summary: 'Change when cached content expires' },
    zh: { label: '延长缓存内容', summary: '修改缓存内容的过期时间' },
  },
  fields: {
    ttl: { schema: text, en: 'How long to keep it: 3600s.', zh: '保留时长，例如 3600s。' },
  },
  usage: { stored: { tokens: ['usageMetadata', 'totalTokenCount'], from: 'createTime', until: 'expireTime' } },
  traits: {
    answersObject: true,
    storesTokens: { seconds: 'ttl', until: 'expireTime', usualSeconds: 3_600 },
    object: {
      of: { kind: 'cached content', prefix: 'cachedContents/' },
      creates: { kind: 'cached content', listed: { id: 'name', expires: 'expireTime' } },
    },
  },
}
