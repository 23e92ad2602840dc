import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'

// `npm run test:browsers [-- firefox webkit chromium] [--only story,pages]`: runs the tests of pages in browsers other
// than the suite's. Firefox runs all of them; for WebKit, which Playwright cannot drive here, `webkit.ts` visits every
// page. `TEST_BROWSER_PATH` is the path of a Firefox or a Chromium, if it is not in the PATH.

const known = ['chromium', 'firefox', 'webkit'] as const
const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } })
const wanted = positionals.length > 0 ? positionals : ['firefox', 'webkit']
const unknown = wanted.find(one => !known.some(name => name === one))
if (unknown !== undefined) throw new Error(`${unknown} is none of ${known.join(', ')}`)

const folder = import.meta.dirname
const preload = resolve(folder, '../harness/preload.cjs')
const only = values.only?.split(',')
const tests = globSync('*.test.ts', { cwd: folder })
  .toSorted()
  .filter(file => only?.includes(file.replace(/\.test\.ts$/, '')) ?? true)

let failed = 0
for (const name of wanted)
  for (const file of name === 'webkit' ? ['webkit.ts'] : tests) {
    const began = performance.now()
    const env = { ...process.env, ...(name !== 'webkit' && { TEST_BROWSER: name }) }
    const child = spawn(process.execPath, ['-r', preload, resolve(folder, file)], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    const counts = /^# \{ (.*) \}$/m.exec(output)?.[1] ?? 'ended early'
    const seconds = Math.round((performance.now() - began) / 1000)
    process.stdout.write(`${name.padEnd(10)}${basename(file).padEnd(28)}${counts}, ${seconds} s\n`)
    // Prints the names of skipped parts, and the complete output of failed files.
    for (const line of output.match(/^ *# .*left out.*$|^ *ok \d+ - .*# SKIP.*$/gim) ?? [])
      process.stdout.write(`  ${line.trim()}\n`)
    if (code === 0) continue
    failed++
    process.stdout.write(output)
  }
process.exitCode = failed === 0 ? 0 : 1
