import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { peersFolder } from './folder.ts'

// `node bench/peers/install.ts [portkey] [litellm]`: installs the large peers with the package managers of this
// machine: Portkey next to this folder (`bench/node_modules`, which git ignores), LiteLLM in a cache folder of the
// user. A peer that cannot be installed is reported, and does not prevent the others.

const litellmVersion = '1.106.2'
const bench = new URL('..', import.meta.url).pathname
const venv = join(peersFolder, 'litellm')

const steps: { readonly [peer: string]: readonly (readonly [command: string, ...args: string[]])[] } = {
  portkey: [['npm', 'ci', '--ignore-scripts', '--prefix', bench]],
  litellm: [
    ['python3', '-m', 'venv', venv],
    [join(venv, 'bin/pip'), 'install', '--quiet', `litellm[proxy]==${litellmVersion}`],
  ],
}

const wanted = process.argv.slice(2)
mkdirSync(peersFolder, { recursive: true })
for (const [peer, commands] of Object.entries(steps)) {
  if (wanted.length > 0 && !wanted.includes(peer)) continue
  const failed = commands.find(([command, ...args]) => spawnSync(command, args, { stdio: 'inherit' }).status !== 0)
  process.stderr.write(failed ? `NOT INSTALLED ${peer}: ${failed.join(' ')}\n` : `installed ${peer}\n`)
  if (failed) process.exitCode = 1
}
