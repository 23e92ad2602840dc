import { glob, readFile } from 'node:fs/promises'
import { removeMemoryFolders } from './memory-folder.cjs'

removeMemoryFolders()

// tap's summary only counts skips. This prints the skipped tests and their reasons at the end. On a machine that must
// have everything (CI=true), a skip is a failure, unless its reason is the command that runs the test.
const skipped: string[] = []
for await (const file of glob('.tap/test-results/**/*.tap')) {
  const results = await readFile(file, 'utf8')
  for (const line of results.split('\n')) {
    const one = /^\s*(?:not )?ok \d+ - (?<title>.*?) #\s?(?:SKIP|TODO)\b(?<reason>[^{]*)/i.exec(line)
    const whole = /^1\.\.0(?<reason>.*)/.exec(line)
    const title = one?.groups?.['title'] ?? (whole ? file.replace(/^.*test-results\/|\.tap$/g, '') : undefined)
    const reason = (one ?? whole)?.groups?.['reason']?.replace(/^[\s#]+|\s+$/g, '')
    if (title !== undefined) skipped.push(`${title} (${reason || 'no reason given'})`)
  }
}
if (skipped.length > 0) {
  const strict = process.env['CI'] === 'true' && skipped.some(line => !/\(npm run [\w:]+\b[^()]*\)$/.test(line))
  process.stderr.write(`\n${skipped.length} SKIPPED${strict ? ', which CI=true does not allow' : ''}:\n`)
  for (const line of skipped) process.stderr.write(`  - ${line}\n`)
  if (strict) process.exitCode = 1
}
