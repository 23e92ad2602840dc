import { parseArgs } from 'node:util'
import { eventStreams, forms, jsonBodies } from './bodies.ts'
import type { Asked } from './caller.ts'
import { answers, requests } from './exchanges.ts'
import { line, ratioMax, settleGrowth } from './measure.ts'
import { scanners } from './answers.ts'
import { conversations } from './conversations.ts'
import { describedReaders } from './described.ts'
import { pictureLists, vendorAnswers } from './described-bodies.ts'
import { readers } from './readers.ts'
import { TurnBench } from './turns.ts'

// `npm run growth [-- --only fields --max 32 --turns-only]`: the cost of each reader at sizes that double up to
// complete bodies, and the longest turn of the event loop while such bodies pass through a complete gateway over HTTP.

const megabyte = 1024 * 1024
const turnMsMax = 50

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    max: { type: 'string', default: '32' },
    'turns-only': { type: 'boolean', default: false },
    'table-only': { type: 'boolean', default: false },
  },
})
const bytesMax = Number(options.max) * megabyte
const bodyBytes = bytesMax - 100_000
let misses = 0

if (!options['turns-only']) await printTable()
if (!options['table-only']) await printTurns()
process.stdout.write(`\n${misses} beyond their bounds (× ${ratioMax}, ${turnMsMax} ms)\n`)
process.exitCode = misses > 0 ? 1 : 0

async function printTable(): Promise<void> {
  for (const reader of [...readers, ...scanners, ...describedReaders, ...conversations]) {
    if (!reader.name.includes(options.only)) continue
    for (const kind of Object.keys(reader.kinds)) {
      const most = Math.min(bytesMax, reader.bytesMax ?? bytesMax)
      for (let bytes = Math.min(2 * megabyte, most); bytes <= most; bytes *= 4) {
        const growth = await settleGrowth(reader, kind, bytes)
        if (growth.ratio > ratioMax) misses++
        process.stdout.write(`${growth.ratio > ratioMax ? 'MISS' : 'ok  '} ${line(growth)}\n`)
      }
    }
  }
}

/** Uses the CPU time of the gateway's thread, which keeps the loop awake to see each turn. */
async function printTurns(): Promise<void> {
  await using bench = await TurnBench.open()
  const warm = { path: '/v1/chat/completions', body: 'a conversation', bytes: megabyte }
  for (let i = 0; i < 10; i++) await bench.send(warm, 'warm')
  let longest = 0
  let peak = 0
  for (const [name, request] of exchanges()) {
    if (!name.includes(options.only)) continue
    let turn = await bench.send(request, name)
    // The first run of a kind may include compilation.
    if (turn.longestMs > turnMsMax) turn = await bench.send(request, name)
    longest = Math.max(longest, turn.longestMs)
    peak = Math.max(peak, turn.peakBytes)
    if (turn.longestMs > turnMsMax) misses++
    const size = `${(turn.bytes / megabyte).toFixed(1)} MiB`
    process.stdout.write(
      `${turn.longestMs > turnMsMax ? 'MISS' : 'ok  '} ${name.padEnd(40)} ${turn.status} ${size.padStart(9)}  longest turn ${turn.longestMs.toFixed(1)} ms, ${mebibytes(turn.grownBytes)} more memory\n`,
    )
  }
  process.stdout.write(`longest turn of all: ${longest.toFixed(1)} ms; peak memory: ${mebibytes(peak)}\n`)
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / megabyte)} MiB`
}

function* exchanges(): Iterable<[string, Omit<Asked, 'url' | 'key'>]> {
  const chat = '/v1/chat/completions'
  const generations = '/v1/images/generations'
  for (const body of Object.keys(jsonBodies)) yield [`chat, ${body}`, { path: chat, body, bytes: bodyBytes }]
  for (const body of Object.keys(forms)) yield [`form, ${body}`, { path: '/v1/images/edits', body, bytes: bodyBytes }]
  for (const body of Object.keys(requests)) {
    if (body.startsWith('small')) continue
    const path = body.includes('documents') ? '/v1/rerank' : body.includes('tools') ? '/v1/responses' : chat
    yield [`read, ${body}`, { path, body, bytes: bodyBytes }]
    const headers = { 'idempotency-key': body.replaceAll(' ', '-') }
    yield [`image, ${body}`, { path: generations, body, bytes: bodyBytes, headers }]
  }
  for (const answer of Object.keys(eventStreams))
    yield [`stream, ${answer}`, { path: chat, body: 'small', bytes: 1, answer, answerBytes: bytesMax }]
  for (const answer of Object.keys(answers)) {
    const isEvent = answer.startsWith('event')
    const isImage = answer.includes('image')
    const path = isEvent ? '/v1/responses' : isImage ? generations : chat
    const body = isImage ? 'small image' : 'small'
    yield [`answer, ${answer}`, { path, body, bytes: 1, answer, answerBytes: isEvent ? bytesMax * 0.49 : bytesMax }]
  }
  for (const answer of Object.keys(vendorAnswers)) {
    // Each picture is a line of a charge, written before the picture goes on: thousands of them take time on a disk.
    const answerBytes = /links|small pictures/.test(answer) ? 4_096 : bytesMax
    const made = { path: generations, bytes: 1, answer, answerBytes }
    yield [`described, ${answer}`, { ...made, body: 'small, told' }]
    yield [`poll, ${answer}`, { ...made, body: 'small, made' }]
  }
  const edits = '/json/edits'
  for (const body of Object.keys(pictureLists)) yield [`pictures, ${body}`, { path: edits, body, bytes: 3 * megabyte }]
  const few = Math.min(bytesMax, 2 * megabyte)
  yield ['byte by byte, chat', { path: chat, body: 'a conversation', bytes: few, chunkBytes: 1 }]
  yield ['byte by byte, form', { path: '/v1/images/edits', body: 'one file', bytes: few, chunkBytes: 1 }]
  const events = { answer: 'small events', answerBytes: few / 2, answerChunkBytes: 1 }
  yield ['byte by byte, stream', { path: chat, body: 'small', bytes: 1, ...events }]
}
