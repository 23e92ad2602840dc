import { readFile, writeFile } from 'node:fs/promises'

// `npm run lock`, after npm has written package-lock.json: adds what npm omitted.
// Native packages have one optional package per platform, each with its exact version. npm omits from the lock those
// that the registry in use does not serve, and `npm ci` then refuses the lock everywhere. Their entries follow from
// their names: version, system, processor; without an integrity, which only the registry that has them knows.
//
// npm also omits the Node version that each package requires. Every script runs on the pinned Node, which suits all of
// them; npm compares them with the Node that it runs on itself, and an older one caused 65 lines of warnings without a
// remedy. This keeps only tollgate's own required version.

type Entry = {
  version: string
  optional?: boolean
  dev?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: { [name: string]: string }
  engines?: object
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32']

for (const file of process.argv.slice(2)) {
  const lock = JSON.parse(await readFile(file, 'utf8')) as { packages: { [path: string]: Entry } }
  let added = 0
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(lock.packages, path, name)) continue
      const place = lock.packages[`node_modules/${name}`] ? `${path}/node_modules/${name}` : `node_modules/${name}`
      lock.packages[place] = describe(name, version, entry.dev === true)
      added++
    }
  }
  for (const [path, entry] of Object.entries(lock.packages)) if (path !== '') delete entry.engines
  const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en'))
  await writeFile(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  process.stderr.write(`${file}: ${added} platforms added\n`)
}

/** Whether a package at `path` would find `name`, in its own folder or in one above. */
function isLocked(packages: { readonly [path: string]: Entry }, path: string, name: string): boolean {
  const folders = path.split('/node_modules/').map((_, i, all) => `${all.slice(0, i + 1).join('/node_modules/')}/`)
  return ['', ...folders].some(folder => `${folder}node_modules/${name}` in packages)
}

/** The entry of a platform's package, from the parts of its name: `@x/core-linux-arm64-musl`. */
function describe(name: string, version: string, dev: boolean): Entry {
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) throw new Error(`${name}@${version} is not one exact version`)
  const words = name.split(/[/-]/)
  const os = systems.filter(system => words.includes(system))
  const cpu = processors.filter(processor => words.includes(processor))
  const libc = words.includes('musl') ? ['musl'] : os[0] === 'linux' && words.includes('gnu') ? ['glibc'] : undefined
  if (cpu.length === 0 && os.length === 0) throw new Error(`${name} names no platform`)
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(dev && { dev }),
    ...(libc && { libc }),
    optional: true,
    ...(os.length > 0 && { os }),
  }
}
