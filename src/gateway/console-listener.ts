import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Admin, AdminParts, Pages } from '../admin/index.ts'
import { createSecret, hashSecret, hintOfSecret, networkOf } from '../util/index.ts'
import type { Listener } from './listeners.ts'

/** The console's build output, next to the compiled program or in a clone of the sources. */
const built = new URL(import.meta.url.endsWith('.js') ? '../../' : '../../dist/', import.meta.url)
const assets = fileURLToPath(new URL('console/', built))
const paths = /^\/(?:api\/|(?:console|pricing|docs|openapi\.json)(?:[/?]|$))/
const letterV = 118

/**
 * Whether a request is for the console instead of the API, whose paths begin with `/v1`, so that one character decides.
 */
export function isConsolePath(url: string): boolean {
  return url.charCodeAt(1) !== letterV && paths.test(url)
}

/** Whether the console was built: a clone without the development packages has none. */
export function isConsoleBuilt(): boolean {
  return existsSync(`${assets}index.html`)
}

export type ConsoleListener = { readonly handle: Listener; close(): Promise<void> }

export type ConsoleParts = Omit<
  AdminParts,
  | 'explain'
  | 'prices'
  | 'deleteAtVendor'
  | 'networkOf'
  | 'newSecret'
  | 'hashPassword'
  | 'verifyPassword'
  | 'assets'
  | 'pages'
  | 'facts'
> & {
  readonly facts: Omit<AdminParts['facts'], 'version'>
}

/**
 * The console's server, loaded on its first request, so that a gateway without console users starts faster and uses
 * less memory.
 */
export function createConsoleListener(parts: ConsoleParts): ConsoleListener {
  let opening: Promise<Admin> | undefined
  const open = (): Promise<Admin> => (opening ??= openAdmin(parts))
  return {
    handle(req: IncomingMessage, res: ServerResponse) {
      open().then(
        admin => admin.handle(req, res),
        (error: unknown) => {
          opening = undefined
          parts.log.error({ error }, 'the console cannot be loaded')
          res.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' }).end('The console cannot be loaded.\n')
        },
      )
    },
    async close() {
      await opening?.then(
        admin => admin.close(),
        () => undefined,
      )
    },
  }
}

/** The module of the built pages; if there is none, the next call searches again. */
async function loadPages(): Promise<Pages | undefined> {
  try {
    return (await import(new URL('pages/index.js', built).href)) as Pages
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

async function openAdmin(parts: ConsoleParts): Promise<Admin> {
  const [{ createAdmin }, { explainRequest }, { priceList }, passwords, { readVersion }] = await Promise.all([
    import('../admin/index.ts'),
    import('./explain.ts'),
    import('./pricing.ts'),
    import('./passwords.ts'),
    import('./version.ts'),
  ])
  return createAdmin({
    ...parts,
    facts: { ...parts.facts, version: await readVersion() },
    explain: explainRequest,
    prices: priceList,
    deleteAtVendor: async object => (await import('./delete-at-vendor.ts')).deleteAtVendor(parts.plan(), object),
    networkOf,
    newSecret() {
      const secret = createSecret(parts.random)
      return { secret, hash: hashSecret(secret), hint: hintOfSecret(secret) }
    },
    hashPassword: password => passwords.hashPassword(password, parts.random),
    verifyPassword: passwords.verifyPassword,
    assets,
    pages: loadPages,
  })
}
