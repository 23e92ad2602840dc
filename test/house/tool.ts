import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

// `node test/house/tool.ts NAME …`: runs a program that only scripts need, and no test. `npm ci` does not install it:
// the first use, and the first after a new version, installs the packages in test/house/tools/package-lock.json.

const folder = resolve(import.meta.dirname, 'tools')
const [name, ...words] = process.argv.slice(2)
if (name === undefined) throw new Error('node test/house/tool.ts NAME …')

if (!isInstalled()) {
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  const { status } = spawnSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    process.stderr.write(
      `${name} could not be installed. Run \`npm ci --prefix test/house/tools\` where a registry can be reached.\n`,
    )
    process.exit(1)
  }
}
const path = [resolve(folder, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
const child = spawn(name, words, { env: { ...process.env, PATH: path }, stdio: 'inherit' })
child.on('exit', code => {
  process.exitCode = code ?? 1
})

type Lock = {
  readonly packages: { readonly [path: string]: { readonly version?: string; readonly optional?: boolean } }
}

/** Whether every program is installed in its locked version. Programs for other platforms are optional. */
function isInstalled(): boolean {
  const kept = resolve(folder, 'node_modules/.package-lock.json')
  if (!existsSync(kept)) return false
  const there = read(kept)
  const { '': _, ...locked } = read(resolve(folder, 'package-lock.json'))
  return Object.entries(locked).every(([place, { version, optional }]) => optional || there[place]?.version === version)
}

function read(file: string): Lock['packages'] {
  return (JSON.parse(readFileSync(file, 'utf8')) as Lock).packages
}
