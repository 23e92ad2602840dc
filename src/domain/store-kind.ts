/** The kind of a storage (`sqlite`, `postgres`, `memory`, `redis`). Its address may contain a password. */
export function storeKind(url: string): string {
  return (/^[a-z]+/.exec(url)?.[0] ?? '').replace(/^postgresql$/, 'postgres').replace(/^rediss$/, 'redis')
}
