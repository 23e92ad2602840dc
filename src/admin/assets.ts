import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { type AdminRequest, defineRoute, Reply } from './api.ts'
import { chooseEncoding, compressOnce, type Encoding } from './encoding.ts'
import { fail } from './errors.ts'
import { notBuilt } from './not-built.ts'

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}
/** Names of built files: a name does not begin with a dot, and its path does not leave the folder. */
const fileName = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/
/** Files with a hash of their content in the name never change. */
const hashed = /^assets\//
const forEver = 'public, max-age=31536000, immutable'
const anything = { type: 'object', additionalProperties: true } as const

type Asset = { readonly [form in Encoding | 'plain']: Buffer }

/** Compressed files; only files that never change are cached. */
const kept = new Map<string, Asset>()

async function load(folder: string, name: string): Promise<Asset | undefined> {
  const path = join(folder, name)
  const known = kept.get(path)
  if (known) return known
  const plain = await readFile(path).catch(() => undefined)
  if (!plain) return undefined
  const asset = { plain, ...(await compressOnce(plain)) }
  if (hashed.test(name)) kept.set(path, asset)
  return asset
}

/** Serves a file of the built console; for any other address the page, which reads the address. */
async function serve(request: AdminRequest, path: string): Promise<Reply> {
  const folder = request.parts.assets
  const isFile = extname(path) !== ''
  const name = isFile ? path : 'index.html'
  const asset = fileName.test(name) ? await load(folder, name) : undefined
  if (!asset && isFile) throw fail('not_found')
  if (!asset) return notBuilt()
  const encoding = chooseEncoding(request.headers['accept-encoding'], ['br', 'gzip'])
  const headers = {
    'content-type': types[extname(name)] ?? 'application/octet-stream',
    'cache-control': hashed.test(name) ? forEver : 'no-store',
    vary: 'accept-encoding',
    ...(encoding && { 'content-encoding': encoding }),
  }
  return new Reply(200, headers, asset[encoding ?? 'plain'])
}

/** The routes of the console's files. */
export const assetRoutes = [
  defineRoute({
    method: 'GET',
    url: '/console',
    access: 'anyone',
    summary: 'The console.',
    contentType: 'text/html',
    query: anything,
    handle: request => serve(request, ''),
  }),
  defineRoute({
    method: 'GET',
    url: '/console/*',
    access: 'anyone',
    summary: "The console's pages and files.",
    contentType: 'text/html',
    query: anything,
    handle: request => serve(request, request.params['*'] ?? ''),
  }),
]
