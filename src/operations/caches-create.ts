import type { Operation } from './operation.ts'
import { list, model, text } from './schemas.ts'

/** Caches content of later requests. Its tokens cost their price as input, and storage until they expire. */
export const cachesCreate: Operation = {
  name: 'caches.create',
  style: 'google',
  path: '/v1beta/cachedContents',
  body: 'json',
  words: {
    en: { label: 'New cached content', summary: 'Cache content for later requests' },
    zh: { label: '新建缓存内容', summary: '缓存内容，供后续请求使用' },
  },
  fields: {
    model,
    contents: { schema: list, en: 'The content to cache.', zh: '要缓存的内容。' },
    ttl: { schema: text, en: 'How long to keep it: 3600s.', zh: '保留时长，例如 3600s。' },
  },
  usage: {
    stored: { tokens: ['usageMetadata', 'totalTokenCount'], from: 'createTime', until: 'expireTime', writes: true },
  },
  traits: {
    answersObject: true,
    storesTokens: { seconds: 'ttl', until: 'expireTime', usualSeconds: 3_600 },
    object: {
      creates: { kind: 'cached content', listed: { id: 'name', expires: 'expireTime' }, modelPrefix: 'models/' },
    },
  },
}
