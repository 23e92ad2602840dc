import type { Operation } from './operation.ts'

/** Lists the cached contents of a key. The gateway answers from its records. */
export const cachesList: Operation = {
  name: 'caches.list',
  style: 'google',
  path: '/v1beta/cachedContents',
  body: 'none',
  words: {
    en: { label: 'Cached contents', summary: 'List the cached contents of your key' },
    zh: { label: '缓存内容列表', summary: '列出你的令牌的缓存内容' },
  },
  traits: { free: true, object: { lists: { kind: 'cached content', member: 'cachedContents' } } },
}
