import type { Operation } from './operation.ts'
import { list, model, text } from './schemas.ts'

/** The operations on cached contents. */
export const cachesOperations: readonly Operation[] = [
  // Caches content of later requests. Its tokens cost their price as input, and storage until they expire.
  {
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
      ttl: { schema: text, en: 'Lifetime of the cached content: 3600s.', zh: '保留时长，例如 3600s。' },
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
  },
  // Lists the cached contents of a key. The gateway answers from its records.
  {
    name: 'caches.list',
    style: 'google',
    path: '/v1beta/cachedContents',
    body: 'none',
    words: {
      en: { label: 'Cached contents', summary: 'List the cached contents of your key' },
      zh: { label: '缓存内容列表', summary: '列出你的令牌的缓存内容' },
    },
    traits: { free: true, object: { lists: { kind: 'cached content', member: 'cachedContents' } } },
  },
  {
    name: 'caches.get',
    style: 'google',
    path: '/v1beta/cachedContents/{id}',
    body: 'none',
    words: {
      en: { label: 'Cached content', summary: 'Get the metadata of cached content' },
      zh: { label: '查询缓存内容', summary: '查询缓存内容的元数据' },
    },
    traits: { free: true, object: { of: { kind: 'cached content', prefix: 'cachedContents/' } } },
  },
  // Changes when cached content expires. Time beyond its former end costs storage.
  {
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
      ttl: { schema: text, en: 'Lifetime of the cached content: 3600s.', zh: '保留时长，例如 3600s。' },
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
  },
  {
    name: 'caches.delete',
    style: 'google',
    path: '/v1beta/cachedContents/{id}',
    method: 'DELETE',
    body: 'any',
    words: {
      en: { label: 'Delete cached content', summary: 'Delete cached content' },
      zh: { label: '删除缓存内容', summary: '删除缓存内容' },
    },
    traits: { free: true, object: { of: { kind: 'cached content', prefix: 'cachedContents/', ends: true } } },
  },
]
