import type { Operation } from './operation.ts'

/** Deletes cached content. */
export const cachesDelete: Operation = {
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
}
