import t from 'tap'
import { StringEnd, unended } from '../../src/wire/index.ts'
import { seed, seeded } from '../harness/seed.ts'

/** The end of a string, read byte by byte: a backslash escapes the next character. */
function plainEnd(text: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] === '\\') at++
  }
  return unended
}

t.test('a string ends at the first unescaped quote, whatever its content and however it is split', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  // Runs of each kind, long enough to be read byte by byte, then searched, then read byte by byte again.
  const runs = ['\\\\', '\\"', 'x', 'AAA\\/', '\\u6e2f', 'word \\n', '\\']
  let ended = 0
  for (let round = 0; round < 3_000; round++) {
    const some = Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(...runs).repeat(random() * 40))
    const text = some.join('') + pick('"', '"', '"x', '')
    const bytes = Buffer.from(text)
    const cuts = Array.from({ length: Math.floor(random() * 4) }, () => Math.floor(random() * bytes.length))
    const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
    const end = new StringEnd()
    let found = unended
    for (let i = 1; i < places.length && found === unended; i++) {
      const from = places[i - 1] as number
      const piece = bytes.subarray(from, places[i])
      if (piece.length > 0) found = end.find(piece, 0)
      if (found !== unended) found += from
    }
    const expected = plainEnd(text)
    if (expected !== unended) ended++
    if (found !== expected) t.equal(found, expected, `round ${round}: ${text} cut at ${cuts.join(' ')}`)
  }
  t.ok(ended > 500 && ended < 2_900, `${ended} of 3000 end`)
})
