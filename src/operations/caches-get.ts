import type { Operation } from './operation.ts'

/** Returns the metadata of cached content. */
export const cachesGet: Operation = {
  name: 'caches.get',
  style: 'google',
  path: '/v1beta/cachedContents/{id}',
  body: 'none',
  words: {
    en: { label: 'Cached content', summary: 'Get the metadata of cached content' },
    zh: { label: '查询缓存内容', summary: '查询缓存内容的元数据' },
  },
  traits: { free: true, object: { of: { kind: 'cached content', prefix: 'cachedContents/' } } },
}
