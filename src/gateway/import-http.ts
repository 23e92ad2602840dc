/** The parts of undici (the client of `fetch`) that `node:http` loads on demand. */
const borrowed = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const

/**
 * Imports `node:http` without these. The first import of a Node module reads all its exports, and so loads undici
 * completely: 20 ms of a start and 13 MB of memory that a gateway does not need. `require` and the default import still
 * have them; `import { WebSocket } from 'node:http'` is undefined, but the global exists.
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
