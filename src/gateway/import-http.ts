/** What `node:http` uses of undici, the client of `fetch`, once it is needed. */
const borrowed = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const

/**
 * Imports `node:http` without them. The first import of a module of Node's reads all that it exports, and so loads undici
 * whole: 20 ms of a start, and 13 MB for as long as the process lives, of which a gateway uses nothing. `require` and the
 * default import have them as before; `import { WebSocket } from 'node:http'` is undefined, and the global is there.
 */
export async function importHttp(): Promise<void> {
  const http = process.getBuiltinModule('node:http')
  const found = borrowed.map(name => [name, Object.getOwnPropertyDescriptor(http, name)] as const)
  for (const [name] of found) Reflect.deleteProperty(http, name)
  try {
    await import('node:http')
  } finally {
    for (const [name, property] of found) if (property) Object.defineProperty(http, name, property)
  }
}
