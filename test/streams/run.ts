import { httpFiles, runOnStreams } from './run-files.ts'

// `npm run test:streams [-- FILE …]`: runs every test over HTTP again, with bodies read as streams. In the suite itself
// the parser passes bodies directly, except for a few files that also run this way.

// Streams of vendors are cut at every byte.
process.env['EVERY_CUT'] = '1'

const named = process.argv.slice(2)
const waiting = [...(named.length > 0 ? named : await httpFiles())]
const failed: string[] = []

async function runInTurn(): Promise<void> {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const { isGood, assertions, said } = await runOnStreams(file)
    process.stdout.write(`${isGood ? 'ok    ' : 'not ok'} ${file}: ${assertions} assertions\n`)
    if (isGood) continue
    failed.push(file)
    process.stdout.write(`${said}\n`)
  }
}

await Promise.all([runInTurn(), runInTurn()])
process.stdout.write(failed.length > 0 ? `failed: ${failed.join(', ')}\n` : 'all of them passed\n')
process.exitCode = failed.length > 0 ? 1 : 0
