import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type OutputOptions, type Plugin, rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '../..')
const home = join(root, 'node_modules/.cache/bundle')

/** Sources that stay files of their own: programs, what tests replace or watch as it is loaded, and what a browser loads. */
const apart =
  /^src\/(?:console|simulator\/vendors)\/|^src\/(?:cli\/bin|tools\/(?:compile-schemas|emit-schema)|storage\/sqlite\/thread)\.ts$/

/** What `bundled.cjs` reads. */
export type Bundle = {
  readonly folder: string
  /** Of each file that is in it: when it was last changed, in milliseconds, and its bytes. */
  readonly files: { readonly [file: string]: readonly [changed: number, bytes: number] }
  /** Of these there is a module, by the same path, that exports what they do. */
  readonly modules: readonly string[]
}

/**
 * Puts all sources into a few files, one for each folder, from which the processes of tests load them (`bundled.cjs`): to load hundreds of
 * small modules took a third of all their time. What was made of the same text is kept. @returns whether there was none
 */
export async function bundleSources(): Promise<boolean> {
  const names = globSync(['{src,plugins}/**/*.{ts,json}'], { cwd: root }).toSorted()
  // Before they are read: what is changed meanwhile is seen to have changed.
  const files = Object.fromEntries(
    names.map(name => {
      const { ctimeMs, size } = statSync(join(root, name))
      return [name, [ctimeMs, size] as const]
    }),
  )
  const texts = new Map(names.map(name => [name, readFileSync(join(root, name), 'utf8')]))
  const modules = names.filter(name => name.endsWith('.ts') && !apart.test(name))
  const made = [readFileSync(import.meta.filename, 'utf8'), root, ...[...texts].flat()]
  const key = createHash('sha256').update(made.join('\0')).digest('hex').slice(0, 16)
  const folder = join(home, key)
  mkdirSync(home, { recursive: true })
  const isNew = !readdirSync(home).includes(key)
  if (isNew) {
    const part = `${folder}.part`
    rmSync(part, { recursive: true, force: true })
    await write(modules, part)
    renameSync(part, folder)
  }
  const part = join(home, 'current.part')
  writeFileSync(part, JSON.stringify({ folder, files, modules } satisfies Bundle))
  renameSync(part, join(home, 'current.json'))
  // Tests that run now may use one of the last hours.
  for (const name of readdirSync(home))
    if (statSync(join(home, name)).mtimeMs < Date.now() - 3_600_000)
      rmSync(join(home, name), { recursive: true, force: true })
  return isNew
}

async function write(modules: readonly string[], dir: string): Promise<void> {
  const inside = new Set(modules.map(name => join(root, name)))
  const bundle = await rolldown({
    input: Object.fromEntries(modules.map(name => [name, join(root, name)])),
    cwd: root,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    treeshake: false,
    checks: { ineffectiveDynamicImport: false },
    plugins: [sourcesOf(inside)],
  })
  await bundle.write({ ...outputOptions, dir })
  await bundle.close()
}

const outputOptions: OutputOptions = {
  format: 'esm',
  // Each module runs when it is first imported, as it does by itself; so do packages.
  strictExecutionOrder: true,
  keepNames: true,
  sourcemap: true,
  comments: false,
  entryFileNames: '[name].mjs',
  chunkFileNames: 'chunks/[name].mjs',
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [{ debugName: 'folder', test: () => true, name: folderOf }],
  },
}

function folderOf(id: string): string {
  if (!id.startsWith(root)) return 'packages'
  const [first = '', second = '', third] = id.slice(root.length + 1).split('/')
  return third === undefined ? first : first === 'src' ? second : first
}

/** Parts of Node that every process has. The others are loaded by the first module that needs them, as packages are. */
const isSmall = (name: string): boolean =>
  /^node:(?:assert|buffer|events|fs|module|os|path|process|stream|string_decoder|timers|url|util)(?:\/|$)/.test(name)

/** Sources know their own address. Packages are loaded by Node, where tests get the same ones; those that code imports later, then. */
function sourcesOf(inside: ReadonlySet<string>): Plugin {
  return {
    name: 'sources',
    resolveId(name, from, { kind }) {
      if (from === undefined) return undefined
      if (/^\.\.?\//.test(name)) {
        const path = resolve(from, '..', name)
        if (path.endsWith('.ts') && !inside.has(path)) return { id: pathToFileURL(path).href, external: true }
        return undefined
      }
      if (kind === 'dynamic-import' || from.startsWith('\0') || isSmall(name)) return { id: name, external: true }
      return { id: `\0package:${name}.cjs`, moduleSideEffects: true }
    },
    load(id) {
      const name = /^\0package:(.*)\.cjs$/.exec(id)?.[1]
      return name === undefined
        ? undefined
        : { code: `module.exports = require(${JSON.stringify(name)})`, moduleType: 'js' }
    },
    transform(code, id) {
      const own = JSON.stringify(pathToFileURL(id).href)
      return code.includes('import.meta.url') ? { code: code.replaceAll('import.meta.url', own), map: null } : undefined
    },
  }
}
